package store_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// job is work that was handed over.
type job struct {
	*store.Piece

	work string
}

// worker runs Work, with its beats, and passes on what it hands over.
func worker(t testing.TB, s *store.Store) (jobs <-chan job, stop func(), ended <-chan error) {
	handed := make(chan job, 10_000)
	stop, ended = workerTo(t, s, func(j job) { handed <- j })
	return handed, stop, ended
}

func workerTo(t testing.TB, s *store.Store, handle func(job)) (stop func(), ended <-chan error) {
	return running(t, func(ctx context.Context) error {
		live, leave := context.WithCancel(context.WithoutCancel(ctx))
		var beats sync.WaitGroup
		beats.Go(func() { _ = s.Replicas.Beat(live) })
		defer beats.Wait()
		defer leave()
		return s.Inbox.Work(ctx, func(p *store.Piece) { handle(job{p, string(p.Work())}) })
	})
}

// lane is what a user asks on an account, as ACCOUNT:USER.
func lane(of string) record.Lane {
	account, user, _ := strings.Cut(of, ":")
	return record.Lane{Account: account, Team: "T1", User: user}
}

// stream is the key of a user's stream.
func stream(user string) string { return fmt.Sprintf("{work-%d}:stream", store.ShardOf(user)) }

// accept accepts work of one user, each in a lane of its own.
func accept(t testing.TB, s *store.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		fresh, _, err := s.Inbox.Accept(t.Context(), []byte("work "+id), lane(id+":U1"), id)
		require.NoError(t, err)
		require.True(t, fresh)
	}
}

func (w *world) requireNoWork(t testing.TB) {
	t.Helper()
	require.Empty(t, w.inStream(t))
	for _, n := range store.Shards() {
		pending, err := w.rdb.XPending(t.Context(), fmt.Sprintf("{work-%d}:stream", n), "workers").Result()
		if !redis.HasErrorPrefix(err, "NOGROUP") {
			require.NoError(t, err)
			require.Zero(t, pending.Count)
		}
	}
	require.Empty(t, must(w.rdb.Keys(t.Context(), "{work-*}:lane:*").Result())(t))
}

func TestADeliveryIsTakenOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other := w.open(t), w.open(t)
		accept(t, s, "1")
		fresh, _, err := other.Inbox.Accept(t.Context(), []byte("again"), lane("acme:U1"), "1")
		require.NoError(t, err)
		require.False(t, fresh)
		for id, want := range map[string]bool{"1": false, "2": true} {
			require.Equal(t, want, must(other.Inbox.First(t.Context(), "U1", id))(t))
		}
		fresh, _, err = s.Inbox.Accept(t.Context(), []byte("seen"), lane("acme:U1"), "2")
		require.NoError(t, err)
		require.False(t, fresh)
		jobs, _, _ := worker(t, s)
		require.Equal(t, "work 1", await(t, jobs).work)
		require.Empty(t, jobs)
		for _, id := range []string{"1", "2"} {
			ttl, err := w.rdb.PTTL(t.Context(), fmt.Sprintf("{work-%d}:delivery:%s", store.ShardOf("U1"), id)).Result()
			require.NoError(t, err)
			require.InDelta(t, time.Hour, ttl, float64(time.Minute))
		}
	})
}

// A mention comes as a message too, and each of them perhaps twice: whichever comes first is the one.
func TestADeliveryHasSeveralNames(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		for _, delivery := range []struct {
			names []string
			fresh bool
		}{
			{[]string{"event 1", "message a"}, true},
			{[]string{"event 2", "message a"}, false},
			{[]string{"event 2", "message b"}, false}, // its first name is known from the one before
			{[]string{"event 3"}, true},
		} {
			fresh, _, err := s.Inbox.Accept(t.Context(), []byte("work"), lane(delivery.names[0]+":U1"), delivery.names...)
			require.NoError(t, err)
			require.Equal(t, delivery.fresh, fresh, delivery.names)
		}
		require.EqualValues(t, 2, must(w.rdb.XLen(t.Context(), stream("U1")).Result())(t))
		require.False(t, must(s.Inbox.First(t.Context(), "U1", "event 4", "message b"))(t))
	})
}

func TestScriptsAreSentAgainAfterRedisLostThem(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		accept(t, s, "1")
		require.NoError(t, w.rdb.ScriptFlush(t.Context()).Err())
		accept(t, s, "2")
	})
}

func TestWorkComesInOrderAndGoesWhenDone(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		var ids []string
		for i := range 150 { // more than are read at once
			ids = append(ids, fmt.Sprint(i))
		}
		accept(t, s, ids[:100]...)
		jobs, stop, ended := worker(t, s)
		accept(t, s, ids[100:]...)
		for _, id := range ids {
			got := await(t, jobs)
			require.Equal(t, "work "+id, got.work)
			require.NoError(t, got.Done(t.Context()))
		}
		w.requireNoWork(t)
		stop()
		require.ErrorIs(t, await(t, ended), context.Canceled)
	})
}

func TestWhatWasNotDoneComesAgainBeforeAllElse(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		var ids []string
		for i := range 150 { // more than are read at once
			ids = append(ids, fmt.Sprint(i))
		}
		accept(t, s, ids...)
		jobs, stop, ended := worker(t, s)
		var handed []job
		for range ids {
			handed = append(handed, await(t, jobs))
		}
		stop()
		require.ErrorIs(t, await(t, ended), context.Canceled)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, handed[1].Done(ctx), "what is done counts, also after the stop")
		accept(t, s, "new")

		next := w.open(t)
		jobs, _, _ = worker(t, next)
		for _, id := range append(slices.Delete(ids, 1, 2), "new") {
			got := await(t, jobs)
			require.Equal(t, "work "+id, got.work)
			require.NoError(t, got.Done(t.Context()))
		}
		w.requireNoWork(t)
	})
}

func TestNothingIsHandedOverAfterTheStop(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		accept(t, s, "1", "2", "3")
		ctx, stop := context.WithCancel(t.Context())
		leave, left := running(t, s.Replicas.Beat)
		var handed []string
		err := s.Inbox.Work(ctx, func(p *store.Piece) {
			handed = append(handed, string(p.Work()))
			stop()
			require.NoError(t, p.Done(ctx))
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []string{"work 1"}, handed)
		leave()
		require.ErrorIs(t, await(t, left), context.Canceled)
		jobs, _, _ := worker(t, w.open(t))
		require.Equal(t, "work 2", await(t, jobs).work)
	})
}

func TestWorkGoesOnAfterRedisWasEmptied(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		accept(t, s, "1")
		jobs, _, _ := worker(t, s)
		await(t, jobs)
		w.flush(t)
		accept(t, s, "1") // no record of it is left
		got := await(t, jobs)
		require.Equal(t, "work 1", got.work)
		require.NoError(t, got.Done(t.Context()))
		w.requireNoWork(t)
	})
}

// What Redis gave out but never arrived is pending: it comes again, and what is in hand meanwhile doesn't.
func TestWorkWhoseAnswerWasLostComesAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := w.newWire(t)
		s, direct := net.open(t), w.open(t)
		accept(t, direct, "1")
		jobs, _, _ := worker(t, s)
		inHand := await(t, jobs)
		var once sync.Once
		lost := make(chan struct{})
		net.SetFilters(nil, func(chunk []byte) ([]byte, bool) {
			open := true
			if bytes.Contains(chunk, []byte("work 2")) {
				once.Do(func() {
					close(lost)
					chunk, open = nil, false
				})
			}
			return chunk, open
		})
		accept(t, direct, "2")
		await(t, lost)
		accept(t, direct, "3")
		for _, id := range []string{"2", "3"} {
			got := await(t, jobs)
			require.Equal(t, "work "+id, got.work)
			require.NoError(t, got.Done(t.Context()))
		}
		require.NoError(t, inHand.Done(t.Context()))
		require.Empty(t, jobs)
		w.requireNoWork(t)
	})
}

func TestWorkEndsWithItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, goWrong := range []proxytest.Filter{proxytest.Pass, proxytest.Drop, proxytest.Cut} {
			net := w.newWire(t)
			_, stop, ended := worker(t, net.open(t))
			reading := make(chan struct{}, 1)
			net.SetFilters(func(chunk []byte) ([]byte, bool) {
				if !bytes.Contains(chunk, []byte("{work-")) {
					return chunk, true
				}
				select {
				case reading <- struct{}{}:
				default:
				}
				return goWrong(chunk)
			}, nil)
			await(t, reading)
			stop()
			require.ErrorIs(t, await(t, ended), context.Canceled)
		}
	})
}

// A replica at rest keeps all shards in one round trip a second, beside its beat, and holds no connection up.
func TestAReplicaAtRestAsksTwiceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newDialled(t)
		net := w.newWire(t)
		s := net.open(t)
		worker(t, s)
		accept(t, s, "1")
		time.Sleep(10 * time.Second)
		trips := 0
		net.SetFilters(func(chunk []byte) ([]byte, bool) {
			trips++
			return chunk, true
		}, nil)
		time.Sleep(time.Minute)
		net.SetFilters(nil, nil)
		require.LessOrEqual(t, trips, 122)
	})
}

// Whoever accepts work carries it out. Where that replica doesn't work, another one has it within about a second.
func TestWhoAcceptsWorkHasItInHand(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		one, two := w.open(t), w.open(t)
		mine, stop, ended := worker(t, one)
		accept(t, one, "first")
		require.NoError(t, await(t, mine).Done(t.Context())) // from here on it works
		theirs, _, _ := worker(t, two)
		for _, id := range []string{"a", "b", "c"} {
			accept(t, one, id)
			got := await(t, mine)
			require.Equal(t, "work "+id, got.work)
			require.NoError(t, got.Done(t.Context()))
		}
		require.Empty(t, theirs)
		stop()
		require.ErrorIs(t, await(t, ended), context.Canceled)
		accept(t, one, "late")
		accepted := time.Now()
		require.Equal(t, "work late", await(t, theirs).work)
		w.requireWithin(t, 1100*time.Millisecond, time.Since(accepted))
	})
}
