package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

// What was seen of a change is kept with the mark on its card and the event about it, by the account's owner alone, and
// for as long as the change is.
func TestEfficacy(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s, other := w.open(t), w.open(t)
		ch := record.Change{ID: "c1", Account: "acme", AttackID: "a1", State: record.StateDone, At: noon}
		seen := record.Efficacy{
			Parts: map[string]record.Traffic{"203.0.113.7": {Stopped: record.Tally{N: 10, First: noon, Last: noon.Add(time.Minute)}}}, Finding: record.Working, At: noon.Add(time.Hour),
		}
		all := []record.Judgement{{Change: ch, Efficacy: seen}, {Change: record.Change{ID: "c2", Account: "acme"}, Efficacy: record.Efficacy{Finding: record.NotWorking}, Notify: true}}
		require.Error(t, other.Attacks.Save(ctx, "acme", record.PollUpdate{Judged: all}), "it doesn't own the account")
		owning(t, s)
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Judged: all, Events: []record.Event{event("of c2", "x:1")}}))

		got, err := other.Ledger.Efficacy(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, map[string]record.Efficacy{"c1": seen, "c2": {Finding: record.NotWorking}}, got)
		require.Equal(t, got, must(other.Cards.Details(ctx, "acme", "a1", nil))(t).Efficacy)
		marks, err := other.Cards.Stale(ctx, "acme")
		require.NoError(t, err)
		require.Contains(t, marks, "a1")
		require.Len(t, marks, 1)
		require.Equal(t, []string{"of c2"}, waitingEvents(t, s))

		ch.State, ch.EndedAt = record.StateUndone, time.Now().Add(-31*24*time.Hour)
		save(t, s, ch)
		require.NoError(t, failure(s.Ledger.Changes(ctx, "acme")))
		require.NotContains(t, must(other.Ledger.Efficacy(ctx, "acme"))(t), "c1", "deleted with its change")
	})
}
