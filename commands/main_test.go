package commands_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/wafbot/wafbot/internal/full"
)

func TestMain(m *testing.M) {
	full.Checks(10, 100)
	debug.SetGCPercent(400) // a world is small, and there are thousands
	os.Exit(m.Run())
}
