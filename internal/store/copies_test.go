package store_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// openCopied is a replica's store that wants each write that counts on another server, too.
func openCopied(t testing.TB, url string) *store.Store {
	s, err := store.Open(store.Config{Address: address.Options{URL: url}, Copies: 1})
	require.NoError(t, err)
	s.AddHook(sending(oneSlot))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// replicaOf starts a server that copies this one, over a wire that can go wrong.
func (w *world) replicaOf(t testing.TB) (rdb *redis.Client, between *wire) {
	between = w.newWire(t)
	host, port, err := net.SplitHostPort(between.Addr())
	require.NoError(t, err)
	require.NoError(t, w.rdb.ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err())
	rdb = client(t, redistest.Start(t, "--replicaof", host+" "+port).Addr)
	require.Eventually(t, func() bool {
		p := w.rdb.Pipeline()
		p.Publish(t.Context(), "something", "to be copied")
		copies := p.Do(t.Context(), "WAIT", 1, 100)
		_, _ = p.Exec(t.Context())
		return copies.Val() == int64(1)
	}, patience, 20*time.Millisecond)
	return rdb, between
}

// counts are the writes that must outlive the server that takes them. A server that has them says so when they come
// again.
var counts = map[string]func(ctx context.Context, s *store.Store) error{
	"Accept": func(ctx context.Context, s *store.Store) error {
		_, _, err := s.Inbox.Accept(ctx, []byte("work"), lane("acme:U1"), "1")
		return err
	},
	"Trying": func(ctx context.Context, s *store.Store) error {
		_, err := s.Outbox.BeginNotify(ctx, "acme", "n1", noon)
		return err
	},
	"Notified": func(ctx context.Context, s *store.Store) error {
		_, err := s.Outbox.Notified(ctx, event("n2", "x:1"), "C1", "1.1", true)
		return err
	},
	"Announce": func(ctx context.Context, s *store.Store) error { return s.Outbox.Announce(ctx, event("n3", "x:1")) },
	"MarkStale": func(ctx context.Context, s *store.Store) error {
		return s.Cards.MarkStale(ctx, "acme", "a1", record.UrgentState)
	},
	"Restore": func(ctx context.Context, s *store.Store) error {
		return beginWith(ctx, s, "beta", store.Rebuilt{Epoch: store.NewEpoch()})
	},
	"SaveChange": func(ctx context.Context, s *store.Store) error {
		_, d, err := s.Ledger.Begin(ctx, "acme", "", false)
		if err != nil {
			return err
		}
		return saveChange(ctx, d, record.Change{ID: "c1", Account: "acme", AttackID: "a1"})
	},
}

func TestWithoutACopyNothingCountsAsWritten(t *testing.T) {
	full.Only(t)
	t.Parallel()
	w := newReal(t)
	begin(t, w.open(t), "acme")
	s := openCopied(t, "redis://"+w.addr)
	for name, write := range counts {
		err := write(t.Context(), s)
		require.ErrorContains(t, err, "too few replicas of redis have it", name)
		require.NotErrorIs(t, err, store.ErrLost, name)
		require.False(t, neverSent(err), name)
	}
	n, err := w.rdb.XLen(t.Context(), stream("U1")).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "its outcome is unknown to the caller")

	jobs, _, _ := worker(t, s)
	got := await(t, jobs) // what can't be copied can be worked off
	finished := make(chan error, 1)
	go func() { finished <- got.Done(t.Context()) }()
	require.Never(t, func() bool { return len(finished) > 0 }, time.Second, 100*time.Millisecond)
	w.replicaOf(t)
	require.NoError(t, await(t, finished))
	w.requireNoWork(t)
	requireCopied(t, s, func(string) {})
}

// requireCopied has everything written; a busy machine copies late, and then it is written again.
func requireCopied(t testing.TB, s *store.Store, then func(name string)) {
	t.Helper()
	for name, write := range counts {
		require.Eventually(t, func() bool { return write(t.Context(), s) == nil }, patience, time.Millisecond, name)
		then(name)
	}
}

// What was written is on the other server when the call returns. What could not be copied is a different error, also
// when that server was there a moment ago.
func TestWithACopyWhatCountsOutlivesItsServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return // a miniredis has no replicas
	}
	w := newReal(t)
	copied, between := w.replicaOf(t)
	s := openCopied(t, "redis://"+w.addr)
	begin(t, w.open(t), "acme")
	requireCopied(t, s, func(name string) {
		for _, key := range w.keys(t) {
			require.EqualValues(t, 1, copied.Exists(t.Context(), key).Val(), "%s of %s", key, name)
		}
	})
	var pings errgroup.Group
	for range 20 { // now there are several connections, whose writes were copied
		pings.Go(func() error { return s.Ping(t.Context()) })
	}
	require.NoError(t, pings.Wait())
	between.SetFilters(nil, proxytest.Drop)
	require.Error(t, s.Outbox.Announce(t.Context(), event("n4", "x:1"))) // some of the others write nothing when they come again
	for name, write := range counts {
		require.ErrorContains(t, write(t.Context(), s), "too few replicas of redis have it", name)
	}
}

// A server that lost the script gets it again, and the copy is waited for all the same.
func TestScriptsAreSentAgainToAServerWithACopy(t *testing.T) {
	full.Only(t)
	t.Parallel()
	w := newReal(t)
	copied, _ := w.replicaOf(t)
	s := openCopied(t, "redis://"+w.addr)
	for i := range 3 {
		require.NoError(t, w.rdb.ScriptFlush(t.Context()).Err())
		work := fmt.Sprint(i)
		require.Eventually(t, func() bool { _, _, err := s.Inbox.Accept(t.Context(), nil, lane(work+":U1"), work); return err == nil }, patience, time.Millisecond)
		require.EqualValues(t, i+1, copied.XLen(t.Context(), stream("U1")).Val())
	}
}
