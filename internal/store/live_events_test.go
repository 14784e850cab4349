package store_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/poller"
)

// watched has a poller pass on what it finds to the live account's notifier.
func (l *live) watched(limit int) (*quiet, *poller.Poller) {
	q := &quiet{store: l.store, now: time.Now()}
	account := config.Default[config.Account]()
	account.Name, account.Channel, account.Storm = "acme", "C1", config.Storm{Over: 2, In: time.Minute}
	account.Lookback, account.OngoingFor = time.Hour, 5*time.Minute
	return q, poller.New(poller.Config{
		Account: &account, API: q, Clock: q, Store: q.store.Attacks, Notifier: l.notifier, Preferences: q,
		Limits: poller.Limits{Attacks: limit, Bytes: 1 << 20, Time: time.Hour},
	})
}

// polled polls when so much time has passed at the service.
func (q *quiet) polled(t *testing.T, p *poller.Poller, after time.Duration) {
	t.Helper()
	q.now = q.now.Add(after)
	require.NoError(t, p.Poll(t.Context()))
}

// An event is drawn from what is stored of its attack. That stays as long as the event waits, though the attack left
// the lookback three times over, its storm ended, or there is no room for it. Then it goes.
func TestWhatIsStoredOfAnAttackStaysWhileSlackIsAway(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		q, p := l.watched(8)
		q.polled(t, p, time.Minute)
		time.Sleep(time.Minute)
		require.Len(t, l.way.said(), 1, "the first start")
		l.slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "ratelimited", RetryAfter: 60})
		q.add(q.now, "sqli", "x:1")
		q.polled(t, p, time.Second)
		q.add(q.now, "rce", "y:1", "y:2", "y:3", "y:4")
		q.polled(t, p, 2*time.Minute)
		q.attacks = nil
		q.add(q.now, "xss", "z:1", "z:2", "z:3", "z:4", "z:5", "z:6", "z:7", "z:8")
		q.polled(t, p, time.Second)
		q.attacks = nil
		storm := ""
		stored := func() []string {
			all, err := l.store.Attacks.Load(t.Context(), "acme")
			require.NoError(t, err)
			return slices.Sorted(maps.Keys(all.Attacks))
		}
		for _, id := range stored() {
			if record.IsStorm(id) {
				storm = id
			}
		}
		for range 4 {
			time.Sleep(11 * time.Minute) // until everything is read again
			q.polled(t, p, time.Hour)
			require.Subset(t, stored(), []string{storm, "x:1"})
		}
		l.slack.ClearFaults()
		time.Sleep(10 * time.Minute)
		waiting, err := l.store.Outbox.Waiting(t.Context(), "acme")
		require.NoError(t, err)
		require.Empty(t, waiting)
		require.NotEmpty(t, l.card(record.AttackID("acme", "x:1")))
		require.NotEmpty(t, l.card(record.AttackID("acme", storm)))
		q.polled(t, p, time.Hour)
		require.Empty(t, stored())
	})
}

// seen counts how often a text is sent to Redis, and how often Redis answers with it.
type seen struct {
	text string

	mu             sync.Mutex
	sent, answered int
}

func (s *seen) note(cmds ...redis.Cmder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cmd := range cmds {
		args := ""
		for _, arg := range cmd.Args() {
			args += fmt.Sprintf("%s ", arg)
		}
		sent := strings.Count(args, s.text)
		s.sent += sent
		s.answered += strings.Count(cmd.String(), s.text) - sent
	}
}

// DialHook implements redis.Hook, like the next two.
func (*seen) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts in a command.
func (s *seen) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer s.note(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts in several.
func (s *seen) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer s.note(cmds...)
		return next(ctx, cmds)
	}
}

// From the service's answer to Slack's post an attack is encoded twice, to be stored and for its line on standard
// output, and decoded from nothing but that answer. (Its evidence is a brief copy.)
func TestAnAttackIsEncodedTwiceUntilItIsPosted(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		q, p := l.watched(1000)
		q.polled(t, p, time.Minute)
		time.Sleep(time.Minute)
		s := &seen{text: "198.51.100.77"}
		l.store.AddHook(s)
		var sent, answered, printed int
		l.way.mu.Lock()
		l.way.posting = func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			sent, answered, printed = s.sent, s.answered, bytes.Count(l.lines.Bytes(), []byte(s.text))
		}
		l.way.mu.Unlock()
		q.add(q.now, "sqli", "x:1")
		for last := netip.MustParseAddr(s.text); len(q.attacks[0].Sources) <= 10; last = last.Prev() { // more than evidence has
			q.attacks[0].Sources = slices.Insert(q.attacks[0].Sources, 0, apiclient.Source{IP: last})
		}
		q.polled(t, p, time.Second)
		synctest.Wait()
		require.Equal(t, 1, l.way.saidOf("high attack"))
		require.Equal(t, []int{1, 1, 0}, []int{sent, printed, answered})
	})
}
