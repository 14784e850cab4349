package store_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
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

// Notify implements poller.Notifier.
func (*quiet) Notify(string, []record.Event) {}
func (*quiet) Redraw(string)                 {}

// polling marks the contexts of polls: beats and renewals go on beside them.
type polling struct{}

func (q *quiet) note(ctx context.Context, cmds ...redis.Cmder) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, cmd := range cmds {
		// A poll may need a connection of its own, which introduces itself.
		if name := cmd.Name(); ctx.Value(polling{}) != nil && name != "hello" && name != "client" {
			q.sent = append(q.sent, name)
		}
	}
	return nil
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

// A poll that finds nothing new sends Redis nothing, though a mute suppresses an attack and a storm groups others: the
// lease's renewal says what is muted. Twice a minute a poll stores that it was good, in one command: a monitoring gap
// begins at that time.
func TestAQuietPollAsksRedisNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		q := &quiet{store: w.open(t), now: noon}
		q.store.AddHook(sending(q.note))
		owning(t, q.store)
		account := config.Default[config.Account]()
		account.Name, account.Channel, account.Storm = "acme", "C1", config.Storm{Over: 1, In: time.Minute}
		p := poller.New(poller.Config{
			Account: &account, API: q, Clock: q, Store: q.store.Attacks, Notifier: q, Preferences: q, StormEnds: time.Hour,
		})
		require.NotEmpty(t, q.polls(t, p, 1), "the first start")
		drafted(t, q.store, func(l *store.Draft) error {
			return saved(l.Save(t.Context(), record.Saves{Mutes: &[]record.Mute{muteFor(time.Hour, typeMute)}}))
		})
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
		other := w.open(t)
		require.False(t, state("x:4").Notified)
		drafted(t, other, func(l *store.Draft) error { return saved(l.Save(t.Context(), record.Saves{Mutes: &[]record.Mute{}})) })
		require.Eventually(t, func() bool { q.polls(t, p, 1); return state("x:4").Notified }, patience, 10*time.Millisecond, "another replica's user ended the mute")

		drafted(t, q.store, func(l *store.Draft) error {
			return saved(l.Save(t.Context(), record.Saves{Mutes: &[]record.Mute{muteFor(time.Hour, typeMute)}}))
		})
		q.add(q.now, "sqli", "x:5")
		q.polls(t, p, 1)
		require.False(t, state("x:5").Notified, "what this process saved holds at once")
	})
}
