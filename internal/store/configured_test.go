package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// An account that is configured no more is named as long as it has changes in force, or it isn't known whether it has,
// and no owner.
func TestAccountsWithChangesThatNothingEnds(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		require.NoError(t, s.Replicas.KnowAccounts(ctx, []string{"acme", "gone", "done", "emptied"}))
		begin(t, s, "gone")
		begin(t, s, "done")
		_, d, err := s.Ledger.Begin(ctx, "gone", "", false)
		require.NoError(t, err)
		_, err = d.Save(ctx, record.Saves{Changes: change.Scheduled(record.Change{ID: "c1", Account: "gone", State: record.StateDone, At: noon, Until: noon.Add(1), Steps: rule})})
		require.NoError(t, err)
		left, ended, err := s.Replicas.NotEnded(ctx, []string{"acme"})
		require.NoError(t, err)
		require.Len(t, left, 2)
		require.Equal(t, []string{"c1"}, []string{left["gone"][0].ID})
		require.Contains(t, left, "emptied")
		require.Nil(t, left["emptied"], "it isn't known")
		require.Equal(t, []string{"done"}, ended)
		require.NoError(t, s.Replicas.ForgetAccounts(ctx, ended))
		require.ErrorIs(t, failure(s.Replicas.Open(ctx, "emptied")), store.ErrEmptied, "what it had isn't known")

		owner := newWatch(t, "gone")
		owner.start("owner", w.open(t), nil)
		owner.settled(1)
		left, ended, err = s.Replicas.NotEnded(ctx, []string{"acme", "emptied"})
		require.NoError(t, err)
		require.Empty(t, left, fmt.Sprint("its owner ends them: ", left))
		require.Empty(t, ended)
	})
}

// One replica restarts at a time; who doesn't end that in time is in nobody's way.
func TestReplicasRestartOneAtATime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		one, two, ctx := w.open(t).Replicas, w.open(t).Replicas, t.Context()
		may := func(r *store.Replicas, token string) bool {
			may, err := r.BeginRestart(ctx, token)
			require.NoError(t, err)
			return may
		}
		require.True(t, may(one, "1"))
		require.False(t, may(two, "2"))
		require.NoError(t, two.KeepRestart(ctx, "2"))
		require.NoError(t, two.EndRestart(ctx, "2"))
		require.False(t, may(two, "2"), "it is the first one's to end")
		require.NoError(t, one.KeepRestart(ctx, "1"))
		require.NoError(t, one.EndRestart(ctx, "1"))
		require.True(t, may(two, "2"))
	})
}
