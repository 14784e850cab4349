package store_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/store"
)

// reign is one time that a replica leads.
type reign struct {
	held context.Context
	end  chan<- error // what the function is to return; closed: the context's error when it ends
}

// leader runs Lead and passes on each reign.
func leader(t testing.TB, s *store.Store) (reigns <-chan reign, stop func(), ended <-chan error) {
	begun := make(chan reign, 10)
	stop, ended = running(t, func(ctx context.Context) error {
		return s.Lead(ctx, func(held context.Context) error {
			end := make(chan error)
			begun <- reign{held, end}
			select {
			case err := <-end:
				return err
			case <-held.Done():
				return held.Err()
			}
		})
	})
	return begun, stop, ended
}

func TestOneLeadsAndTheNextFollowsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		first, stop, ended := leader(t, w.open(t))
		one := within(t, 5*time.Second, first)
		second, _, failed := leader(t, w.open(t))
		require.Never(t, func() bool { return len(second) > 0 }, 1200*time.Millisecond, 100*time.Millisecond, "over a renewal")
		require.NoError(t, one.held.Err())
		stop()
		require.ErrorIs(t, within(t, 5*time.Second, ended), context.Canceled)
		two := within(t, 2*time.Second, second) // not only when the lease runs out
		broken := errors.New("broken")
		two.end <- broken
		require.ErrorIs(t, within(t, 5*time.Second, failed), broken)
		require.NotContains(t, w.keys(t), "{work}:leader")
	})
}

func TestALostLeadEndsItsContextAndIsWaitedForAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		reigns, _, _ := leader(t, w.open(t))
		one := within(t, 5*time.Second, reigns)
		require.NoError(t, w.rdb.Set(t.Context(), "{work}:leader", "somebody else", 0).Err())
		within(t, 2*time.Second, one.held.Done())
		require.Never(t, func() bool { return len(reigns) > 0 }, 700*time.Millisecond, 100*time.Millisecond, "it tries twice a second")
		holder, err := w.rdb.Get(t.Context(), "{work}:leader").Result()
		require.NoError(t, err)
		require.Equal(t, "somebody else", holder, "only what is one's own is given back")
		require.NoError(t, w.rdb.Del(t.Context(), "{work}:leader").Err())
		within(t, 2*time.Second, reigns)
	})
}

// A leader that can't reach Redis stops before Redis lets another lead, whatever is wrong with the network. They all wait at the same time.
func TestALeaderWithoutRedisStopsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	kinds := []func(testing.TB) *world{newMini}
	if !testing.Short() {
		kinds = append(kinds, newReal)
	}
	var check []func()
	for _, newWorld := range kinds {
		for _, goWrong := range []func(*wire){
			(*wire).refuse,
			func(net *wire) { net.goWrong(hang, nil) },
			func(net *wire) { net.goWrong(nil, hang) }, // renewed once more, without knowing
		} {
			check = append(check, cutOff(t, newWorld(t), goWrong))
		}
	}
	for _, c := range check {
		c()
	}
}

// cutOff has one replica lead and another wait, lets the first one's network go wrong, and returns what to check.
func cutOff(t *testing.T, w *world, goWrong func(*wire)) (check func()) {
	net := newWire(t, w.addr)
	reigns, _, _ := leader(t, net.open(t))
	one := within(t, 5*time.Second, reigns)
	stopped := make(chan time.Time, 1)
	context.AfterFunc(one.held, func() { stopped <- time.Now() })
	next, _, _ := leader(t, w.open(t))
	began := make(chan time.Time, 1)
	go func() {
		<-next
		began <- time.Now()
	}()
	goWrong(net)
	cut := time.Now()
	return func() {
		stop, begin := within(t, 8*time.Second, stopped), within(t, 8*time.Second, began)
		require.True(t, stop.Before(begin), "stopped %s after the cut, the next began after %s", stop.Sub(cut), begin.Sub(cut))
		require.Less(t, stop.Sub(cut), 6*time.Second, "the lease is 4 s long; a busy machine may notice later")
	}
}

func TestALeadWhoseAnswerWasLostIsTakenAtTheNextTry(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := newWire(t, w.addr)
		s := net.open(t)
		require.NoError(t, s.Ping(t.Context()))
		lost := false
		net.goWrong(func(chunk []byte) ([]byte, bool) {
			if !lost && bytes.Contains(chunk, []byte("{work}:leader")) && bytes.Contains(chunk, []byte("redis.call")) {
				lost = true
				net.replies = cut
			} else {
				net.replies = nil
			}
			return chunk, true
		}, nil)
		reigns, _, _ := leader(t, s)
		within(t, 2*time.Second, reigns) // the lease that was taken would run for 4 s
		require.True(t, lost)
	})
}

func TestChangesToAnAccountRunOneAfterAnother(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		stores := []*store.Store{w.open(t), w.open(t)}
		const each = 8
		inside, turns := make(chan int, 1), make(chan error, 2*each)
		for i := range 2 * each {
			go func() {
				held, unlock, err := stores[i%2].Lock(t.Context(), "acme")
				if err != nil {
					turns <- err
					return
				}
				defer unlock()
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
		_, unlock, err := stores[0].Lock(t.Context(), "other")
		require.NoError(t, err, "another account is another lock")
		unlock()
		for range 2 * each {
			require.NoError(t, within(t, 8*time.Second, turns))
		}
		require.Eventually(t, func() bool { return len(w.keys(t)) == 0 }, 5*time.Second, 10*time.Millisecond, "given back")
	})
}

func TestALockEndsWithItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		held, unlock, err := s.Lock(t.Context(), "acme")
		require.NoError(t, err)
		other := w.open(t)
		stop, ended := running(t, func(ctx context.Context) error {
			_, _, err := other.Lock(ctx, "acme")
			return err
		})
		require.Never(t, func() bool { return len(ended) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
		stop()
		require.ErrorIs(t, within(t, 2*time.Second, ended), context.Canceled)
		unlock()
		require.ErrorIs(t, held.Err(), context.Canceled)
		_, unlock, err = s.Lock(t.Context(), "acme")
		require.NoError(t, err)
		unlock()
	})
}

func TestALostLockEndsItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		held, unlock, err := w.open(t).Lock(t.Context(), "acme")
		require.NoError(t, err)
		defer unlock()
		require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
		within(t, 4*time.Second, held.Done())
		require.ErrorContains(t, context.Cause(held), "lease lost")
	})
}
