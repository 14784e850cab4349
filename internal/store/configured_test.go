package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// configured opens a store of a replica with a configuration.
func configured(t *testing.T, w *world, hash string) *store.Store {
	t.Helper()
	return w.openWith(t, store.Config{Configured: store.Configured{Hash: hash, Host: "host-" + hash}})
}

// Replicas that know different accounts leave none without an owner, however few the others know; once they are alike they share evenly.
func TestReplicasWithDifferentConfigurationsOwnAllAccounts(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		some, all := accounts(3), accounts(12)
		older, newer := newWatch(t, some...), newWatch(t, all...)
		one := configured(t, w, "old")
		before := older.start("one", one, nil)
		older.settled(3)
		two := configured(t, w, "new")
		newer.start("two", two, nil)
		newer.settled(9)
		require.Eventually(t, func() bool { return slices.Equal(one.Replicas.Differing(), []string{"host-new"}) }, patience, 20*time.Millisecond)
		require.Equal(t, []string{"host-old"}, two.Replicas.Differing())
		said, err := w.open(t).Replicas.Configurations(t.Context())
		require.NoError(t, err)
		require.Equal(t, []store.Configured{{Hash: "new", Host: "host-new"}, {Hash: "old", Host: "host-old"}}, said)

		before.stop()
		newer.settled(12)
		newer.start("three", configured(t, w, "new"), nil)
		newer.settled(6, 6)
		require.Empty(t, two.Replicas.Differing())
	})
}

// An account that is configured no more is named as long as it has changes in force, or it isn't known whether it has, and no owner.
func TestAccountsWithChangesThatNothingEnds(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		require.NoError(t, s.Replicas.KnowAccounts(ctx, []string{"acme", "gone", "done", "emptied"}))
		begin(t, s, "gone")
		begin(t, s, "done")
		_, d, err := s.Ledger.Begin(ctx, "gone", "", false)
		require.NoError(t, err)
		_, err = d.SaveChanges(ctx, nil, nil, record.Change{ID: "c1", Account: "gone", State: record.StateDone, At: noon, Until: noon.Add(1), Steps: rule})
		require.NoError(t, err)
		left, ended, err := s.Replicas.NotEnded(ctx, []string{"acme"})
		require.NoError(t, err)
		require.Equal(t, map[string]int{"gone": 1, "emptied": 0}, left)
		require.Equal(t, []string{"done"}, ended)
		require.NoError(t, s.Replicas.ForgetAccounts(ctx, ended))
		_, err = s.Replicas.Due(ctx, "emptied")
		require.ErrorIs(t, err, refusal.ErrEmptied, "what it had isn't known")

		owner := newWatch(t, "gone")
		owner.start("owner", configured(t, w, "old"), nil)
		owner.settled(1)
		left, ended, err = s.Replicas.NotEnded(ctx, []string{"acme", "emptied"})
		require.NoError(t, err)
		require.Empty(t, left, fmt.Sprint("its owner ends them: ", left))
		require.Empty(t, ended)
	})
}
