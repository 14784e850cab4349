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
	waits := record.Drill{ID: "dk7q2m9xw", Account: "acme", By: anna(), At: now.Add(-time.Minute), Cards: []record.DrillCard{
		{Channel: "C0INCID", Mention: "S0ONCALL", Pager: "kind incident"}, {Channel: "C0WAF"},
	}}
	silent, acknowledged, paged := waits, waits, waits
	silent.At = now.Add(-record.DrillFor)
	by := anna()
	acknowledged.Cards = slices.Clone(waits.Cards)
	acknowledged.Cards[0].By, acknowledged.Cards[0].After = &by, 12*time.Second
	paged.Page, paged.Cards = true, acknowledged.Cards
	return map[string]record.Drill{"waits": waits, "silent": silent, "acknowledged": acknowledged, "paged": paged}
}

func TestRenderDrills(t *testing.T) {
	t.Parallel()
	all := drills()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		msg, report := TestCard(acme(), d, 0), DrillReport(d, now)
		requireFits(t, msg)
		requireFits(t, report)
		require.Contains(t, msg.Text, "Test card: ")
		require.LessOrEqual(t, len([]rune(msg.Text)), maxNotice)
		require.Equal(t, d.Cards[0].By == nil, len(buttonsOf(msg.Blocks)) == 1, name)
		golden(t, filepath.Join("testdata", "drill", name+".json"), pretty(t, msg))
		golden(t, filepath.Join("testdata", "drill", name+"-report.json"), pretty(t, report))
	}
}

func TestTheMomentOfAClick(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Date(2026, 11, 21, 3, 5, 10, 123456000, time.UTC), slackconn.ParseTS("1795230310.123456").Round(time.Microsecond))
	for _, none := range []string{"", "now", "-1", "0", "NaN", "1e300"} {
		require.Zero(t, slackconn.ParseTS(none), none)
	}
}
