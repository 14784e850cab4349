package notify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

// now is when the tests play.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestHowLateACardSaysThatItIs(t *testing.T) {
	t.Parallel()
	found := record.AttackState{FoundAt: now.Add(-4 * time.Minute)}
	for name, tt := range map[string]struct {
		facts        cardFacts
		late, behind time.Duration
	}{
		"nothing known":              {},
		"about to be posted, late":   {facts: cardFacts{shown: found}, late: 4 * time.Minute},
		"posted soon, redrawn":       {facts: cardFacts{shown: found, posted: now.Add(-4*time.Minute + 29*time.Second)}},
		"posted late, redrawn":       {facts: cardFacts{shown: found, posted: now.Add(-3 * time.Minute)}, late: time.Minute},
		"outdated for a minute":      {facts: cardFacts{since: now.Add(-time.Minute)}},
		"outdated for three minutes": {facts: cardFacts{since: now.Add(-3 * time.Minute)}, behind: 3 * time.Minute},
	} {
		require.Equal(t, tt.late, tt.facts.late(now), name)
		require.Equal(t, tt.behind, tt.facts.behind(now), name)
	}
}

// A card that somebody asked for of what a storm gathered isn't late: the storm's told it.
func TestAnOwnCardIsNotLate(t *testing.T) {
	t.Parallel()
	found := record.AttackState{FoundAt: now.Add(-time.Hour)}
	require.Equal(t, time.Hour, cardFacts{shown: found}.late(now))
	found.StormID, found.OwnCard = "storm:C0WAF:1795000000", true
	require.Zero(t, cardFacts{shown: found}.late(now))
}
