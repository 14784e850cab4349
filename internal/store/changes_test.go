package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// rule is a step that wafbot itself has to end.
var rule = []record.Step{{Kind: record.CreateRule, Rule: &apiclient.Rule{}, Sent: true, Done: true, ID: 7}}

func save(t testing.TB, s *store.Store, c record.Change) {
	t.Helper()
	c.Account = "acme"
	drafted(t, s, func(l *store.Draft) error { return saveChange(t.Context(), l, c) })
}

func changeIDs(t testing.TB, s *store.Store) []string {
	t.Helper()
	all, err := s.Ledger.Changes(t.Context(), "acme")
	require.NoError(t, err)
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	return ids
}

func due(t testing.TB, s *store.Store, now time.Time) []string {
	t.Helper()
	ids, err := s.Ledger.DueChanges(t.Context(), "acme", now)
	require.NoError(t, err)
	return ids
}

func TestChangesAreDeletedAMonthAfterTheirEnd(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, now := w.open(t), time.Now().UTC()
		day := 24 * time.Hour
		ago := func(days int) time.Time { return now.Add(-time.Duration(days) * day) }
		for _, c := range []record.Change{
			{ID: "expired lately", State: record.StateDone, At: ago(60), Until: ago(29)},
			{ID: "failed lately", State: record.StateFailed, At: ago(29), Until: ago(-1)},
			{ID: "undone lately", State: record.StateUndone, At: ago(90), Until: ago(60), EndedAt: ago(29)},
			{ID: "without end", State: record.StateDone, At: ago(400)},
			{ID: "half without end", State: record.StateHalf, At: ago(400)},
			{ID: "perhaps sent", State: record.StateBegun, At: ago(400), Until: ago(399)},
			{ID: "rule not ended", State: record.StateDone, At: ago(400), Until: ago(399), Steps: rule},
		} {
			save(t, s, c)
		}
		kept := changeIDs(t, s)
		require.Len(t, kept, 7)
		for _, c := range []record.Change{
			{ID: "expired", State: record.StateDone, At: ago(60), Until: ago(31)},
			{ID: "half expired", State: record.StateHalf, At: ago(60), Until: ago(31)},
			{ID: "failed", State: record.StateFailed, At: ago(31), Until: ago(-1)},
			{ID: "undone", State: record.StateUndone, At: ago(90), Until: ago(-1), EndedAt: ago(31)},
		} {
			save(t, s, c)
		}
		require.Equal(t, kept, changeIDs(t, s))
		n, err := w.rdb.HLen(t.Context(), "{a:acme}:changes").Result()
		require.NoError(t, err)
		require.EqualValues(t, 7, n, "and takes no room any more")
	})
}

func TestChangesBecomeDue(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		c := record.Change{ID: "patch", State: record.StateDone, At: noon, Until: noon.Add(time.Hour), Steps: rule}
		save(t, s, c)
		require.Empty(t, due(t, s, c.Until.Add(-15*time.Minute-time.Second)))
		require.Equal(t, []string{"patch"}, due(t, w.open(t), c.Until.Add(-15*time.Minute)), "it is looked at before its end")
		c.Until = noon.Add(2 * time.Hour) // prolonged
		save(t, s, c)
		require.Empty(t, due(t, s, noon.Add(time.Hour)))
		require.Equal(t, []string{"patch"}, due(t, s, c.Until))
		c.State, c.EndedAt = record.StateUndone, noon
		save(t, s, c)
		require.Empty(t, due(t, s, c.Until))
		require.NotContains(t, w.keys(t), "{a:acme}:due")
		save(t, s, record.Change{ID: "in hand", State: record.StateBegun, At: noon, Until: noon.Add(time.Hour), Steps: rule})
		save(t, s, record.Change{ID: "deny", State: record.StateDone, At: noon, Until: noon.Add(2 * time.Hour)})
		require.Equal(t, []string{"in hand"}, due(t, s, noon.Add(time.Hour)), "whose outcome isn't known yet")
		require.Equal(t, []string{"in hand", "deny"}, due(t, s, noon.Add(2*time.Hour)), "what the service ends, too: its card is to show it")

		for i := range 101 {
			c := record.Change{ID: fmt.Sprintf("%03d", i), State: record.StateBegun, At: noon, Until: noon.Add(time.Duration(200-i) * time.Second), Steps: rule}
			save(t, s, c)
		}
		ids := due(t, s, noon.Add(time.Hour))
		require.Len(t, ids, 100, "the rest comes when these were checked")
		require.Equal(t, "100", ids[0], "what has been due longest comes first")
	})
}

func TestDecisionsAreStored(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		at := time.Now().UTC().Truncate(time.Second) // what ended long ago is deleted
		c := record.Change{ID: "c1", Account: "acme", AttackID: "a1", State: record.StateDone, At: at, Until: at.Add(time.Hour)}
		save(t, s, c)
		redrawn := func() bool {
			marks, err := s.Cards.Stale(t.Context(), "acme")
			require.NoError(t, err)
			for attack, mark := range marks {
				require.NoError(t, s.Cards.Redrawn(t.Context(), "acme", attack, mark))
			}
			return len(marks) > 0
		}
		saveDue := func(l record.DueDecision) {
			var events []record.Event
			if l.Asks || l.Late {
				events = append(events, event(l.Change.ID+":ends", ""))
			}
			drafted(t, s, func(lock *store.Draft) error {
				return saved(lock.Save(t.Context(), record.Saves{Due: []record.DueDecision{l}, Events: events}))
			})
		}
		kept := func() record.Change {
			all, err := s.Ledger.Changes(t.Context(), "acme")
			require.NoError(t, err)
			return all[0]
		}
		waiting := func() int {
			all, err := s.Outbox.Waiting(t.Context(), "acme")
			require.NoError(t, err)
			return len(all)
		}
		redrawn()
		c.Asked = c.Until
		saveDue(record.DueDecision{Change: c, Next: at.Add(46 * time.Minute)})
		require.Empty(t, due(t, s, at.Add(45*time.Minute)))
		require.Equal(t, []string{"c1"}, due(t, s, at.Add(46*time.Minute)))
		require.Equal(t, []any{true, 0}, []any{kept().Asked.IsZero(), waiting()}, "a mere check is no event")
		saveDue(record.DueDecision{Change: c, Next: c.Until, Asks: true})
		require.Equal(t, []any{c.Until, 1, false}, []any{kept().Asked, waiting(), redrawn()})
		saveDue(record.DueDecision{Change: c, Ended: true})
		require.Empty(t, due(t, s, c.Until.Add(time.Hour)))
		require.True(t, redrawn())
		saveDue(record.DueDecision{Change: record.Change{ID: "lost"}})
		require.Len(t, changeIDs(t, s), 1)

		late := draft(t, w.open(t))
		drafted(t, s, func(d *store.Draft) error { return saved(d.Save(t.Context(), record.Saves{Mutes: &[]record.Mute{}})) })
		require.ErrorIs(t, saved(late.Save(t.Context(), record.Saves{Due: []record.DueDecision{record.DueDecision{Change: c, Next: at}}})), store.ErrChanged)
		require.Empty(t, due(t, s, c.Until))
	})
}
