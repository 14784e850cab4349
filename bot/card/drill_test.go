package card

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
)

func drills() map[string]record.Drill {
	waits := record.Drill{ID: "dk7q2m9xw", Account: "acme", By: anna(), At: now.Add(-time.Minute), Until: now.Add(4 * time.Minute)}
	answered, silent, off := waits, waits, waits
	answered.Answer = &record.DrillAnswer{By: anna(), Taken: now, InHand: now}
	silent.Over, off.Over = waits.Until, now
	return map[string]record.Drill{"waits": waits, "answered": answered, "silent": silent, "called-off": off}
}

func TestRenderDrills(t *testing.T) {
	t.Parallel()
	all := drills()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		msg := Drill(acme(), all[name])
		requireFits(t, msg)
		require.Contains(t, msg.Text, "DRILL")
		require.LessOrEqual(t, len([]rune(msg.Text)), maxNotice)
		require.Equal(t, name == "waits", len(buttonsOf(msg.Blocks)) == 1, name)
		golden(t, filepath.Join("testdata", "drill", name+".json"), pretty(t, msg))
	}
}

func TestTheMomentOfAClick(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Date(2026, 11, 21, 3, 5, 10, 123456000, time.UTC), slackconn.ParseTS("1795230310.123456").Round(time.Microsecond))
	for _, none := range []string{"", "now", "-1", "0", "NaN", "1e300"} {
		require.Zero(t, slackconn.ParseTS(none), none)
	}
}
