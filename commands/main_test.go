package commands_test

import (
	"os"
	"testing"

	"github.com/wafbot/wafbot/internal/full"
)

func TestMain(m *testing.M) {
	full.Checks(10, 100)
	os.Exit(m.Run())
}
