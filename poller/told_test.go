package poller_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/poller"
)

// told is an account whose events go all the way from the service to Slack, in a bubble of its own time.
type told struct {
	*quiet
	*poller.Poller
	t       *testing.T
	slack   *workspace.Workspace
	lines   bytes.Buffer // what is printed
	posting func()       // is told before Slack takes a post
}

// RoundTrip is the way to Slack.
func (w *told) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/chat.postMessage") && w.posting != nil {
		w.posting()
	}
	answer := httptest.NewRecorder()
	w.slack.ServeHTTP(answer, req)
	return answer.Result(), nil
}

// dialling reaches Redis without a network, so that a bubble's time passes.
type dialling struct {
	*quiet
	wire *proxytest.Proxy
}

// DialHook implements redis.Hook.
func (d dialling) DialHook(redis.DialHook) redis.DialHook { return d.wire.Dial }

// tells plays with an account of which so many attacks are watched.
func tells(t *testing.T, limit int, play func(t *testing.T, w *told)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mini := miniredis.NewMiniRedis()
		mini.ClockTTL(true)
		t.Cleanup(mini.Close)
		wire := proxytest.New(mini.Dial)
		t.Cleanup(wire.Close)
		slack, err := workspace.New(workspace.Config{
			BaseURL: "http://slack.test", Channels: []workspace.Channel{{ID: "C1", Name: "waf", BotIsMember: true}},
		})
		require.NoError(t, err)
		t.Cleanup(slack.Close)
		w := &told{quiet: &quiet{store: openRedis(t, "redis://127.0.0.1:6379/0"), now: time.Now()}, t: t, slack: slack}
		w.store.AddHook(dialling{w.quiet, wire})
		account := config.Default[config.Account]()
		account.Name, account.Channel, account.Storm = "acme", "C1", config.Storm{Over: 2, In: time.Minute}
		account.Lookback, account.OngoingFor = time.Hour, 5*time.Minute
		n := notify.New(notify.Config{
			Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-sandbox", APIURL: "http://slack.test/api/",
				HTTP: &http.Client{Transport: w}}),
			Store: w.store, Accounts: []notify.Account{{Account: &account}}, Log: slog.New(slog.DiscardHandler),
			Metrics: metrics.New(), Lines: &w.lines, Clocks: clock.New(),
		})
		owns(t, w.store)
		ctx, stop := context.WithCancel(context.Background())
		var owner sync.WaitGroup
		t.Cleanup(func() { stop(); owner.Wait() })
		owner.Go(func() { n.Own(ctx, ctx, "acme", notify.Unread{}) })
		w.Poller = poller.New(poller.Config{
			Account: &account, API: w.quiet, Clock: w.quiet, Store: w.store.Attacks, Notifier: n, Preferences: w.quiet,
			Limits: poller.Limits{Attacks: limit, Bytes: 1 << 20, Time: time.Hour}, Log: slog.New(slog.DiscardHandler),
		})
		w.polled(time.Second)
		time.Sleep(10 * time.Second)
		require.Len(t, slack.Messages("#waf"), 1, "the first start")
		play(t, w)
	})
}

// polled polls when so much time has passed at the service.
func (w *told) polled(after time.Duration) {
	w.now = w.now.Add(after)
	require.NoError(w.t, w.Poll(w.t.Context()))
}

// stored are the attacks and storms that are.
func (w *told) stored() []string {
	all, err := w.store.Attacks.Load(w.t.Context(), "acme")
	require.NoError(w.t, err)
	return slices.Sorted(maps.Keys(all.Attacks))
}

// An event is drawn from what is stored of its attack. That stays as long as the event waits, though the attack left
// the lookback three times over, its storm ended, or there is no room for it. Then it goes.
func TestWhatIsStoredOfAnAttackStaysWhileSlackIsAway(t *testing.T) {
	tells(t, 8, func(t *testing.T, w *told) {
		w.slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "ratelimited", RetryAfter: 60})
		w.add(w.now, "sqli", "x:1")
		w.polled(time.Second)
		w.add(w.now, "rce", "y:1", "y:2", "y:3", "y:4")
		w.polled(2 * time.Minute)
		w.attacks = nil
		w.add(w.now, "xss", "z:1", "z:2", "z:3", "z:4", "z:5", "z:6", "z:7", "z:8")
		w.polled(time.Second)
		w.attacks = nil
		all := w.stored()
		kept := []string{all[slices.IndexFunc(all, record.IsStorm)], "x:1"}
		for range 4 {
			time.Sleep(70 * time.Second) // Slack is asked once more
			poller.Resweep(w.Poller)
			w.polled(time.Hour)
			require.Subset(t, w.stored(), kept)
		}
		w.slack.ClearFaults()
		time.Sleep(2 * time.Minute)
		waiting, err := w.store.Outbox.Waiting(t.Context(), "acme")
		require.NoError(t, err)
		require.Empty(t, waiting)
		for _, id := range kept {
			at, err := w.store.Cards.Card(t.Context(), "acme", record.AttackID("acme", id))
			require.NoError(t, err)
			require.Equal(t, "C1", at.Channel, id)
		}
		poller.Resweep(w.Poller)
		w.polled(time.Hour)
		require.Empty(t, w.stored())
	})
}

// carried counts how often a text is sent to Redis, and how often Redis answers with it.
type carried struct {
	text string

	mu             sync.Mutex
	sent, answered int
}

func (s *carried) note(cmds ...redis.Cmder) {
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
func (*carried) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts in a command.
func (s *carried) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer s.note(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts in several.
func (s *carried) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer s.note(cmds...)
		return next(ctx, cmds)
	}
}

// From the service's answer to Slack's post an attack is encoded twice, to be stored and for its line on standard
// output, and decoded from nothing but that answer. (Its evidence is a brief copy.)
func TestAnAttackIsEncodedTwiceUntilItIsPosted(t *testing.T) {
	tells(t, 1000, func(t *testing.T, w *told) {
		s := &carried{text: "198.51.100.77"}
		w.store.AddHook(s)
		var sent, answered, printed int
		w.posting = func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			sent, answered, printed = s.sent, s.answered, bytes.Count(w.lines.Bytes(), []byte(s.text))
		}
		w.add(w.now, "sqli", "x:1")
		for last := netip.MustParseAddr(s.text); len(w.attacks[0].Sources) <= 10; last = last.Prev() { // more than evidence has
			w.attacks[0].Sources = slices.Insert(w.attacks[0].Sources, 0, apiclient.Source{IP: last})
		}
		w.polled(time.Second)
		synctest.Wait()
		require.Len(t, w.slack.Messages("#waf"), 2)
		require.Equal(t, []int{1, 1, 0}, []int{sent, printed, answered})
	})
}
