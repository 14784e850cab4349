package store_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
)

// slackWay is the way to an emulated workspace in the same process, on which posts and edits are noted.
type slackWay struct {
	to http.Handler

	mu      sync.Mutex
	all     []time.Time            // of edits
	edits   map[string][]time.Time // by ts
	posts   []string               // what they say
	refuses string                 // the ts of a card of which no edit is taken, for an unknown reason
	refused int
	posting func() // is told before a post is taken; nil: nothing is
}

// RoundTrip implements http.RoundTripper.
func (w *slackWay) RoundTrip(req *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	refuses, posting := w.refuses, w.posting
	w.mu.Unlock()
	if posting != nil && strings.HasSuffix(req.URL.Path, "/chat.postMessage") {
		posting()
	}
	if refuses != "" && form.Get("ts") == refuses {
		_, err := answer.WriteString(`{"ok": false, "error": "unheard_of"}`)
		return answer.Result(), err
	}
	w.to.ServeHTTP(answer, req)
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer.Code != http.StatusOK {
		w.refused++
	}
	if strings.HasSuffix(req.URL.Path, "/chat.postMessage") {
		w.posts = append(w.posts, form.Get("text")+form.Get("blocks"))
	}
	if strings.HasSuffix(req.URL.Path, "/chat.update") {
		now := time.Now()
		w.all = append(w.all, now)
		w.edits[form.Get("ts")] = append(w.edits[form.Get("ts")], now)
	}
	return answer.Result(), nil
}

// next is when a card was edited for the first time after that.
func (w *slackWay) next(ts string, after time.Time) (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.edits[ts] {
		if !at.Before(after) {
			return at, true
		}
	}
	return time.Time{}, false
}

// live is an account with many live cards, in a bubble of its own time.
type live struct {
	t        *testing.T
	account  string
	store    *store.Store
	held     map[string]context.Context // as long as the accounts are owned
	notifier *notify.Notifier
	slack    *workspace.Workspace
	way      *slackWay
	polls    int
	found    int // attacks
}

// editsPerMinute is the pace of edits.
const editsPerMinute = 40

// onLiveCards plays with a bot and its cards on an emulated clock.
func onLiveCards(t *testing.T, play func(t *testing.T, l *live)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { play(t, newLive(t, 1)) })
}

func newLive(t *testing.T, messagesPerSecond float64) *live {
	t.Helper()
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true)
	t.Cleanup(mini.Close)
	wire := dialledWire(mini.Dial)
	t.Cleanup(wire.Close)
	l := &live{t: t, store: store.OpenDialling(store.Config{}, wire.Dial), held: map[string]context.Context{}}
	t.Cleanup(func() { require.NoError(t, l.store.Close()) })
	var err error
	l.slack, err = workspace.New(workspace.Config{
		BaseURL: "http://slack.test", RateLimits: true, Channels: []workspace.Channel{{ID: "C1", Name: "waf", BotIsMember: true}},
	})
	require.NoError(t, err)
	t.Cleanup(l.slack.Close)
	l.way = &slackWay{to: l.slack, edits: map[string][]time.Time{}}
	begin(t, l.store, "acme", "umbrella")
	w := newWatch(t, "acme", "umbrella")
	w.start("it", l.store, nil)
	for range 2 {
		h := await(t, w.begun)
		l.held[h.account] = h.held
	}
	l.own("acme", messagesPerSecond)
	return l
}

// beside is the other account, with live cards in the same workspace.
func (l *live) beside() *live {
	other := &live{t: l.t, store: l.store, held: l.held, slack: l.slack, way: l.way}
	other.own("umbrella", 1)
	return other
}

// own has the account's events notified and its cards redrawn.
func (l *live) own(account string, messagesPerSecond float64) {
	l.account = account
	l.notifier = notify.New(notify.Config{
		Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-sandbox", APIURL: "http://slack.test/api/",
			HTTP: &http.Client{Transport: l.way}}),
		Store:             l.store,
		Accounts:          []notify.Account{{Account: &config.Account{Name: account, Channel: "C1"}}},
		MessagesPerSecond: messagesPerSecond, Log: slog.New(slog.NewTextHandler(l.t.Output(), nil)),
		Metrics: metrics.New(), Lines: io.Discard, Clocks: clock.New(),
	})
	var owners sync.WaitGroup
	ctx, stop := context.WithCancel(l.t.Context())
	l.t.Cleanup(func() { stop(); owners.Wait() })
	owners.Go(func() { l.notifier.Own(l.held[account], ctx, account, notify.Unread{}) })
}

// poll has every attack be hit again; those that there were fewer of before are found.
func (l *live) poll(attacks int) {
	l.polls++
	u := record.PollUpdate{LastGood: time.Now(), Attacks: map[string]record.AttackState{}}
	for i := range attacks {
		one := apiclient.Attack{
			ID: fmt.Sprint("x:", i), Type: "sqli", Method: "GET", Domain: "shop.example.com", Path: fmt.Sprint("/", i),
			First: noon, Last: time.Now(), Hits: apiclient.Known(int64(100 * l.polls)),
		}
		if i%5 == 0 {
			one.VulnID = "812"
		}
		n := record.Event{
			ID: fmt.Sprint("grew ", i, l.polls), Account: l.account, Kind: record.Grew, Channel: "C1", At: time.Now(), Subject: one.ID, Order: l.polls, Detail: record.AttackFacts{},
		}
		if i >= l.found {
			n.ID, n.Kind = record.CardDelivery(l.account, one.ID), record.NewAttack
		}
		u.Attacks[one.ID] = record.AttackState{Attack: one, ObservedAt: time.Now(), Revision: l.polls, Notified: true, Channel: "C1"}
		u.Events = append(u.Events, n)
	}
	l.found = max(l.found, attacks)
	require.NoError(l.t, l.store.Attacks.Save(l.t.Context(), l.account, u))
	l.notifier.Saved(l.account, u)
}

// claim is what is saved when a user clicks.
func (l *live) claim(attack string) {
	_, d, err := l.store.Ledger.Begin(l.t.Context(), l.account, "", false)
	require.NoError(l.t, err)
	require.NoError(l.t, saved(d.Save(l.t.Context(), record.Saves{Triage: map[string]record.Triage{attack: spoken()}})))
	l.notifier.Redraw(l.account)
}

func (l *live) card(attack string) (ts string) {
	at, err := l.store.Cards.Card(l.t.Context(), l.account, attack)
	require.NoError(l.t, err)
	require.NotEmpty(l.t, at.TS, attack)
	return at.TS
}

func (w *slackWay) refuse(ts string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuses = ts
}

func (w *slackWay) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.posts)
}

// refusals is how many requests Slack refused.
func (w *slackWay) refusals() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused
}

func (w *slackWay) edited() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// requirePace holds that in no minute there were more edits than that.
func (w *slackWay) requirePace(t *testing.T, perMinute int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, at := range w.all {
		if i >= perMinute {
			require.GreaterOrEqual(t, at.Sub(w.all[i-perMinute]), time.Minute)
		}
	}
}

// gap is how long a card stayed the same at most, from then until now.
func (w *slackWay) gap(ts string, from time.Time) (longest time.Duration) {
	for {
		at, ok := w.next(ts, from.Add(1))
		if !ok {
			return max(longest, time.Since(from))
		}
		longest = max(longest, at.Sub(from))
		from = at
	}
}
