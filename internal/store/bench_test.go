package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/store"
)

// trip is how long a bare PING takes on a connection of its own, in the same run as what is measured.
func (w *world) trip(b *testing.B) time.Duration {
	b.Helper()
	const trips = 2000
	require.NoError(b, w.rdb.Ping(b.Context()).Err())
	begun := time.Now()
	for range trips {
		require.NoError(b, w.rdb.Ping(b.Context()).Err())
	}
	return time.Since(begun) / trips
}

// reportTrips reports what one turn costs in bare round trips.
func reportTrips(b *testing.B, trip time.Duration) {
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(trip), "roundtrips")
}

// BenchmarkAccept is a click written down in a real Redis; "roundtrips" is its cost in bare PINGs of the same run.
func BenchmarkAccept(b *testing.B) {
	w := newReal(b)
	s, trip := w.open(b), w.trip(b)
	work := make([]byte, 1000)
	n := 0
	for b.Loop() {
		n++
		_, _, err := s.Inbox.Accept(b.Context(), work, lane(fmt.Sprint("acme:", n)), fmt.Sprint(n))
		require.NoError(b, err)
	}
	reportTrips(b, trip)
}

// BenchmarkNotified is what stands around each post: the attempt is written down before it, and its place after it.
func BenchmarkNotified(b *testing.B) {
	w := newReal(b)
	s, trip := w.open(b), w.trip(b)
	n := 0
	for b.Loop() {
		n++
		one := event(fmt.Sprint(n), "x:1")
		_, err := s.Outbox.BeginNotify(b.Context(), "acme", one.ID, noon)
		require.NoError(b, err)
		_, err = s.Outbox.Notified(b.Context(), one, "C1", one.ID, true)
		require.NoError(b, err)
	}
	reportTrips(b, trip)
}

// BenchmarkRenewal is one renewal of the leases of 1,000 accounts, which is done once a second.
func BenchmarkRenewal(b *testing.B) {
	w := newReal(b)
	names := accounts(1000)
	held := newWatch(b, names...)
	s := w.open(b)
	held.start("one", s, nil)
	held.settled(len(names))
	leases := map[string]string{}
	for _, account := range names {
		leases[account] = w.rdb.Get(b.Context(), "{a:"+account+"}:lease").Val()
	}
	trip, renew := w.trip(b), store.Renewal(w.open(b), leases)
	for b.Loop() {
		require.Equal(b, len(names), renew(b.Context()))
	}
	reportTrips(b, trip)
}

// BenchmarkTakeOver is how long after a replica was killed another owns its account, and has its work in hand.
func BenchmarkTakeOver(b *testing.B) {
	w := newReal(b)
	var owned, worked time.Duration
	for b.Loop() {
		held := newWatch(b, "acme")
		net := w.newWire(b)
		one := net.open(b)
		dying := held.start("one", one, net)
		await(b, held.begun)
		jobs, stopWork, _ := worker(b, one)
		accept(b, one, fmt.Sprint(time.Now().UnixNano()))
		await(b, jobs)
		heir := w.open(b)
		next := held.start("two", heir, nil)
		inherited, stopHeir, _ := worker(b, heir)
		require.Eventually(b, func() bool { return w.consumers(b) > 0 && w.rdb.ZCard(b.Context(), "{work}:beats").Val() == 2 }, patience, 10*time.Millisecond)

		dying.kill()
		killed := time.Now()
		job := await(b, inherited)
		worked += time.Since(killed)
		owned += await(b, held.begun).began.Sub(killed)
		require.NoError(b, job.Done(b.Context()))
		stopWork()
		stopHeir()
		next.stop()
		require.NoError(b, await(b, next.ended))
		dying.run()
	}
	b.ReportMetric(float64(owned.Milliseconds())/float64(b.N), "ms/account")
	b.ReportMetric(float64(worked.Milliseconds())/float64(b.N), "ms/work")
}
