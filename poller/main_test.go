package poller_test

import (
	"flag"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/wafbot/wafbot/internal/full"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", strconv.Itoa(full.Of(10, 100))) // a storm each; the command line overrides it
	goleak.VerifyTestMain(m)
}
