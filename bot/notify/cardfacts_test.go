package notify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// now is when the tests play.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestHowLateACardSaysThatItIs(t *testing.T) {
	t.Parallel()
	found := record.AttackState{FoundAt: now.Add(-4 * time.Minute)}
	for name, tt := range map[string]struct {
		facts        facts
		late, behind time.Duration
	}{
		"nothing known":            {},
		"about to be posted, late": {facts: facts{AttackDetails: record.AttackDetails{State: found}}, late: 4 * time.Minute},
		"posted soon, redrawn": {facts: facts{AttackDetails: record.AttackDetails{State: found},
			posted: now.Add(-4*time.Minute + 29*time.Second)}},
		"posted late, redrawn": {facts: facts{AttackDetails: record.AttackDetails{State: found},
			posted: now.Add(-3 * time.Minute)}, late: time.Minute},
		"stale for a minute":      {facts: facts{since: now.Add(-time.Minute)}},
		"stale for three minutes": {facts: facts{since: now.Add(-3 * time.Minute)}, behind: 3 * time.Minute},
	} {
		tt.facts.now, tt.facts.account.Account = now, &config.Account{Name: "acme"}
		require.Equal(t, tt.late, tt.facts.late(), name)
		require.Equal(t, tt.behind, tt.facts.situation().StaleFor, name)
	}
}

// A card that a person asked for of a grouped attack isn't late: the storm's card showed it.
func TestAnOwnCardIsNotLate(t *testing.T) {
	t.Parallel()
	found := record.AttackState{FoundAt: now.Add(-time.Hour)}
	require.Equal(t, time.Hour, facts{AttackDetails: record.AttackDetails{State: found}, now: now}.late())
	found.StormID, found.OwnCard = "storm:C0WAF:1795000000", true
	require.Zero(t, facts{AttackDetails: record.AttackDetails{State: found}, now: now}.late())
}
