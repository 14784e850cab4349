package store_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// begin begins the account's state, without which nothing may be changed.
func begin(t testing.TB, s *store.Store, accounts ...string) {
	t.Helper()
	for _, account := range accounts {
		require.NoError(t, beginWith(t.Context(), s, account, store.Rebuilt{Epoch: store.NewEpoch()}))
	}
}

// begunAs is a change that is claimed under its own id.
func begunAs(id string) record.Change {
	return record.Change{ID: id, Account: "acme", AttackID: "a1", State: record.StateBegun, At: noon, Steps: rule}
}

// claimed begins a change and claims it.
func claimed(t testing.TB, s *store.Store, ch record.Change) (context.Context, *store.Claim) {
	t.Helper()
	held, c, err := draft(t, s).Claim(t.Context(), ch)
	require.NoError(t, err)
	return held, c
}

// Of drafts begun at the same time one writes, the others begin again: none writes on what isn't so any more.
func TestOneOfManyDraftsWrites(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		stores := []*store.Store{w.open(t), w.open(t)}
		begin(t, stores[0], "acme", "other")
		const each = 8
		_, other, err := stores[0].Ledger.Begin(t.Context(), "other", "", false)
		require.NoError(t, err)
		var g errgroup.Group
		for i := range 2 * each {
			g.Go(func() error {
				for {
					b, d, err := stores[i%2].Ledger.Begin(t.Context(), "acme", "", false)
					if err != nil {
						return err
					}
					all := append(b.Context.Protected, record.Protected{Range: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 32)})
					if err := saved(d.Save(t.Context(), record.Saves{Protected: &all})); !errors.Is(err, store.ErrChanged) {
						return err
					}
				}
			})
		}
		require.NoError(t, g.Wait())
		known, err := stores[0].Triage.AccountContext(t.Context(), "acme")
		require.NoError(t, err)
		require.Len(t, known.Protected, 2*each, "no write was lost")
		require.NoError(t, saved(other.Save(t.Context(), record.Saves{Mutes: &[]record.Mute{}})), "another account is none of it")
	})
}

func TestALostClaimEndsItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		held, c := claimed(t, w.open(t), begunAs("c1"))
		defer c.Release(t.Context())
		require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
		await(t, held.Done())
		require.ErrorContains(t, context.Cause(held), "lease lost")
	})
}

func TestALostClaimWritesNothing(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, w *world, other *store.Store){
		"another has it": func(t *testing.T, w *world, other *store.Store) {
			require.NoError(t, w.rdb.Del(t.Context(), "{a:acme}:claim:c1").Err()) // as when it ran out during a pause
			_, c, err := other.Ledger.Resume(t.Context(), begunAs("c1"), false)
			require.NoError(t, err)
			t.Cleanup(func() { c.Release(context.Background()) })
		},
		"it is free": func(t *testing.T, w *world, _ *store.Store) {
			require.NoError(t, w.rdb.Del(t.Context(), "{a:acme}:claim:c1").Err())
		},
		"redis was emptied": func(t *testing.T, w *world, _ *store.Store) { require.NoError(t, w.rdb.FlushAll(t.Context()).Err()) },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				s, other, ctx := w.open(t), w.open(t), t.Context()
				_, c := claimed(t, s, begunAs("c1"))
				lose(t, w, other)
				before := w.keys(t)
				done := begunAs("c1")
				done.State = record.StateDone
				require.ErrorIs(t, saveChange(ctx, c, done), store.ErrLost)
				require.ElementsMatch(t, before, w.keys(t))
				require.NotContains(t, w.rdb.HGet(ctx, "{a:acme}:changes", "c1").Val(), `"state":"done"`)
				holder := w.rdb.Get(ctx, "{a:acme}:claim:c1").Val()
				c.Release(ctx)
				require.Equal(t, holder, w.rdb.Get(ctx, "{a:acme}:claim:c1").Val(), "only what is one's own is given back")
			})
		})
	}
}

// A pause is longer than the claim lasts, and a write that was sent before it arrives after it.
func TestWhatArrivesTooLateIsNotWritten(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net, other, ch := w.newWire(t), w.open(t), begunAs("c1")
		_, mine := claimed(t, net.open(t), ch)
		resume := net.Stall()
		late := make(chan error, 1)
		go func() {
			ch := ch
			ch.Does = "late"
			late <- saveChange(context.Background(), mine, ch)
		}()
		var taken *store.Claim
		require.Eventually(t, func() bool {
			_, c, err := other.Ledger.Resume(t.Context(), ch, false)
			taken = c
			return err == nil
		}, patience, 20*time.Millisecond, "it runs out")
		resume()
		require.Error(t, await(t, late))
		require.ErrorIs(t, saveChange(t.Context(), mine, ch), store.ErrLost)
		require.NotContains(t, w.rdb.HGet(t.Context(), "{a:acme}:changes", "c1").Val(), "late")
		taken.Release(t.Context())
		mine.Release(t.Context())
	})
}

func TestNothingIsChangedWithoutAState(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		_, _, err := s.Ledger.Begin(t.Context(), "acme", "", false)
		require.ErrorIs(t, err, store.ErrEmptied)
		require.Empty(t, w.keys(t))
		begin(t, s, "acme")
		_, _, err = s.Ledger.Begin(t.Context(), "acme", "", false)
		require.NoError(t, err)
		require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
		_, _, err = s.Ledger.Begin(t.Context(), "acme", "", false)
		require.ErrorIs(t, err, store.ErrEmptied)
	})
}

// What a change did, its end and its event are written in one step.
func TestAChangeIsStoredWithItsEvents(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		ch := record.Change{ID: "c1", AttackID: "a1", State: record.StateDone, At: noon, Until: noon.Add(time.Hour), CheckAt: noon.Add(45 * time.Minute), Steps: rule}
		drafted(t, s, func(l *store.Draft) error {
			_, err := l.Save(t.Context(), record.Saves{Changes: []record.Change{ch}, Events: []record.Event{event("of c1", "x:1")}})
			return err
		})
		require.Equal(t, []string{"of c1"}, waitingEvents(t, s))
		require.Equal(t, []string{"c1"}, due(t, s, noon.Add(time.Hour)))
		require.Contains(t, must(s.Cards.Stale(t.Context(), "acme"))(t), "a1")
	})
}
