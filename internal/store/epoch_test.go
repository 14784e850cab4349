package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
)

// recalled is what was read back: an attack with its card, a rule that ends, and news of it.
func recalled() store.Recalled {
	return store.Recalled{
		Epoch: store.NewEpoch(), At: noon, Began: noon.Add(-time.Hour), Shown: shownAll("x:1", "x:2"),
		Cards:   []store.Card{{Attack: record.AttackID("acme", "x:1"), Channel: "C1", TS: "1.1"}},
		Changes: []record.Change{{ID: "c1", Account: "acme", State: record.StateDone, At: noon, Until: noon.Add(time.Hour), Steps: rule}},
		Events:  []record.Event{news("n1", "x:1")},
	}
}

func restore(t *testing.T, s *store.Store, r store.Recalled) {
	t.Helper()
	begun, err := s.Restore(t.Context(), "acme", r)
	require.NoError(t, err)
	require.True(t, begun)
}

func TestAMemoryBeginsWithWhatWasReadBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		epoch, err := s.Epoch(ctx, "acme")
		require.NoError(t, err)
		require.Empty(t, epoch)

		r := recalled()
		restore(t, s, r)
		epoch, err = s.Epoch(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, r.Epoch, epoch)
		m, err := s.Load(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, poller.Remembered{LastGood: r.At, Began: r.Began, Shown: r.Shown}, m)
		channel, ts, err := s.Card(ctx, "acme", r.Cards[0].Attack)
		require.NoError(t, err)
		require.Equal(t, []string{"C1", "1.1"}, []string{channel, ts})
		attack, err := s.CardAt(ctx, "acme", "C1", "1.1")
		require.NoError(t, err)
		require.Equal(t, r.Cards[0].Attack, attack)
		require.Equal(t, []string{"c1"}, changeIDs(t, s))
		require.Equal(t, []string{"c1"}, due(t, s, noon.Add(2*time.Hour)))
		untold, err := s.Untold(ctx, "acme")
		require.NoError(t, err)
		require.Len(t, untold, 1)
		for _, key := range w.keys(t) {
			require.Contains(t, key, "{a:acme}:", "another account is read back by itself")
		}
	})
}

func TestWhatWasWrittenSinceIsNewer(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.openTending(t), t.Context()
		since := shownAll("x:1")
		one := since["x:1"]
		one.Revision = 99
		since["x:1"] = one
		require.NoError(t, s.Remember(ctx, "acme", poller.Update{LastGood: noon.Add(time.Minute), Shown: since}))
		save(t, s, record.Change{ID: "c1", State: record.StateUndone, At: noon, EndedAt: time.Now(), Steps: rule})
		require.NoError(t, w.rdb.Del(ctx, "{a:acme}:epoch").Err())

		restore(t, s, recalled())
		m, err := s.Load(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, 99, m.Shown["x:1"].Revision)
		require.Contains(t, m.Shown, "x:2")
		require.Equal(t, noon.Add(time.Minute), m.LastGood)
		all, err := s.Changes(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, record.StateUndone, all[0].State)
	})
}

func TestOneProcessBeginsAMemory(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		first := store.Recalled{Epoch: store.NewEpoch()}
		restore(t, s, first)
		begun, err := s.Restore(ctx, "acme", recalled())
		require.NoError(t, err)
		require.False(t, begun, "somebody was faster")
		epoch, err := s.Epoch(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, first.Epoch, epoch)
		untold, err := s.Untold(ctx, "acme")
		require.NoError(t, err)
		require.Empty(t, untold, "nothing is said twice")
		m, err := s.Load(ctx, "acme")
		require.NoError(t, err)
		require.True(t, m.LastGood.IsZero(), "a first start")
	})
}
