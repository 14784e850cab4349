package bot

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// slackWaits is how long Slack waits for an acknowledgement.
const slackWaits = 3 * time.Second

// hangs is what doesn't answer: a method of Slack's, redis, or service. Each call waits until its context ends.
type hangs string

func (h hangs) wait(ctx context.Context, what string) error {
	if string(h) == what {
		<-ctx.Done()
	}
	return ctx.Err()
}

// hangingSlack is Slack's end.
type hangingSlack struct {
	heard
	hangs
}

func (s *hangingSlack) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := s.wait(r.Context(), strings.TrimPrefix(r.URL.Path, "/api/")); err != nil {
		return nil, err
	}
	return s.heard.RoundTrip(r)
}

// hangingRedis is the store: the inbox, cards, and versions of what is cached of people.
type hangingRedis struct {
	*linkStore
	hangs
}

func (r hangingRedis) Accept(ctx context.Context, _ []byte, _ record.Lane, _ ...string) (bool, int, error) {
	return true, 0, r.wait(ctx, "redis")
}
func (r hangingRedis) First(ctx context.Context, _ string, names ...string) (bool, error) {
	if err := r.wait(ctx, "redis"); err != nil {
		return false, err
	}
	return r.linkStore.First(ctx, "", names...)
}
func (r hangingRedis) AttackAt(ctx context.Context, _, _, _ string) (string, error) {
	return "", r.wait(ctx, "redis")
}
func (r hangingRedis) PeopleMark(ctx context.Context, _ string) (string, error) {
	return "", r.wait(ctx, "redis")
}
func (r hangingRedis) PeopleChanged(ctx context.Context, _ string) error { return r.wait(ctx, "redis") }

// hangingRunner asks who somebody is, then the store and the service, as the real one does.
type hangingRunner struct {
	noRunner
	hangs

	slack *slackconn.Client
}

func (r hangingRunner) ask(ctx context.Context, inv call.Invocation) error {
	_, _, _, _ = r.slack.Member(ctx, inv.Actor.Team, inv.Actor.ID)
	if err := r.wait(ctx, "redis"); err != nil {
		return err
	}
	return r.wait(ctx, "service")
}

func (hangingRunner) Changes(l record.Line) bool { return l.Name == "deny" }
func (r hangingRunner) Refuses(ctx context.Context, inv call.Invocation) bool {
	_ = r.ask(ctx, inv)
	return false
}
func (r hangingRunner) May(ctx context.Context, inv call.Invocation) error { return r.ask(ctx, inv) }
func (r hangingRunner) Do(ctx context.Context, inv call.Invocation) (call.Result, error) {
	return call.Result{}, r.ask(ctx, inv)
}
func (r hangingRunner) Form(ctx context.Context, inv call.Invocation) (call.Form, error) {
	return call.Form{}, r.ask(ctx, inv)
}

// delivered is what Slack sends, over HTTP and in an envelope.
type delivered struct {
	kind string // of the envelope
	path string
	body any // fields of a command, else JSON
}

func deliveries() map[string]delivered {
	command := func(text string) delivered {
		return delivered{"slash_commands", "/slack/commands", map[string]any{
			"command": "/waf", "text": text, "user_id": "U0ROB", "team_id": "T0OURS", "channel_id": "C0WAF", "trigger_id": text, "response_url": "https://hooks.slack.com/rob",
		}}
	}
	click := func(id, line string) delivered {
		return delivered{"interactive", "/slack/interactions", map[string]any{
			"type": "block_actions", "user": map[string]any{"id": "U0ROB", "team_id": "T0OURS"}, "trigger_id": id, "channel": map[string]any{"id": "C0WAF"},
			"container": map[string]any{"message_ts": "1.1"}, "response_url": "https://hooks.slack.com/rob", "actions": []any{map[string]any{"action_id": id, "value": line}},
		}}
	}
	event := func(e map[string]any) delivered {
		return delivered{"events_api", "/slack/events", map[string]any{"type": "event_callback", "event": e}}
	}
	submit := func(kind, meta string) delivered {
		return delivered{"interactive", "/slack/interactions", map[string]any{
			"type": "view_submission", "user": map[string]any{"id": "U0ROB", "team_id": "T0OURS"},
			"view": map[string]any{"id": "V1", "type": "modal", "callback_id": kind, "private_metadata": meta},
		}}
	}
	mention := wrote("U0ROB", "1795000000.000100", "deny 203.0.113.7")
	mention["thread_ts"] = "1794000000.000100"
	return map[string]delivered{
		"a read": command("status"), "a change": command("deny 203.0.113.7"), "a long change": command("deny 203.0.113.7 reason=" + strings.Repeat("B", 2*maxLogged)),
		"a button": click(card.ActionDo, "deny 203.0.113.7"), "a form's button": click(card.ActionForm, "deny"), "More…": click(card.ActionMore, "more x account=acme"),
		"a form": submit(card.ViewForm, `{"line":"deny"}`), "a question": submit(card.ViewAsk, `{"line":"deny 203.0.113.7"}`),
		"a mention in a thread": event(mention), "the Home tab": event(map[string]any{"type": "app_home_opened", "tab": "home", "user": "U0ROB", "team": "T0OURS"}),
		"a user changed": event(map[string]any{"type": "user_change", "user": map[string]any{"id": "U0ROB"}}), "a group changed": event(map[string]any{"type": "subteam_members_changed", "subteam_id": "S0ONCALL"}),
	}
}

// send delivers it over HTTP, or in an envelope, until it is acknowledged.
func (d delivered) send(t *testing.T, b *Server, overHTTP bool) {
	t.Helper()
	raw, err := json.Marshal(d.body)
	require.NoError(t, err)
	switch {
	case !overHTTP:
		b.Envelope(t.Context(), "E1", d.kind, raw)
	case d.kind == "events_api":
		now := strconv.FormatInt(time.Now().Unix(), 10)
		require.Equal(t, http.StatusOK, deliver(t, b, now, sign(signingSecret, now, string(raw)), string(raw)))
	case d.kind == "interactive":
		require.Equal(t, http.StatusOK, sendForm(t, b, d.path, url.Values{"payload": {string(raw)}}))
	default:
		form := url.Values{}
		for name, value := range d.body.(map[string]any) {
			form.Set(name, value.(string))
		}
		require.Equal(t, http.StatusOK, sendForm(t, b, d.path, form))
	}
}

// Slack waits three seconds for an acknowledgement, whatever else doesn't answer. Stories hold that one comes at all:
// they run on machines that may be busy.
func TestEveryDeliveryIsAcknowledgedInTime(t *testing.T) {
	t.Parallel()
	for _, what := range []hangs{"redis", "auth.test", "users.info", "service", "views.open"} {
		for name, d := range deliveries() {
			for _, overHTTP := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					redis := hangingRedis{newLinkStore(), what}
					slack := slackconn.Connect(slackconn.Config{
						Token: "xoxb-secret", APIURL: "http://slack/api/", People: redis, HTTP: &http.Client{Transport: &hangingSlack{heard{texts: map[string][]string{}}, what}},
					})
					runner := hangingRunner{hangs: what, slack: slack}
					accounts := accountsNamed("acme")
					accounts[0].Policy.Responders = []string{"S0ONCALL"}
					b := alone(Config{
						Slack: slack, Secret: signingSecret, Inbox: redis, AttackAt: redis.AttackAt, Runner: runner, Accounts: accounts,
					})
					begun := time.Now()
					d.send(t, b, overHTTP)
					require.Less(t, time.Since(begun), slackWaits, "%s hangs: %s", what, name)
					b.Drain(t.Context())
				})
			}
		}
	}
}
