package bot

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// slashed is a line that a person of T1 types.
func slashed(user, place string, line record.Line) request {
	return request{Invocation: call.Invocation{Line: line, Account: place, Actor: record.Actor{ID: user, Team: "T1"}}}
}

func accountsNamed(names ...string) (all []notify.Account) {
	for _, name := range names {
		all = append(all, notify.Account{Account: &config.Account{Name: name}})
	}
	return all
}

// One person's lines on one account share a lane, whichever way they name it; lines on another account or of another
// person don't.
func TestLanes(t *testing.T) {
	t.Parallel()
	on := func(account string) record.Line { return record.Line{Name: "undo"}.With("account", account) }
	for _, c := range []struct {
		req       request
		one, many record.Lane
	}{
		{slashed("U1", "acme", on("")), record.Lane{Team: "T1", User: "U1"}, record.Lane{Account: "acme", Team: "T1", User: "U1"}},
		{slashed("U1", "", on("acme")), record.Lane{Team: "T1", User: "U1"}, record.Lane{Account: "acme", Team: "T1", User: "U1"}},
		{slashed("U1", "acme", on("globex")), record.Lane{Team: "T1", User: "U1"}, record.Lane{Account: "globex", Team: "T1", User: "U1"}},
		{slashed("U2", "acme", on("")), record.Lane{Team: "T1", User: "U2"}, record.Lane{Account: "acme", Team: "T1", User: "U2"}},
		{slashed("U1", "", on("")), record.Lane{Team: "T1", User: "U1"}, record.Lane{Team: "T1", User: "U1"}},
		{slashed("U1", "acme", on("none-of-them")), record.Lane{Team: "T1", User: "U1"}, record.Lane{Team: "T1", User: "U1"}},
	} {
		for want, accounts := range map[string][]notify.Account{"one": accountsNamed("acme"), "many": accountsNamed("acme", "globex")} {
			lane := map[string]record.Lane{"one": c.one, "many": c.many}[want]
			inbox := &accepted{}
			b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Inbox: inbox, Runner: changer{}, Accounts: accounts})
			require.Nil(t, b.store(t.Context(), c.req))
			require.Equal(t, []record.Lane{lane}, inbox.lanes, "%s of %s accounts", c.req.Invocation.Line, want)
		}
	}
}

func TestAPersonWithTooManyLinesIsToldSo(t *testing.T) {
	t.Parallel()
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Inbox: &accepted{waiting: 64}, Runner: changer{}})
	failed := b.store(t.Context(), slashed("U1", "", record.Line{Name: "undo"}))
	require.NotNil(t, failed)
	require.Contains(t, failed.Text, "Not done: 64 of your lines wait already")
}

// refuser surely refuses every line.
type refuser struct{ changer }

func (refuser) Refuses(context.Context, call.Invocation) bool { return true }

// firsts counts the deliveries that came.
type firsts struct {
	accepted

	came chan []string
}

func (f *firsts) First(_ context.Context, _ string, names ...string) (bool, error) {
	f.came <- names
	return false, nil
}

// A long line that is surely refused takes no room: its delivery alone is stored.
func TestWhatIsRefusedAnywayIsNotStored(t *testing.T) {
	t.Parallel()
	inbox := &firsts{came: make(chan []string, 1)}
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Inbox: inbox, Runner: refuser{}})
	req := slashed("U1", "", record.Line{Name: "deny", Keys: map[string]string{"reason": strings.Repeat("B", 35_000)}})
	req.names = []string{"d1"}
	require.Nil(t, b.store(t.Context(), req))
	require.Equal(t, []string{"d1"}, <-inbox.came)
	b.Drain(t.Context())
	require.Empty(t, inbox.works)
}

// A fault is logged with its line, cut: anybody can make a line long.
func TestALongLineIsLoggedCut(t *testing.T) {
	t.Parallel()
	log, store := &lines{}, newLinkStore()
	client := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: &heard{texts: map[string][]string{}}}})
	b := alone(Config{Slack: client, Secret: signingSecret, Inbox: store, Runner: noRunner{}, Log: slog.New(slog.NewTextHandler(log, nil))})
	require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{"text": {"attack " + strings.Repeat("B", 35_000)}, "user_id": {"U0ROB"}, "response_url": {"https://hooks.slack.com/rob"}}))
	b.Drain(t.Context())
	logged := log.of("carry out request")
	require.Len(t, logged, 1)
	require.Less(t, len(logged[0]), 2*maxLogged)
}

// silent doesn't answer, as a runner whose lines are refused too often.
type silent struct{ noRunner }

func (silent) Do(context.Context, call.Invocation) (call.Result, error) {
	return call.Result{}, fmt.Errorf("%w: %w", refusal.Denied("no"), refusal.ErrUnanswered)
}

// What is refused to somebody who was told that it gets no answer sends Slack nothing: neither a read, nor what was
// stored.
func TestWhatIsUnansweredSendsNothing(t *testing.T) {
	t.Parallel()
	slackEnd, store := &heard{texts: map[string][]string{}}, newLinkStore()
	one := &inbox{request: request{ResponseURL: "https://hooks.slack.com/rob"}}
	client := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: slackEnd}})
	reads := alone(Config{Slack: client, Secret: signingSecret, Inbox: store, Runner: silent{}})
	require.Equal(t, http.StatusOK, sendForm(t, reads, "/slack/commands", url.Values{"text": {"status"}, "user_id": {"U0ROB"}, "response_url": {"https://hooks.slack.com/rob"}}))
	reads.Drain(t.Context())
	works := alone(Config{Slack: client, Inbox: one, Runner: silent{}})
	require.NoError(t, works.Work(t.Context(), t.Context()))
	require.Contains(t, one.heard(), "done")
	require.Empty(t, slackEnd.at("/rob"))
}

// knowing lets Rob read, whom alone it knows, and no verb.
type knowing struct{ noRunner }

func (knowing) May(_ context.Context, inv call.Invocation) error {
	if inv.Actor.ID == "U0ROB" && inv.Line.Name == "help" {
		return nil
	}
	return refusal.Denied("no role")
}

func (knowing) Do(context.Context, call.Invocation) (call.Result, error) {
	return call.Result{}, &refusal.Refusal{Kind: refusal.ErrUnknown, Text: text.New("no command")}
}

// What is no line is answered to who may read how lines are written. To a stranger help is refused, as any line is.
func TestWhatIsNoLineOfAStranger(t *testing.T) {
	t.Parallel()
	slackEnd, store := &heard{texts: map[string][]string{}}, newLinkStore()
	client := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: slackEnd}})
	b := alone(Config{Slack: client, Secret: signingSecret, Inbox: store, Runner: knowing{}})
	for line, why := range map[string]string{"dney 203.0.113.7": "no command", `note "never closed`: "closed"} {
		for user, says := range map[string]string{"U0ROB": why, "U0EVE": "no role"} {
			path := "/" + user + strconv.Itoa(len(line))
			require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{"text": {line}, "user_id": {user}, "response_url": {"https://hooks.slack.com" + path}}))
			b.Drain(t.Context())
			require.Len(t, slackEnd.at(path), 1)
			require.Contains(t, slackEnd.at(path)[0], says, line)
		}
	}
}

// What panics while it is answered, be it in a Home tab, holds up nothing else.
func TestAPanicOfAnAnswerIsCaught(t *testing.T) {
	t.Parallel()
	b := alone(Config{}) // without a client of Slack
	for _, home := range []bool{false, true} {
		before := delay.Panics()
		req := slashed("U1", "acme", record.Line{Name: "status"})
		req.Channel, req.Home = "C1", home
		b.answerLater(req, say("done"))
		b.Drain(t.Context())
		require.Greater(t, delay.Panics(), before)
	}
	require.Empty(t, b.homes)
}
