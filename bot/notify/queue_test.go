package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
)

// choosy is a Slack that refuses some messages. It answers without a network, so that a bubble's time passes.
type choosy struct {
	mu      sync.Mutex
	refuses func(channel, text string) (fault string) // "": it takes the message
	took    []string                                  // channel and how long after the start
	edits   []string                                  // the blocks of each edit
	shows   []inHistory                               // what histories hold
	reads   int                                       // of the history
	tries   int
	began   time.Time
	last    time.Duration // when it took the last message, after the start
	lasts   time.Duration // how long a post takes
	lags    time.Duration // the history, behind what was posted
}

// Faults of a choosy Slack beside the names of its errors.
const (
	fails   = "500"
	cuts    = "cut"       // no answer comes
	takes   = "taken cut" // nor here, and the message is posted
	hangs   = "hangs"     // likewise, and the connection stays
	posts   = "posts 500" // the message is posted all the same
	strange = "html"
	away    = "away" // no connection is made
	limits  = "429"  // for half an hour, as it says
)

// RoundTrip implements http.RoundTripper.
func (s *choosy) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.URL.Path, slackconn.MethodPost) {
		time.Sleep(s.lasts)
	}
	res, err := s.answer(r, form)
	if errors.Is(err, errHangs) {
		<-r.Context().Done()
		err = r.Context().Err()
	}
	return res, err
}

var errHangs = errors.New("no answer comes")

func (s *choosy) answer(r *http.Request, form url.Values) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, status := `{"ok":true,"team_id":"T0","user_id":"U0BOT","bot_id":"B0OURS","messages":[`+s.history(form)+`],"channel":"C1","ts":"1.1"}`, http.StatusOK
	header := http.Header{}
	if strings.HasSuffix(r.URL.Path, "conversations.history") {
		s.reads++
	}
	if strings.HasSuffix(r.URL.Path, slackconn.MethodUpdate) {
		s.edits = append(s.edits, form.Get("blocks"))
	}
	if strings.HasSuffix(r.URL.Path, slackconn.MethodPost) {
		s.tries++
		fault := s.refuses(form.Get("channel"), form.Get("text"))
		if fault == "" || fault == takes || fault == hangs || fault == posts {
			s.last = time.Since(s.began)
			to := strings.TrimSuffix(form.Get("channel")+"/"+form.Get("thread_ts"), "/")
			s.took = append(s.took, fmt.Sprint(to, " ", form.Get("text"), " ", time.Since(s.began).Truncate(time.Second)))
			s.show(inHistory{form.Get("channel"), time.Now(), fmt.Sprintf(`{"ts":"1.%d","bot_id":"B0OURS","metadata":%s}`, s.tries, form.Get("metadata"))})
		}
		switch fault {
		case "":
		case hangs:
			return nil, errHangs
		case cuts, takes:
			return nil, io.ErrUnexpectedEOF
		case away:
			return nil, &net.OpError{Op: "dial", Err: io.EOF}
		case fails, posts:
			status = http.StatusInternalServerError
		case strange:
			answer = "<html>"
		case limits:
			status, header = http.StatusTooManyRequests, http.Header{"Retry-After": {"1800"}}
		default:
			answer = fmt.Sprintf(`{"ok":false,"error":%q}`, fault)
		}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// inHistory is a message that a channel's history holds, as JSON.
type inHistory struct {
	channel string
	at      time.Time
	message string
}

// history is what a channel's history holds of the time that is asked for. The caller holds mu.
func (s *choosy) history(form url.Values) string {
	var all []string
	for _, m := range s.shows {
		if m.channel == form.Get("channel") && fmt.Sprintf("%d.000000", m.at.Unix()) >= form.Get("oldest") {
			all = append(all, m.message)
		}
	}
	return strings.Join(all, ",")
}

// show puts a message into the history. The caller holds mu.
func (s *choosy) show(message inHistory) {
	if s.lags == 0 {
		s.shows = append(s.shows, message)
		return
	}
	time.AfterFunc(s.lags, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shows = append(s.shows, message)
	})
}

// made is a Notifier for whose log, lines and figures nobody cares.
func made(cfg Config) *Notifier {
	cfg.Log, cfg.Metrics = slog.New(slog.DiscardHandler), metrics.New()
	cfg.Lines, cfg.Clocks = cmp.Or(cfg.Lines, io.Discard), cmp.Or(cfg.Clocks, clock.New())
	return New(cfg)
}

// owning plays with a Notifier that owns acme, whose channel is C1.
func owning(t *testing.T, refuses func(channel, text string) string, play func(n *Notifier, s *choosy)) {
	t.Helper()
	owningWith(t, refuses, func(*Config, *box) {}, play)
}

// owningWith is owning with what is configured in the bubble.
func owningWith(t *testing.T, refuses func(channel, text string) string, configure func(*Config, *box),
	play func(n *Notifier, s *choosy)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &choosy{refuses: refuses, began: time.Now()}
		cfg := Config{
			Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: s}}),
			Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1"}}},
		}
		b := newBox(t)
		cfg.Store = b.Store
		configure(&cfg, b)
		n := made(cfg)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); n.Own(ctx, ctx, "acme", Unread{}) }()
		synctest.Wait()
		time.Sleep(slackconn.Timeout) // what another replica sent has arrived
		s.began = time.Now()
		play(n, s)
		stop()
		<-ended
	})
}

// emits has an event notified that posts a line.
func emits(n *Notifier, channel, name string) {
	n.Notify("acme", []record.Event{{ID: name, Account: "acme", Channel: channel, Kind: record.PagerUnreachable, At: time.Now(), Detail: record.PagerFault{Why: name, Route: "r"}}})
}

// waiting is how many events of the account wait.
func waiting(n *Notifier) int {
	events, _ := n.Backlog("acme")
	return events.Waiting
}

// all is what Slack took: where, what, and how long after the start.
func (s *choosy) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, one := range s.took {
		one = strings.ReplaceAll(one, "The pager of acme can't be called, no page is sent: ", "")
		all = append(all, strings.ReplaceAll(one, " (route r)", ""))
	}
	return all
}

// picks takes an event that waits in C1; nil: there is none.
func picks(q *queue) *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unpark(time.Now())
	w := q.next(q.lanes["C1"])
	if w != nil {
		q.take(q.lanes["C1"], w)
	}
	return w
}

// Incidents are first, each a second after the one before; a storm's card that waited long enough goes ahead of those
// that are left.
func TestAStormWaitsForIncidentsNotForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waiting := newQueue(made(Config{}), Account{Account: &config.Account{Name: "acme"}})
		events := []record.Event{{ID: "storm", Channel: "C1", Kind: record.NewAttack, Subject: apiclient.OwnID + "C1"}, {ID: "attack", Channel: "C1", Kind: record.NewAttack}}
		for i := range 4 {
			events = append(events, record.Event{ID: fmt.Sprint("incident ", i), Channel: "C1", Kind: record.NewIncident})
		}
		waiting.add(events)
		var order []string
		for w := picks(waiting); w != nil; w = picks(waiting) {
			order = append(order, w.ID)
			after(time.Second)
		}
		require.Equal(t, []string{"incident 0", "incident 1", "storm", "incident 2", "incident 3", "attack"}, order)
	})
}

// An attack's card waits for its slot when it becomes known that the attack is an incident: that goes first, unless the
// card may be posted already.
func TestAnIncidentGoesAheadOfItsAttacksCard(t *testing.T) {
	t.Parallel()
	about := func(id string, kind record.EventKind) record.Event {
		return record.Event{ID: id, Account: "acme", Channel: "C1", Kind: kind, Subject: "x:1"}
	}
	q := newQueue(made(Config{MessagesPerSecond: 1, Slack: slackconn.Connect(slackconn.Config{})}),
		Account{Account: &config.Account{Name: "acme"}})
	q.add([]record.Event{about("card", record.NewAttack)})
	asks := func(l *lane) func(context.Context) {
		q.mu.Lock()
		defer q.mu.Unlock()
		work, _ := q.begin("C1", l)
		return work
	}
	l := q.lanes["C1"]
	require.NotNil(t, asks(l), "for the right to post the card")
	require.False(t, l.urgent)
	require.Nil(t, asks(l), "until that is answered")
	l.running, l.asks = 0, time.Now().Add(time.Minute)
	require.Nil(t, asks(l), "it waits")
	q.add([]record.Event{about("incident", record.BecameIncident)})
	require.NotNil(t, asks(l), "the incident asks at once")
	require.True(t, l.urgent)
	w := picks(q)
	require.Equal(t, "incident", w.ID)
	require.Nil(t, picks(q), "the card waits for it")
	q.ended(w, time.Now(), errStopping)
	w = picks(q)
	require.Equal(t, "incident", w.ID)
	q.ended(w, time.Now(), nil)
	card := picks(q)
	require.Equal(t, "card", card.ID)
	q.ended(card, time.Now(), &laterError{due: time.Now()})
	q.add([]record.Event{about("another", record.BecameIncident)})
	require.Equal(t, "card", picks(q).ID, "it may be posted already")
}

// A card in doubt is as urgent as the reply that waits for it. It yields to what goes first, and not to what it would
// be taken before again: that would go round for ever, and nothing more would be posted to the channel.
func TestACardInDoubtYieldsOnlyToWhatGoesFirst(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	event := func(id string, kind record.EventKind, attack string, at time.Time) record.Event {
		return record.Event{ID: id, Account: "acme", Channel: "C1", Kind: kind, Subject: attack, At: at}
	}
	q := newQueue(made(Config{}), Account{Account: &config.Account{Name: "acme"}})
	q.add([]record.Event{event("card", record.NewAttack, "x:1", at)})
	card := picks(q)
	q.ended(card, time.Now(), &laterError{due: time.Now()})
	reply, another := event("its reply", record.Worsened, "x:1", at.Add(time.Second)), event("another", record.Worsened, "x:2", at.Add(2*time.Second))
	q.add([]record.Event{reply, another})
	taken := picks(q)
	require.Equal(t, "card", taken.ID, "it is as urgent as its reply, and older than the other one")
	q.ended(taken, time.Now(), errStopping)
	q.add([]record.Event{event("incident", record.NewIncident, "x:3", at.Add(3*time.Second))})
	require.Equal(t, "incident", picks(q).ID)
	require.Equal(t, "card", picks(q).ID)
}

// One message that Slack never takes, for an unknown reason, doesn't hold up others.
func TestWhatSlackRefusesHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	refuses := func(_, text string) string {
		if strings.Contains(text, "odd") {
			return "a_fault_of_next_year"
		}
		return ""
	}
	owning(t, refuses, func(n *Notifier, s *choosy) {
		emits(n, "C1", "odd")
		time.Sleep(10 * time.Minute)
		emits(n, "C1", "first")
		time.Sleep(10 * time.Minute)
		emits(n, "C1", "second")
		time.Sleep(30 * time.Second)
		require.Equal(t, []string{"C1 first 10m0s", "C1 second 20m0s"}, s.all())
		require.Less(t, s.tries, 150, "nor is it tried all the time")
	})
}

func TestWhatIsUrgentIsTriedAtOnceThoughSlackWasAway(t *testing.T) {
	t.Parallel()
	isAway := true
	owning(t, func(string, string) string {
		if isAway {
			return away
		}
		return ""
	}, func(n *Notifier, s *choosy) {
		emits(n, "C1", "old")
		emits(n, "C1", "older")
		time.Sleep(5*time.Minute + 20*time.Second)
		s.mu.Lock()
		isAway = false
		s.mu.Unlock()
		require.Empty(t, s.all(), "it pauses")
		emits(n, "C1", "new")
		time.Sleep(time.Second)
		require.ElementsMatch(t, []string{"C1 new 5m20s", "C1 old 5m20s", "C1 older 5m20s"}, s.all())
	})
}

// Each is tried once where it can't be posted, and none waits for another.
func TestEventsForAClosedChannelMove(t *testing.T) {
	t.Parallel()
	owning(t, func(channel, _ string) string {
		if channel == "C9" {
			return "is_archived"
		}
		return ""
	}, func(n *Notifier, s *choosy) {
		for i := range 8 {
			emits(n, "C9", fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		var want []string
		for i := range 8 {
			want = append(want, fmt.Sprintf("C1 %d 0s", i))
		}
		require.ElementsMatch(t, want, s.all())
		require.Equal(t, 16, s.tries)
	})
}

func TestWhatWasNotifiedIsForgotten(t *testing.T) {
	t.Parallel()
	owning(t, func(string, string) string { return "" }, func(n *Notifier, _ *choosy) {
		for i := range 60 {
			emits(n, "C1", fmt.Sprint(i))
			after(time.Minute)
		}
		q := n.queue("acme")
		q.mu.Lock()
		defer q.mu.Unlock()
		require.Len(t, q.known, 3, "of the last two minutes")
		require.Empty(t, q.holders)
		require.Empty(t, n.tried.all)
	})
}
