package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/store"
)

// inLane accepts work in one lane.
func inLane(t testing.TB, s *store.Store, in string, works ...string) {
	t.Helper()
	for _, work := range works {
		fresh, waiting, err := s.Inbox.Accept(t.Context(), []byte(work), lane(in), work)
		require.NoError(t, err)
		require.Zero(t, waiting)
		require.True(t, fresh)
	}
}

func (w *world) inStream(t testing.TB) (works []string) {
	t.Helper()
	for _, n := range store.Shards() {
		entries, err := w.rdb.XRange(t.Context(), fmt.Sprintf("{work-%d}:stream", n), "-", "+").Result()
		require.NoError(t, err)
		for _, e := range entries {
			works = append(works, e.Values["work"].(string))
		}
	}
	return works
}

func TestOneLineOfALaneIsInHandUntilItsTurnIsPassed(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other := w.open(t), w.open(t)
		inLane(t, s, "acme:U1", "1", "2", "3", "4")
		inLane(t, other, "acme:U2", "another person's")
		inLane(t, other, "beta:U1", "on another account")
		require.ElementsMatch(t, []string{"1", "another person's", "on another account"}, w.inStream(t))
		jobs, _, _ := worker(t, s)
		one := await(t, jobs)
		for range 2 {
			require.NoError(t, await(t, jobs).Done(t.Context()))
		}
		require.NoError(t, one.Pass(t.Context()))
		two := await(t, jobs)
		require.Equal(t, "2", two.work)
		require.NoError(t, one.Pass(t.Context()))
		require.NoError(t, one.Done(t.Context()))
		require.Equal(t, []string{"2"}, w.inStream(t), "a turn is passed once")
		require.NoError(t, two.Done(t.Context()))
		three := await(t, jobs)
		require.Equal(t, "3", three.work)
		require.NoError(t, three.Pass(t.Context()))
		require.NoError(t, await(t, jobs).Done(t.Context()))
		require.Equal(t, []string{"3"}, w.inStream(t))
		inLane(t, s, "acme:U1", "5")
		require.Equal(t, "5", await(t, jobs).work, "a line whose turn was passed holds nobody up")
		require.NoError(t, three.Done(t.Context()))
	})
}

func TestALaneIsBounded(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const most = 64
		s := w.open(t)
		for i := range 1 + most {
			inLane(t, s, "acme:U1", fmt.Sprint(i))
		}
		fresh, waiting, err := s.Inbox.Accept(t.Context(), []byte("one more"), lane("acme:U1"), "one more", "its other name")
		require.NoError(t, err)
		require.False(t, fresh)
		require.Equal(t, most, waiting)
		fresh, waiting, err = s.Inbox.Accept(t.Context(), []byte("one more"), lane("acme:U1"), "its other name")
		require.NoError(t, err)
		require.False(t, fresh)
		require.Zero(t, waiting, "a delivery is refused once")
		length, err := w.rdb.LLen(t.Context(), fmt.Sprintf("{work-%d}:lane:acme:T1/U1", store.ShardOf("U1"))).Result()
		require.NoError(t, err)
		require.EqualValues(t, 1+most, length)
		inLane(t, s, "acme:U2", "another person's")
		require.ElementsMatch(t, []string{"0", "another person's"}, w.inStream(t))
		jobs, _, _ := worker(t, s)
		for range 2 { // the first of each lane, in any order
			require.NoError(t, await(t, jobs).Done(t.Context()))
		}
		inLane(t, s, "acme:U1", "a later one")
	})
}

// Who was taken for dead and comes back passes no turn: its line is planned elsewhere.
func TestWhatWasTakenOverIsNotPassedByWhoHadIt(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := w.newWire(t)
		one, _, _ := worker(t, net.open(t))
		inLane(t, w.open(t), "acme:U1", "1", "2")
		before := await(t, one)
		resume := net.Stall()
		two, _, _ := worker(t, w.open(t))
		after := await(t, two)
		require.Equal(t, "1", after.work)
		resume()
		require.Eventually(t, func() bool { return !before.Mine(t.Context()) }, patience, 50*time.Millisecond)
		require.NoError(t, before.Pass(t.Context()))
		require.NoError(t, before.Done(t.Context()))
		require.Equal(t, []string{"1"}, w.inStream(t))
		require.NoError(t, after.Pass(t.Context()))
		require.Equal(t, []string{"1", "2"}, w.inStream(t))
		require.NoError(t, after.Done(t.Context()))
	})
}

func TestLanesGoWithRedis(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		inLane(t, s, "acme:U1", "1", "2", "3")
		jobs, _, _ := worker(t, s)
		one := await(t, jobs)
		w.flush(t)
		inLane(t, s, "acme:U1", "4", "5")
		require.NoError(t, one.Pass(t.Context()))
		require.NoError(t, one.Done(t.Context()))
		for _, work := range []string{"4", "5"} {
			got := await(t, jobs)
			require.Equal(t, work, got.work)
			require.NoError(t, got.Done(t.Context()))
		}
		w.requireNoWork(t)
	})
}

// What is done makes room, so it is stored although there is none.
func TestTurnsArePassedWhileRedisIsFull(t *testing.T) {
	full.Only(t)
	t.Parallel()
	w := newReal(t)
	s := w.open(t)
	inLane(t, s, "acme:U1", "1", "2", "3")
	jobs, _, _ := worker(t, s)
	one := await(t, jobs)
	require.NoError(t, w.rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, _, err := s.Inbox.Accept(t.Context(), []byte("4"), lane("acme:U1"), "4")
	require.ErrorContains(t, err, "OOM")
	require.NoError(t, one.Pass(t.Context()))
	require.NoError(t, one.Done(t.Context()))
	require.Equal(t, []string{"2"}, w.inStream(t))
	require.NoError(t, w.rdb.ConfigSet(t.Context(), "maxmemory", "0").Err())
	for _, work := range []string{"2", "3"} {
		got := await(t, jobs)
		require.Equal(t, work, got.work)
		require.NoError(t, got.Done(t.Context()))
	}
	w.requireNoWork(t)
}

// order is what a lane's works must keep: the next one is handed over when the turn of the one before was passed, and
// none once it is done.
type order struct {
	handed, passed map[string]int // how many, by lane
	done           map[string]bool
}

// taken checks work as LANE/NUMBER.
func (o *order) taken(t testing.TB, work string) {
	t.Helper()
	lane, number, _ := strings.Cut(work, "/")
	require.False(t, o.done[work], "%s is done already", work)
	if number == fmt.Sprint(o.handed[lane]) {
		require.Equal(t, o.passed[lane], o.handed[lane], "%s was handed over before its turn", work)
		o.handed[lane]++
		return
	}
	n := 0
	require.NoError(t, failure(fmt.Sscan(number, &n)))
	require.Less(t, n, o.handed[lane], "%s was handed over before those before it", work)
}

// pass notes that the turn of work is about to be passed.
func (o *order) pass(work string) {
	lane, number, _ := strings.Cut(work, "/")
	if number == fmt.Sprint(o.passed[lane]) {
		o.passed[lane]++
	}
}

// handed is work in the hand of a replica.
type handed struct {
	job

	by *hand
}

// hand is a replica that takes work, until it dies.
type hand struct {
	net  *wire
	stop func()
	dead bool
}

// Two replicas work three lanes off. Turns are passed at any time, and replicas are killed and stopped with work in
// hand: others go on in order.
func TestALaneKeepsItsOrderWhoeverDies(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		lanes, lines := 3, full.Of(16, 40)
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		rnd, direct := rand.New(rand.NewPCG(seed, 0)), w.open(t)
		o := order{map[string]int{}, map[string]int{}, map[string]bool{}}
		all := make(chan handed, 4*lanes*lines)
		start := func() {
			h := &hand{net: w.newWire(t)}
			h.stop, _ = workerTo(t, h.net.open(t), func(j job) { all <- handed{j, h} })
		}
		start()
		start()
		for i := range lines {
			for lane := range lanes {
				inLane(t, direct, fmt.Sprint("acme:U", lane), fmt.Sprintf("acme:U%d/%d", lane, i))
			}
		}
		faults := []func(h *hand){func(h *hand) { h.net.Refuse() }, func(h *hand) { h.stop() }}
		var inHand []handed
		for len(o.done) < lanes*lines {
			for len(inHand) == 0 || len(all) > 0 {
				if got := await(t, all); !got.by.dead {
					o.taken(t, got.work)
					inHand = append(inHand, got)
				}
			}
			at := rnd.IntN(len(inHand))
			one := inHand[at]
			if len(faults) > 0 && len(o.done) > lanes*lines/(1+len(faults)) {
				faults[0](one.by)
				one.by.dead, faults = true, faults[1:]
				inHand = slices.DeleteFunc(inHand, func(h handed) bool { return h.by.dead })
				start()
				continue
			}
			o.pass(one.work)
			if rnd.IntN(2) == 0 {
				require.NoError(t, one.Pass(t.Context()))
				continue
			}
			inHand = slices.Delete(inHand, at, at+1)
			require.NoError(t, one.Done(t.Context()))
			if !slices.Contains(w.inStream(t), one.work) { // else another replica has it by now
				o.done[one.work] = true
			}
		}
		w.requireNoWork(t)
	})
}
