package compare_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
)

// After a rebuild the card of an attack that is over stays as it is: it would show what was made for others since.
func TestARebuiltCardIsDrawnAgainWhileItsAttackGoesOn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	for quiet, want := range map[bool]record.EventKind{false: record.Grew, true: ""} {
		last := record.AttackState{Notified: true, Rebuilt: true, Quiet: quiet, Attack: apiclient.Attack{ID: "7"}, ObservedAt: now.Add(-time.Minute)}
		o := compare.Observation{At: now, Routed: true, OngoingFor: 15 * time.Minute, Attack: apiclient.Attack{ID: "7", Last: now.Add(-time.Minute)}}
		if quiet {
			o.Attack.Last = now.Add(-time.Hour)
		}
		kind, _ := compare.Event(last, true, o)
		require.Equal(t, want, kind)
		require.False(t, compare.After(last, o, kind).Rebuilt, "what is pressed on it is drawn")
	}
}
