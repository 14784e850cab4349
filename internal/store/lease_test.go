package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/store"
)

// begin begins the account's memory, without which nothing may be changed.
func begin(t testing.TB, s *store.Store, accounts ...string) {
	t.Helper()
	for _, account := range accounts {
		require.NoError(t, s.Restore(t.Context(), account, store.Recalled{Epoch: store.NewEpoch()}))
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
				held, l, err := stores[i%2].Lock(t.Context(), "acme")
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
		_, l, err := stores[0].Lock(t.Context(), "other")
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
		held, l, err := s.Lock(t.Context(), "acme")
		require.NoError(t, err)
		other := w.open(t)
		stop, ended := running(t, func(ctx context.Context) error {
			_, _, err := other.Lock(ctx, "acme")
			return err
		})
		require.Never(t, func() bool { return len(ended) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
		stop()
		require.ErrorIs(t, within(t, 2*time.Second, ended), context.Canceled)
		l.Unlock()
		require.ErrorIs(t, held.Err(), context.Canceled)
		_, l, err = s.Lock(t.Context(), "acme")
		require.NoError(t, err)
		l.Unlock()
	})
}

func TestALostLockEndsItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		begin(t, s, "acme")
		held, l, err := s.Lock(t.Context(), "acme")
		require.NoError(t, err)
		defer l.Unlock()
		require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
		within(t, 4*time.Second, held.Done())
		require.ErrorContains(t, context.Cause(held), "lease lost")
	})
}
