package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// crowd hands over a line of each of many people, and then one of another account.
type crowd struct {
	Inbox
	people int

	mu   sync.Mutex
	done map[string]int // by account
}

func (c *crowd) Work(ctx context.Context, handle func(Piece)) error {
	for i := range c.people {
		handle(crowdPiece{c, "acme", fmt.Sprintf("U%d", i)})
	}
	handle(crowdPiece{c, "globex", "U0ANN"})
	<-ctx.Done()
	return nil
}

func (c *crowd) doneOf(account string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done[account]
}

type crowdPiece struct {
	*crowd
	account, user string
}

func (p crowdPiece) Work() []byte {
	work, _ := json.Marshal(request{ResponseURL: "https://hooks.slack.com/response/" + p.account, Invocation: call.Invocation{
		ID: p.user, At: time.Now(), Actor: record.Actor{ID: p.user}, Line: record.Line{Name: "deny"}.With("account", p.account),
	}})
	return work
}

func (p crowdPiece) Mine(context.Context) bool  { return true }
func (p crowdPiece) Pass(context.Context) error { return nil }
func (p crowdPiece) Done(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[p.account]++
	return nil
}

// oneHangs is a runner on which acme's lines take a minute.
type oneHangs struct {
	noRunner

	mu         sync.Mutex
	busy, most int
}

func (*oneHangs) Changes(record.Line) bool { return true }

func (r *oneHangs) count(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy += n
	r.most = max(r.most, r.busy)
}

func (r *oneHangs) counted() (busy, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy, r.most
}

func (r *oneHangs) Do(_ context.Context, inv call.Invocation) (call.Result, error) {
	if inv.Line.Keys["account"] == "acme" {
		r.count(1)
		defer r.count(-1)
		time.Sleep(time.Minute)
	}
	return call.Result{Outcome: "done", Lines: text.Lines{text.New("done")}}, nil
}

// onlyReads is the same for lines that change nothing.
type onlyReads struct{ *oneHangs }

func (onlyReads) Changes(record.Line) bool { return false }

// refusing takes no answer at response URLs of one path.
type refusing struct {
	path string
	heard
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasPrefix(req.URL.Path, r.path) {
		_, _ = io.Copy(io.Discard, req.Body)
		return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody, Request: req}, nil
	}
	return r.heard.RoundTrip(req)
}

func takesAllBut(path string) *refusing {
	return &refusing{path: path, heard: heard{texts: map[string][]string{}}}
}

// However many people click on an account whose service hangs, and however many answers Slack doesn't take: another account's line is carried out at once.
func TestAnAccountThatHangsHasItsShareOfTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const people = 420
		inbox, runner := &crowd{people: people, done: map[string]int{}}, &oneHangs{}
		b := alone(Config{
			Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: takesAllBut("/response/acme")}}), Inbox: inbox, Runner: runner,
			Accounts: accountsNamed("acme", "globex"),
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Work(t.Context(), ctx) }()
		synctest.Wait()
		require.Equal(t, 1, inbox.doneOf("globex"))
		require.Zero(t, inbox.doneOf("acme"))
		time.Sleep(people/maxOfAccount*time.Minute + time.Minute + time.Second)
		busy, most := runner.counted()
		require.Zero(t, busy, "an answer that fails holds no turn: all are carried out")
		require.Equal(t, maxOfAccount, most)
		time.Sleep(answerFor + time.Minute)
		require.Equal(t, people, inbox.doneOf("acme"))
		stop()
		require.NoError(t, <-ended)
	})
}

// queue hands over a person's next line when the one before passes the turn.
type queue struct {
	Inbox
	lines chan int
}

func (q *queue) Work(ctx context.Context, handle func(Piece)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-q.lines:
			handle(&queuedLine{crowdPiece: crowdPiece{account: "acme", user: "U0ROB"}, next: sync.OnceFunc(func() { q.lines <- 0 })})
		}
	}
}

type queuedLine struct {
	crowdPiece
	next func()
}

func (l *queuedLine) Pass(context.Context) error { l.next(); return nil }
func (l *queuedLine) Done(context.Context) error { l.next(); return nil }

// beginsAndHangs is a runner that stores each change at once, and then waits for the service.
type beginsAndHangs struct{ *oneHangs }

func (r beginsAndHangs) Do(ctx context.Context, inv call.Invocation) (call.Result, error) {
	inv.Begun()
	return r.oneHangs.Do(ctx, inv)
}

// Lines whose change is stored let the same person's next one begin, up to a limit: else one person would hold an account's whole share.
func TestAPersonHoldsSomeTurnsAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inbox, runner := &queue{lines: make(chan int, 1)}, beginsAndHangs{&oneHangs{}}
		inbox.lines <- 0
		b := alone(Config{
			Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: takesAllBut("/none")}}), Inbox: inbox, Runner: runner,
			Accounts: accountsNamed("acme", "globex"),
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Work(t.Context(), ctx) }()
		time.Sleep(30 * time.Second)
		busy, _ := runner.counted()
		require.Equal(t, maxOfPerson, busy)
		time.Sleep(10 * time.Minute)
		_, most := runner.counted()
		require.Equal(t, maxOfPerson, most)
		stop()
		require.NoError(t, <-ended)
	})
}

// An answer that Slack doesn't take is tried for long, and holds no one's turn to be answered.
func TestAnswersThatFailHoldNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slackEnd, store := takesAllBut("/ill/"), newLinkStore()
		b := alone(Config{
			Slack:  slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: slackEnd}}),
			Secret: signingSecret, Inbox: store, Runner: onlyReads{&oneHangs{}},
		})
		ask := func(address string, n int) {
			require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{
				"command": {"/waf"}, "text": {"status"}, "user_id": {"U0ROB"}, "team_id": {"T0OURS"}, "api_app_id": {"A0OURS"}, "response_url": {fmt.Sprintf("https://hooks.slack.com/%s/%d", address, n)},
				"trigger_id": {fmt.Sprint(address, n)},
			}))
		}
		for i := range 2 * maxReads {
			ask("ill", i)
		}
		ask("well", 0)
		synctest.Wait()
		require.Len(t, slackEnd.at("/well/0"), 1)
		b.Drain(t.Context())
	})
}
