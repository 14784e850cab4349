package store_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

func TestAMarkIsAsUrgentAndAsOldAsTheFirstThatWasNotDrawn(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	s, other, ctx := w.open(t), w.open(t), t.Context()
	mark := func() record.RedrawMark {
		all, err := other.Cards.Stale(ctx, "acme")
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all["a1"]
	}
	stale := func(at time.Time, urgency record.Urgency) {
		w.mini.SetTime(at)
		require.NoError(t, s.Cards.MarkStale(ctx, "acme", "a1", urgency))
	}
	later := noon.Add(90 * time.Second)
	stale(noon, record.UrgentFigures)
	stale(later, record.UrgentActed)
	stale(later.Add(time.Minute), record.UrgentState)
	first := mark()
	require.Equal(t, record.UrgentActed, first.Urgency, "figures that grow make nothing less urgent")
	require.Equal(t, noon, first.Since)
	require.NoError(t, s.Cards.Redrawn(ctx, "acme", "a1", first))
	stale(later, record.UrgentState)
	require.Equal(t, record.UrgentState, mark().Urgency)
	require.Equal(t, later, mark().Since)
}

// An attack that is no longer stored is not drawn any more: where more cards become stale than can be edited, its mark
// would wait for ever.
func TestTheMarkEndsWithTheAttack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.openOwner(t), t.Context()
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1", "x:2"), Stale: []string{"x:1", "x:2"}}))
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"x:1"}}))
		all, err := s.Cards.Stale(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, []string{record.AttackID("acme", "x:2")}, slices.Collect(maps.Keys(all)))
	})
}

// An earlier version's mark says nothing but that the card is stale.
func TestAMarkOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	s, ctx := w.open(t), t.Context()
	require.NoError(t, w.rdb.HSet(ctx, "{a:acme}:redraw", "a1", "8812734").Err())
	all, err := s.Cards.Stale(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, map[string]record.RedrawMark{"a1": {ID: "8812734"}}, all)
	require.NoError(t, s.Cards.Redrawn(ctx, "acme", "a1", all["a1"]))
	require.Empty(t, must(s.Cards.Stale(ctx, "acme"))(t))
}
