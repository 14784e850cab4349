package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
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

func TestChangesToAnAccountRunOneAfterAnother(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		stores := []*store.Store{w.open(t), w.open(t)}
		begin(t, stores[0], "acme", "other")
		const each = 8
		inside, turns := make(chan int, 1), make(chan error, 2*each)
		for i := range 2 * each {
			go func() {
				held, l, err := stores[i%2].Ledger.Lock(t.Context(), "acme", false)
				if err != nil {
					turns <- err
					return
				}
				defer l.Unlock()
				select {
				case inside <- i:
				default:
					turns <- errors.New("two at the same time")
					return
				}
				<-inside
				turns <- held.Err()
			}()
		}
		_, l, err := stores[0].Ledger.Lock(t.Context(), "other", false)
		require.NoError(t, err, "another account is another lock")
		l.Unlock()
		for range 2 * each {
			require.NoError(t, within(t, 8*time.Second, turns))
		}
		require.Eventually(t, func() bool { return len(w.keys(t)) == 2 }, 5*time.Second, 10*time.Millisecond, "given back: the epochs are left")
	})
}

func TestALockEndsWithItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		begin(t, s, "acme")
		held, l, err := s.Ledger.Lock(t.Context(), "acme", false)
		require.NoError(t, err)
		other := w.open(t)
		stop, ended := running(t, func(ctx context.Context) error {
			_, _, err := other.Ledger.Lock(ctx, "acme", false)
			return err
		})
		require.Never(t, func() bool { return len(ended) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
		stop()
		require.ErrorIs(t, within(t, 2*time.Second, ended), context.Canceled)
		l.Unlock()
		require.ErrorIs(t, held.Err(), context.Canceled)
		_, l, err = s.Ledger.Lock(t.Context(), "acme", false)
		require.NoError(t, err)
		l.Unlock()
	})
}

func TestALostLockEndsItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		begin(t, s, "acme")
		held, l, err := s.Ledger.Lock(t.Context(), "acme", false)
		require.NoError(t, err)
		defer l.Unlock()
		require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
		within(t, 4*time.Second, held.Done())
		require.ErrorContains(t, context.Cause(held), "lease lost")
	})
}

// writes are all that is written under a lock.
func writes(l commands.Lock) map[string]error {
	ctx := context.Background()
	return map[string]error{
		"change":  saveChange(ctx, l, record.Change{ID: "late", Account: "acme", AttackID: "a1", State: record.StateDone, At: noon, Until: noon, Steps: rule}),
		"case":    l.SaveTriage(ctx, map[string]record.Triage{"a1": spoken()}),
		"mutes":   l.SaveMutes(ctx, []record.Mute{muteFor(time.Hour, typeMute)}),
		"no mute": l.SaveMutes(ctx, nil),
		"request": saveRequest(ctx, l, waiting("late", noon)),
	}
}

func TestALostLockWritesNothing(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, w *world, other *store.Store){
		"another has it": func(t *testing.T, w *world, other *store.Store) {
			require.NoError(t, w.rdb.Del(t.Context(), "{a:acme}:lock").Err()) // as when it ran out during a pause
			l := lock(t, other)
			t.Cleanup(l.Unlock)
			require.NoError(t, l.SaveMutes(t.Context(), []record.Mute{muteFor(time.Hour, sourceMute)}))
		},
		"it is free": func(t *testing.T, w *world, _ *store.Store) {
			require.NoError(t, w.rdb.Del(t.Context(), "{a:acme}:lock").Err())
		},
		"redis was emptied": func(t *testing.T, w *world, _ *store.Store) { require.NoError(t, w.rdb.FlushAll(t.Context()).Err()) },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				s, other, ctx := w.open(t), w.open(t), t.Context()
				l := lock(t, s)
				lose(t, w, other)
				mutes := mutesOf(t, other, "acme")
				for what, err := range writes(l) {
					require.ErrorIs(t, err, refusal.ErrLost, what)
				}
				require.Empty(t, changeIDs(t, other))
				require.Empty(t, due(t, other, time.Now()))
				require.Empty(t, waitingEvents(t, other))
				require.Equal(t, mutes, mutesOf(t, other, "acme"))
				for _, key := range []string{"{a:acme}:triage", "{a:acme}:redraw", "{a:acme}:due"} {
					require.NotContains(t, w.keys(t), key)
				}
				holder := w.rdb.Get(ctx, "{a:acme}:lock").Val()
				l.Unlock()
				require.Equal(t, holder, w.rdb.Get(ctx, "{a:acme}:lock").Val(), "only what is one's own is given back")
			})
		})
	}
}

// A pause is longer than the lock lasts, and a write that was sent before it arrives after it.
func TestWhatArrivesTooLateIsNotWritten(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := newWire(t, w.addr)
		l := lock(t, net.open(t))
		other := w.open(t)
		resume := net.Stall()
		late := make(chan map[string]error, 1)
		go func() { late <- writes(l) }()
		taken := make(chan commands.Lock, 1)
		go func() {
			_, l, err := other.Ledger.Lock(context.Background(), "acme", false)
			require.NoError(t, err)
			taken <- l
		}()
		mine := within(t, 10*time.Second, taken)
		require.NoError(t, mine.SaveMutes(t.Context(), []record.Mute{muteFor(time.Hour, sourceMute)}))
		before := w.keys(t)
		resume()
		for what, err := range within(t, 10*time.Second, late) {
			require.Error(t, err, what)
		}
		require.ErrorIs(t, l.SaveTriage(t.Context(), map[string]record.Triage{"a1": spoken()}), refusal.ErrLost)
		require.ElementsMatch(t, before, w.keys(t))
		require.Len(t, mutesOf(t, other, "acme"), 1)
		mine.Unlock()
		l.Unlock()
	})
}

func TestNothingIsChangedWithoutAState(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		_, _, err := s.Ledger.Lock(t.Context(), "acme", false)
		require.ErrorIs(t, err, refusal.ErrEmptied)
		require.Empty(t, w.keys(t))
		begin(t, s, "acme")
		_, l, err := s.Ledger.Lock(t.Context(), "acme", false)
		require.NoError(t, err)
		l.Unlock()
		require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
		_, _, err = s.Ledger.Lock(t.Context(), "acme", false)
		require.ErrorIs(t, err, refusal.ErrEmptied)
	})
}

// What a change did, its end and its event are written in one step.
func TestAChangeIsStoredWithItsEvents(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		ch := record.Change{ID: "c1", AttackID: "a1", State: record.StateDone, At: noon, Until: noon.Add(time.Hour), Steps: rule}
		locked(t, s, func(l commands.Lock) error {
			_, err := l.SaveChanges(t.Context(), nil, []record.Event{event("of c1", "x:1")}, ch)
			return err
		})
		require.Equal(t, []string{"of c1"}, waitingEvents(t, s))
		require.Equal(t, []string{"c1"}, due(t, s, noon.Add(time.Hour)))
		marks, err := s.Cards.Stale(t.Context(), "acme")
		require.NoError(t, err)
		require.Contains(t, marks, "a1")
	})
}
