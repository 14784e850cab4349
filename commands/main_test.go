package commands_test

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/wafbot/wafbot/internal/full"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", strconv.Itoa(full.Of(10, 100))) // the command line overrides it
	os.Exit(m.Run())
}
