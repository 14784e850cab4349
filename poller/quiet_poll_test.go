package poller_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
	"github.com/wafbot/wafbot/poller"
)

// quiet is a service whose attacks stay as they are, polled as cmd/wafbot has it polled.
type quiet struct {
	store   *store.Store
	attacks []apiclient.Attack
	now     time.Time // on the service's clock

	mu   sync.Mutex
	sent []string // commands that polls sent
}

// Attacks implements poller.API.
func (q *quiet) Attacks(context.Context, apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error] {
	return func(yield func(apiclient.AttackPage, error) bool) {
		_ = yield(apiclient.AttackPage{Attacks: q.attacks, Sums: make([]uint64, len(q.attacks))}, nil)
	}
}

// Now implements poller.Clock.
func (q *quiet) Now() time.Time { return q.now }

// IPRules implements poller.API.
func (*quiet) IPRules(context.Context, string) iter.Seq2[apiclient.IPRule, error] {
	return func(func(apiclient.IPRule, error) bool) {}
}

// Rules implements poller.API.
func (*quiet) Rules(context.Context, int64) iter.Seq2[apiclient.Rule, error] {
	return func(func(apiclient.Rule, error) bool) {}
}

// Foreign implements poller.API.
func (*quiet) Foreign() int64 { return 0 }

// TooLong implements poller.API.
func (*quiet) TooLong() string { return "" }

// Muted implements poller.Preferences.
func (q *quiet) Muted(ctx context.Context, account string) (func(apiclient.Attack) bool, error) {
	all, err := q.store.Triage.OwnedMutes(ctx, account)
	return func(a apiclient.Attack) bool {
		return slices.ContainsFunc(all, func(m record.Mute) bool { return m.Type == a.Type })
	}, err
}

// Saved implements poller.Notifier.
func (*quiet) Saved(string, record.PollUpdate) {}

// polling marks the contexts of polls: beats and renewals go on beside them.
type polling struct{}

// DialHook implements redis.Hook, like the next two.
func (*quiet) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook notes what is sent.
func (q *quiet) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		q.note(ctx, cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook notes that.
func (q *quiet) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		q.note(ctx, cmds...)
		return next(ctx, cmds)
	}
}

func (q *quiet) note(ctx context.Context, cmds ...redis.Cmder) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, cmd := range cmds {
		// A poll may need a connection of its own, which introduces itself.
		if name := cmd.Name(); ctx.Value(polling{}) != nil && name != "hello" && name != "client" {
			q.sent = append(q.sent, name)
		}
	}
}

// polls are the commands of so many polls.
func (q *quiet) polls(t *testing.T, p *poller.Poller, n int) []string {
	t.Helper()
	q.sent = nil
	for range n {
		require.NoError(t, p.Poll(context.WithValue(t.Context(), polling{}, true)))
	}
	return q.sent
}

func (q *quiet) add(at time.Time, typ string, ids ...string) {
	for _, id := range ids {
		q.attacks = append(q.attacks, apiclient.Attack{ID: id, Type: typ, First: at, Last: at, Hits: apiclient.Known(100), BlockStatus: "monitored"})
	}
}

// patience is how long a test waits before it says that something never came.
const patience = 2 * time.Minute

// openRedis opens a store.
func openRedis(t *testing.T, url string) *store.Store {
	s, err := store.Open(store.Config{Address: address.Options{URL: url}, Timeout: patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// owns has a store own the account until the test ends.
func owns(t *testing.T, s *store.Store) *store.Store {
	ctx, stop := context.WithCancel(context.Background())
	began := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { _ = s.Replicas.Beat(ctx) })
	running.Go(func() {
		_ = s.Replicas.Share(ctx, ctx, []string{"acme"}, func(held, _ context.Context, _ string, _ <-chan store.Pending) {
			close(began)
			<-held.Done()
		})
	})
	t.Cleanup(func() { stop(); running.Wait() })
	<-began
	_, err := s.Ledger.Restore(ctx, "acme", store.Rebuilt{Epoch: store.NewEpoch()})
	require.NoError(t, err)
	return s
}

// mute stores the account's mutes.
func mute(t *testing.T, s *store.Store, all ...record.Mute) {
	_, d, err := s.Ledger.Begin(t.Context(), "acme", "", false)
	require.NoError(t, err)
	_, err = d.Save(t.Context(), record.Saves{Mutes: &all})
	require.NoError(t, err)
}

// A poll that finds nothing new sends Redis nothing, though a mute suppresses an attack and a storm groups others: the
// lease's renewal says what is muted. Twice a minute a poll stores that it was good, in one command: a monitoring gap
// begins at that time.
func TestAQuietPollAsksRedisNothing(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	redis.ClockTTL(true)
	url := "redis://" + redis.Addr() + "/0"
	q := &quiet{store: openRedis(t, url), now: noon}
	q.store.AddHook(q)
	owns(t, q.store)
	sqliMute := record.Mute{ID: "m2", Account: "acme", Type: "sqli", Until: time.Now().Add(time.Hour).UTC(), By: record.Actor{ID: "U1", Name: "Rob"}}
	account := config.Default[config.Account]()
	account.Name, account.Channel, account.Storm = "acme", "C1", config.Storm{Over: 1, In: time.Minute}
	p := poller.New(poller.Config{
		Account: &account, API: q, Clock: q, Store: q.store.Attacks, Notifier: q, Preferences: q, StormEnds: time.Hour,
	})
	require.NotEmpty(t, q.polls(t, p, 1), "the first start")
	mute(t, q.store, sqliMute)
	q.now = q.now.Add(time.Second)
	q.add(q.now, "rce", "x:1", "x:2", "x:3")
	q.add(q.now, "sqli", "x:4")
	require.NotEmpty(t, q.polls(t, p, 1), "the storm")
	q.now = q.now.Add(time.Second) // two polls later its counts are taken for all
	require.Eventually(t, func() bool { return len(q.polls(t, p, 1)) == 0 }, patience, 10*time.Millisecond, "the lease is renewed once a second")
	require.Empty(t, q.polls(t, p, 20))
	q.now = q.now.Add(30 * time.Second)
	require.Equal(t, []string{"evalsha"}, q.polls(t, p, 20))

	state := func(id string) record.AttackState {
		s, _, err := q.store.Attacks.AttackState(t.Context(), "acme", record.AttackID("acme", id))
		require.NoError(t, err)
		return s
	}
	other := openRedis(t, url)
	require.False(t, state("x:4").Notified)
	mute(t, other)
	require.Eventually(t, func() bool { q.polls(t, p, 1); return state("x:4").Notified }, patience, 10*time.Millisecond, "another replica's user ended the mute")

	mute(t, q.store, sqliMute)
	q.add(q.now, "sqli", "x:5")
	q.polls(t, p, 1)
	require.False(t, state("x:5").Notified, "what this process saved holds at once")
}
