package bot

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

// inbox hands one request over, and is told what becomes of it.
type inbox struct {
	Inbox
	request request
	lost    atomic.Bool // to another replica

	mu   sync.Mutex
	told []string // pass, done
}

func (i *inbox) tell(what string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.told = append(i.told, what)
	return nil
}

// heard is what it was told until now.
func (i *inbox) heard() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.told)
}

func (i *inbox) Work(_ context.Context, handle func(Piece)) error {
	handle(piece{i})
	return nil
}

type piece struct{ *inbox }

func (p piece) Work() []byte {
	work, _ := json.Marshal(p.request)
	return work
}

func (p piece) Mine(context.Context) bool  { return !p.lost.Load() }
func (p piece) Pass(context.Context) error { return p.tell("pass") }
func (p piece) Done(context.Context) error { return p.tell("done") }

// awayFor is a runner whose store is unreachable at first.
type awayFor struct {
	noRunner

	tries int
	away  error
}

func (*awayFor) Changes(record.Line) bool { return true }

func (a *awayFor) Do(context.Context, call.Invocation) (call.Result, error) {
	if a.tries--; a.tries >= 0 {
		return call.Result{}, refusal.Away(a.away)
	}
	return call.Result{Outcome: "done", Lines: text.Lines{text.New("Deny 203.0.113.7: accepted by the service")}}, nil
}

// answered keeps the texts of answers, which Slack takes after some time.
type answered struct {
	after time.Duration
	texts []string
}

// RoundTrip implements http.RoundTripper.
func (a *answered) RoundTrip(r *http.Request) (*http.Response, error) {
	var message struct{ Text string }
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		return nil, err
	}
	time.Sleep(a.after)
	a.texts = append(a.texts, message.Text)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("ok"))}, nil
}

// A replica that takes over a dead one's request doesn't know whether it was done. It must not answer "not done"
// because Redis is unreachable.
func TestRequestTakenOverIsNotCalledUndone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		waited time.Duration
		tries  int
		away   error
		want   string
	}{
		{"just accepted", 100 * time.Millisecond, 1, context.DeadlineExceeded, "not done: wafbot's store (Redis) can't be reached"},
		{"taken over", 4 * time.Second, 1, context.DeadlineExceeded, "Deny 203.0.113.7: accepted by the service"},
		{"taken over, away for long", 4 * time.Second, 60, context.DeadlineExceeded, "Deny 203.0.113.7: accepted by the service"},
		{"waited, and Redis was emptied", 4 * time.Second, 1, store.ErrEmptied, "not done: wafbot's store (Redis) is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers := &answered{}
				waits := &inbox{request: request{ResponseURL: "https://hooks.slack.com/response", Invocation: call.Invocation{ID: "d", At: time.Now().Add(-c.waited)}}}
				b := alone(Config{
					Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: answers}}),
					Inbox: waits, Runner: &awayFor{tries: c.tries, away: c.away},
				})
				require.NoError(t, b.Work(t.Context(), t.Context()))
				require.Equal(t, []string{"done"}, waits.heard())
				if c.tries > 3 {
					require.Len(t, answers.texts, 2)
					require.Contains(t, answers.texts[0], "*Still trying*")
					answers.texts = answers.texts[1:]
				}
				require.Len(t, answers.texts, 1)
				require.Contains(t, answers.texts[0], c.want)
			})
		})
	}
}

// slowService is a runner whose service answers late; what is begun shows on the card.
type slowService struct {
	noRunner

	begins bool
	answer time.Duration
}

func (*slowService) Changes(record.Line) bool { return true }

func (s *slowService) Do(_ context.Context, inv call.Invocation) (call.Result, error) {
	if s.begins {
		inv.Begun()
	}
	time.Sleep(s.answer)
	return call.Result{Outcome: "done", Lines: text.Lines{text.New("Deny 203.0.113.7: accepted by the service")}}, nil
}

// Who presses a button hears within three seconds that wafbot is still trying: once, and never after the outcome.
func TestWhoWaitsIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		attack string
		begins bool
		answer time.Duration
		told   bool
	}{
		{"the service is away", "ak7q2m9xw", false, 37 * time.Second, true},
		{"it answers in time", "ak7q2m9xw", false, 2900 * time.Millisecond, false},
		{"the card shows it", "ak7q2m9xw", true, 37 * time.Second, false},
		{"there is no card", "", true, 37 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers := &answered{}
				line := record.Line{Name: "deny", Words: []string{"203.0.113.7"}, Keys: map[string]string{}}
				if c.attack != "" {
					line.Keys["attack"] = c.attack
				}
				waits := &inbox{request: request{
					ResponseURL: "https://hooks.slack.com/response", Invocation: call.Invocation{ID: "d", At: time.Now(), Line: line},
				}}
				b := alone(Config{
					Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: answers}}),
					Inbox: waits, Runner: &slowService{begins: c.begins, answer: c.answer},
				})
				require.NoError(t, b.Work(t.Context(), t.Context()))
				if c.told {
					require.Contains(t, answers.texts[0], "*Still trying*: `deny 203.0.113.7")
					answers.texts = answers.texts[1:]
				}
				require.Equal(t, []string{"Deny 203.0.113.7: accepted by the service"}, answers.texts)
			})
		})
	}
}

// takes is a runner that stores what it changes at once, and carries it out after some time.
type takes struct {
	noRunner

	plan, carryOut time.Duration
	meanwhile      func()
}

func (takes) Changes(record.Line) bool { return true }

func (r takes) Do(_ context.Context, inv call.Invocation) (call.Result, error) {
	time.Sleep(r.plan)
	inv.Begun()
	time.Sleep(r.carryOut)
	r.meanwhile()
	return call.Result{Outcome: "done", Lines: text.Lines{text.New("done")}}, nil
}

// The next line of the same person waits until what this one changes is stored; not for the service, and not for Slack.
func TestATurnIsPassedWhenTheLineIsStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                   string
		plan, carryOut, answer time.Duration
		carriedOut             []string // what the inbox is told by then
		told                   []string
	}{
		{name: "a quick click costs no round trip", plan: time.Second, carryOut: 20 * time.Millisecond, answer: 20 * time.Millisecond, told: []string{"done"}},
		{name: "the service is slow", carryOut: time.Minute, carriedOut: []string{"pass"}, told: []string{"pass", "done"}},
		{name: "Slack is slow", answer: time.Second, told: []string{"pass", "done"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				one := &inbox{request: request{ResponseURL: "https://hooks.slack.com/response", Invocation: call.Invocation{ID: "d", At: time.Now()}}}
				runner := takes{plan: c.plan, carryOut: c.carryOut, meanwhile: func() { require.Equal(t, c.carriedOut, one.heard()) }}
				b := alone(Config{
					Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: &answered{after: c.answer}}}),
					Inbox: one, Runner: runner,
				})
				require.NoError(t, b.Work(t.Context(), t.Context()))
				require.Equal(t, c.told, one.heard())
			})
		})
	}
}

// A replica that lost a line in the meantime neither answers it nor ends it: that is another one's now.
func TestALineThatAnotherReplicaHasIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, answers := &inbox{request: request{ResponseURL: "https://hooks.slack.com/response", Invocation: call.Invocation{ID: "d", At: time.Now()}}}, &answered{}
		runner := takes{plan: time.Minute, meanwhile: func() { one.lost.Store(true) }}
		b := alone(Config{
			Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: answers}}), Inbox: one, Runner: runner,
		})
		require.NoError(t, b.Work(t.Context(), t.Context()))
		require.Empty(t, one.heard())
		require.Len(t, answers.texts, 1, "no outcome: %s", answers.texts)
		require.Contains(t, answers.texts[0], "*Still trying*", "when it was still its own")
	})
}
