package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/store"
)

// consumers are those of the stream, the living and the dead.
func (w *world) consumers(t testing.TB) int {
	t.Helper()
	all, err := w.rdb.XInfoConsumers(t.Context(), stream("U1"), "workers").Result()
	require.NoError(t, err)
	return len(all)
}

func TestWhatADeadReplicaHadInHandIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		die   func(net *wire, stop func())
		limit time.Duration
	}{
		"killed":  {func(net *wire, _ func()) { net.Refuse() }, 5 * time.Second},
		"paused":  {func(net *wire, _ func()) { net.Stall() }, 5 * time.Second},
		"stopped": {func(_ *wire, stop func()) { stop() }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				net := w.newWire(t)
				one, stop, _ := worker(t, net.open(t))
				two, _, _ := worker(t, w.open(t))
				direct := w.open(t)
				var mine []string
				for i := range 40 { // each goes to either of them
					id := fmt.Sprintf("%02d", i)
					accept(t, direct, id)
					select {
					case <-one:
						mine = append(mine, "work "+id)
					case got := <-two:
						require.NoError(t, got.Done(t.Context()))
					}
				}
				if len(mine) == 0 {
					return // one of them was too slow to get any
				}
				tt.die(net, stop)
				died := time.Now()
				for _, id := range mine {
					got := await(t, two)
					require.Equal(t, id, got.work)
					require.NoError(t, got.Done(t.Context()))
				}
				w.requireWithin(t, tt.limit, time.Since(died))
				w.requireNever(t, func() bool { return len(two) > 0 }, 1200*time.Millisecond)
				w.requireNoWork(t)
				require.Equal(t, 1, w.consumers(t))
			})
		})
	}
}

// Who was taken for dead and comes back takes nothing off the stream that is another's by now.
func TestWhatWasTakenOverIsNotFinishedByWhoHadIt(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := w.newWire(t)
		one, _, _ := worker(t, net.open(t))
		accept(t, w.open(t), "1")
		before := await(t, one)
		require.True(t, before.Mine(t.Context()))
		resume := net.Stall()
		two, _, _ := worker(t, w.open(t))
		after := await(t, two)
		require.Equal(t, before.work, after.work)
		resume()
		require.Eventually(t, func() bool { return !before.Mine(t.Context()) }, patience, 50*time.Millisecond)
		require.NoError(t, before.Done(t.Context()))
		require.True(t, after.Mine(t.Context()))
		require.EqualValues(t, 1, must(w.rdb.XLen(t.Context(), stream("U1")).Result())(t))
		require.NoError(t, after.Done(t.Context()))
		w.requireNoWork(t)
		accept(t, w.open(t), "2")
		require.Eventually(t, func() bool { return len(one)+len(two) == 1 }, patience, 10*time.Millisecond)
	})
}

// Who was taken for dead leaves the work to its new owner; when that one dies in turn, the work may come back.
func TestWorkThatWasLeftCanComeBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := w.newWire(t)
		one, _, _ := worker(t, net.open(t))
		accept(t, w.open(t), "1")
		before := await(t, one)
		resume := net.Stall()
		there := w.newWire(t)
		two, _, _ := worker(t, there.open(t))
		require.Equal(t, before.work, await(t, two).work)
		resume()
		require.Eventually(t, func() bool { return !before.Mine(t.Context()) }, patience, 50*time.Millisecond)
		there.Stall()
		again := await(t, one)
		require.Equal(t, before.work, again.work)
		require.NoError(t, again.Done(t.Context()))
		w.requireNoWork(t)
	})
}

func TestDeadReplicasAreDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for i := range 5 { // restarts
			s := w.open(t)
			jobs, stop, ended := worker(t, s)
			accept(t, s, fmt.Sprint(i))
			require.NoError(t, await(t, jobs).Done(t.Context()))
			stop()
			require.ErrorIs(t, await(t, ended), context.Canceled)
		}
		last := w.open(t)
		jobs, _, _ := worker(t, last)
		accept(t, last, "last")
		require.NoError(t, await(t, jobs).Done(t.Context()))
		require.Eventually(t, func() bool { return w.consumers(t) == 1 }, patience, 20*time.Millisecond)
		require.EqualValues(t, 1, must(w.rdb.ZCard(t.Context(), "{work}:beats").Result())(t))
	})
}

func TestMoreThanIsTakenOverAtOnce(t *testing.T) {
	full.Only(t)
	t.Parallel()
	w := newReal(t)
	const n = 2100
	dead := w.open(t)
	var want []string
	for i := range n {
		id := fmt.Sprintf("%04d", i)
		want = append(want, "work "+id)
		accept(t, dead, id)
	}
	jobs, stop, ended := worker(t, dead)
	for range n {
		await(t, jobs)
	}
	stop()
	require.ErrorIs(t, await(t, ended), context.Canceled)
	next, _, _ := worker(t, w.open(t))
	var got []string
	for range n {
		j := await(t, next)
		got = append(got, j.work)
		require.NoError(t, j.Done(t.Context()))
	}
	require.Equal(t, want, got)
	w.requireNoWork(t)
	require.Equal(t, 1, w.consumers(t))
}

// Whatever answer is lost on its way, work is handed over once, and none is left behind.
func TestLostAnswersNeitherLoseNorDoubleWork(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := w.newWire(t)
		direct := w.open(t)
		jobs, _, _ := worker(t, net.open(t))
		rnd := rand.New(rand.NewPCG(1, 1))
		net.SetFilters(nil, func(chunk []byte) ([]byte, bool) { return chunk, rnd.IntN(6) != 0 })
		const all = 40
		handed := map[string]int{}
		for i := range all {
			accept(t, direct, fmt.Sprint(i))
		}
		for range all {
			got := await(t, jobs)
			handed[got.work]++
			require.NoError(t, got.Done(t.Context()))
		}
		net.SetFilters(nil, nil)
		require.Len(t, handed, all)
		w.requireNever(t, func() bool { return len(jobs) > 0 }, time.Second)
		w.requireNoWork(t)
	})
}

// gated is a connection that keeps back the first answer with a word in it, once that is wanted.
type gated struct {
	net.Conn

	word         []byte
	wanted       *atomic.Bool
	came, passes chan struct{}
}

func (g gated) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if bytes.Contains(b[:n], g.word) && g.wanted.CompareAndSwap(true, false) {
		close(g.came)
		<-g.passes
	}
	return n, err
}

// What is this replica's and not in hand is given again, and may be finished before the first answer is read.
func TestWhatIsFinishedMeanwhileIsNotHandedOverAgain(t *testing.T) {
	onEachWaiting(t, func(t *testing.T, w *world) {
		gate := gated{word: []byte("work 1"), wanted: new(atomic.Bool), came: make(chan struct{}), passes: make(chan struct{})}
		s := store.OpenDialling(store.Config{Timeout: patience}, func(context.Context, string, string) (net.Conn, error) {
			conn, err := net.Dial("tcp", w.addr)
			return gated{conn, gate.word, gate.wanted, gate.came, gate.passes}, err
		})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		jobs, _, _ := worker(t, s)
		accept(t, s, "0")
		require.NoError(t, await(t, jobs).Done(t.Context())) // from here on it works
		gate.wanted.Store(true)
		var accepting sync.WaitGroup
		accepting.Go(func() { accept(t, s, "1") })
		await(t, gate.came)
		one := await(t, jobs)
		require.Equal(t, "work 1", one.work)
		require.NoError(t, one.Done(t.Context()))
		close(gate.passes)
		accepting.Wait()
		accept(t, s, "2")
		require.Equal(t, "work 2", await(t, jobs).work)
		require.Empty(t, jobs)
	})
}

// Who doesn't beat is taken for dead, so it takes nothing in hand.
func TestNoReplicaWorksWithoutABeat(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		accept(t, s, "1")
		handed := make(chan string, 10)
		running(t, func(ctx context.Context) error {
			return s.Inbox.Work(ctx, func(p *store.Piece) { handed <- string(p.Work()) })
		})
		w.requireNever(t, func() bool { return len(handed) > 0 }, 700*time.Millisecond)
		require.Empty(t, must(w.rdb.XInfoGroups(t.Context(), stream("U1")).Result())(t), "nothing was asked for")
		running(t, s.Replicas.Beat)
		require.Equal(t, "work 1", await(t, handed))
	})
}
