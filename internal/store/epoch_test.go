package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// rebuilt is what was read back: an attack with its card, a rule that ends, and an event about it.
func rebuilt() store.Rebuilt {
	return store.Rebuilt{
		Epoch: store.NewEpoch(), At: noon, FirstStart: noon.Add(-time.Hour), Attacks: shownAll("x:1", "x:2"),
		Cards:   []store.Card{{Attack: record.AttackID("acme", "x:1"), Channel: "C1", TS: "1.1"}},
		Changes: change.Scheduled(record.Change{ID: "c1", Account: "acme", State: record.StateDone, At: noon, Until: noon.Add(time.Hour), Steps: rule}),
		Events:  []record.Event{event("n1", "x:1")},
	}
}

func restore(t *testing.T, s *store.Store, r store.Rebuilt) {
	t.Helper()
	require.True(t, must(s.Ledger.Restore(t.Context(), "acme", r))(t))
}

func TestAStateBeginsWithWhatWasRebuilt(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		require.Empty(t, must(s.Ledger.Epoch(ctx, "acme"))(t))

		r := rebuilt()
		restore(t, s, r)
		require.Equal(t, r.Epoch, must(s.Ledger.Epoch(ctx, "acme"))(t))
		m, err := s.Attacks.Load(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, record.PollState{LastGood: r.At, FirstStart: r.FirstStart, Attacks: r.Attacks}, m)
		at, err := s.Cards.Card(ctx, "acme", r.Cards[0].Attack)
		require.NoError(t, err)
		require.Equal(t, record.Place{Channel: "C1", TS: "1.1"}, at)
		require.Equal(t, r.Cards[0].Attack, must(s.Cards.AttackAt(ctx, "acme", "C1", "1.1"))(t))
		require.Equal(t, []string{"c1"}, changeIDs(t, s))
		require.Equal(t, []string{"c1"}, due(t, s, noon.Add(2*time.Hour)))
		require.Len(t, must(s.Outbox.Waiting(ctx, "acme"))(t), 1)
		for _, key := range w.keys(t) {
			require.Contains(t, key, "{a:acme}:", "another account is read back by itself")
		}
	})
}

func TestWhatWasWrittenSinceIsNewer(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.openOwner(t), t.Context()
		since := shownAll("x:1")
		one := since["x:1"]
		one.Revision = 99
		since["x:1"] = one
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon.Add(time.Minute), Attacks: since}))
		save(t, s, record.Change{ID: "c1", State: record.StateUndone, At: noon, EndedAt: time.Now(), Steps: rule})
		require.NoError(t, w.rdb.Del(ctx, "{a:acme}:epoch").Err())

		restore(t, s, rebuilt())
		m, err := s.Attacks.Load(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, 99, m.Attacks["x:1"].Revision)
		require.Contains(t, m.Attacks, "x:2")
		require.Equal(t, noon.Add(time.Minute), m.LastGood)
		require.Equal(t, record.StateUndone, must(s.Ledger.Changes(ctx, "acme"))(t)[0].State)
	})
}

func TestOneProcessBeginsAState(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		first := store.Rebuilt{Epoch: store.NewEpoch()}
		restore(t, s, first)
		require.False(t, must(s.Ledger.Restore(ctx, "acme", rebuilt()))(t), "another was faster")
		require.Equal(t, first.Epoch, must(s.Ledger.Epoch(ctx, "acme"))(t))
		require.Empty(t, must(s.Outbox.Waiting(ctx, "acme"))(t), "nothing is said twice")
		require.True(t, must(s.Attacks.Load(ctx, "acme"))(t).LastGood.IsZero(), "a first start")
	})
}

// Before an epoch is restored there are cards to watch, and nothing may be changed. What was delivered isn't delivered
// again.
func TestAStateIsWatchedBeforeItBegins(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		cards := rebuilt()
		cards.Epoch, cards.Changes, cards.Events = "", nil, nil
		restore(t, s, cards)
		m, err := s.Attacks.Load(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, cards.Attacks, m.Attacks)
		_, _, err = s.Ledger.Begin(ctx, "acme", "", false)
		require.ErrorIs(t, err, store.ErrEmptied)

		all := rebuilt()
		all.Delivered = map[string]record.Place{"summary-1": {Channel: "C1", TS: "1.2"}}
		restore(t, s, all)
		_, _, err = s.Ledger.Begin(ctx, "acme", "", false)
		require.NoError(t, err)
		require.True(t, must(s.Outbox.BeginNotify(ctx, "acme", "summary-1", noon))(t).Notified)
	})
}
