package poller_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wafbot/wafbot/internal/full"
)

func TestMain(m *testing.M) {
	full.Checks(5, 100) // a storm each
	goleak.VerifyTestMain(m)
}
