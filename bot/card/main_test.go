package card

import (
	"os"
	"testing"

	"github.com/wafbot/wafbot/internal/full"
)

func TestMain(m *testing.M) {
	full.Checks(20, 100)
	os.Exit(m.Run())
}
