package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
	"github.com/wafbot/wafbot/commands/call"
)

// deliverEvent delivers an event with a message, and waits until it was answered.
func deliverEvent(t *testing.T, b *Server, id string, m map[string]any) {
	t.Helper()
	deliverEventAt(t, b, time.Now(), id, m)
}

// deliverEventAt is deliverEvent by a clock of Slack's that says at.
func deliverEventAt(t *testing.T, b *Server, at time.Time, id string, m map[string]any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"type": "event_callback", "event_id": id, "event": m})
	require.NoError(t, err)
	now := strconv.FormatInt(at.Unix(), 10)
	require.Equal(t, http.StatusOK, deliver(t, b, now, sign(signingSecret, now, string(body)), string(body)))
	b.Drain(t.Context())
}

func wrote(user, ts, text string) map[string]any {
	return map[string]any{"type": "app_mention", "channel": "C0WAF", "user": user, "ts": ts, "text": "<@U0BOT> " + text}
}

// One message comes as a mention and as a message: a line that can't be parsed is answered once, too.
func TestLineThatCantBeParsedIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t, "", nil)
	b := linkedBot(s)
	m := wrote("U0ROB", "1795000000.000100", `note "never closed`)
	deliverEvent(t, b, "Ev1", m)
	m["type"] = "message"
	deliverEvent(t, b, "Ev2", m)
	require.Len(t, s.Shown()["U0ROB"], 1)
}

// Clients choose the ids of their messages. A user can't suppress another user's line with the same id.
func TestClientIDsOfTwoUsersDontCollide(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t, "", nil)
	b := linkedBot(s)
	for i, user := range []string{"U0EVE", "U0ROB", "U0ROB"} {
		m := wrote(user, "1795000000.00010"+strconv.Itoa(i), "status")
		m["client_msg_id"] = "the same"
		deliverEvent(t, b, "Ev"+strconv.Itoa(i), m)
	}
	require.Len(t, s.Shown()["U0EVE"], 1)
	require.Len(t, s.Shown()["U0ROB"], 1, "a line that comes as two messages runs once")
}

// Without its own user id the bot doesn't know whether a message is for it. The event was acknowledged, so a mention gets an answer.
func TestMentionIsAnsweredWhenAuthTestFails(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t, "", nil)
	b := linkedBot(s)
	s.Unknown.Store(true)
	m := wrote("U0ROB", "1795000000.000100", "status")
	deliverEvent(t, b, "Ev1", m)
	deliverEvent(t, b, "Ev1", m)
	m["type"], m["user"] = "message", "U0ANN" // perhaps it is for another user
	deliverEvent(t, b, "Ev2", m)
	require.Len(t, s.Shown()["U0ROB"], 1)
	require.Contains(t, s.Shown()["U0ROB"][0], "not done")
	require.Empty(t, s.Shown()["U0ANN"])
}

// A hostile message has no effect but one short answer to its author.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]map[string]any{
		"huge word":            wrote("U0EVE", "1795000000.000100", strings.Repeat("x", 1<<16-100)),
		"too long":             wrote("U0EVE", "1795000000.000100", strings.Repeat("x ", 1<<18)),
		"many keys":            wrote("U0EVE", "1795000000.000100", strings.Repeat("a=b ", 1<<10)),
		"broken tokens":        wrote("U0EVE", "1795000000.000100", strings.Repeat("<|", 1<<12)),
		"mentions the channel": wrote("U0EVE", "1795000000.000100", "&lt;!channel&gt; <!channel>"),
		"no time":              wrote("U0EVE", "", "status"),
		"a time that is none":  wrote("U0EVE", "99999999999999999999.x", "status"),
		"nothing but the name": wrote("U0EVE", "1795000000.000100", ""),
	} {
		s := slacktest.New(t, "", nil)
		deliverEvent(t, linkedBot(s), "Ev1", m)
		require.Len(t, s.Shown()["U0EVE"], 1, name)
		require.Less(t, len(s.Shown()["U0EVE"][0]), 4000, name)
		require.NotContains(t, s.Shown()["U0EVE"][0], "<!channel>", name)
	}
	for name, m := range map[string]map[string]any{
		"of a bot":       {"type": "app_mention", "channel": "C0WAF", "bot_id": "B0OTHER", "user": "U0OTHER", "text": "<@U0BOT> status", "ts": "1.1"},
		"of itself":      wrote("U0BOT", "1.1", "status"),
		"without a user": wrote("", "1.1", "status"),
		"of a workflow":  {"type": "message", "subtype": "bot_message", "channel": "D1", "channel_type": "im", "user": "U0EVE", "text": "status", "ts": "1.1"},
		"not for it":     {"type": "message", "channel": "C0WAF", "channel_type": "channel", "user": "U0EVE", "text": "status", "ts": "1.1"},
		"edited":         {"type": "app_mention", "channel": "C0WAF", "user": "U0EVE", "text": "<@U0BOT> status", "ts": "1.1", "edited": map[string]any{"user": "U0EVE"}},
		"with no fields": {},
	} {
		s := slacktest.New(t, "", nil)
		deliverEvent(t, linkedBot(s), "Ev1", m)
		require.Empty(t, s.Shown(), name)
	}
}

func TestTyped(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"deny 203.0.113.7 for=4h": "deny 203.0.113.7 for=4h",
		"patch POST <http://shop.example.com/login|shop.example.com/login> type=sqli": "patch POST shop.example.com/login type=sqli",
		"patch POST <https://shop.example.com/login> type=sqli":                       "patch POST https://shop.example.com/login type=sqli",
		"note \"ask <mailto:ann@example.com|ann@example.com>\"":                       `note "ask ann@example.com"`,
		"handover to=<@U0ANN0001|ann>":                                                "handover to=<@U0ANN0001>",
		"handover to=<@U0ANN0001>":                                                    "handover to=<@U0ANN0001>",
		"note see <#C0SECRET|>":                                                       "note see <#C0SECRET|>", // a channel that the bot can't see
		"note see <#C0WAF|waf>":                                                       "note see #waf",
		"note <!here> <!subteam^S0ONCALL>":                                            "note <!here> <!subteam^S0ONCALL>",
		"indicator X-A &lt;b&gt;&amp;amp;":                                            "indicator X-A <b>&amp;",
		"note &lt;@U0ANN0001&gt; a < b":                                               "note <@U0ANN0001> a < b",
		"":                                                                            "",
	} {
		require.Equal(t, want, typed(sent), sent)
	}
}

func TestLineOfAMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		line      string
		addressed bool
	}{
		"<@U0BOT> deny 203.0.113.7":            {"deny 203.0.113.7", true},
		"  <@U0BOT|wafbot>   status":           {"status", true},
		"<@U0BOT>":                             {"", true},
		"<@U0BOT> `undo c7k2m9xw4`":            {"undo c7k2m9xw4", true},
		"<@U0BOT> note \"`x` and `y`\"":        {"note \"`x` and `y`\"", true},
		"don't <@U0BOT> deny 203.0.113.7":      {"don't <@U0BOT> deny 203.0.113.7", false},
		"<@U0BOTTLE> deny 203.0.113.7":         {"<@U0BOTTLE> deny 203.0.113.7", false},
		"&lt;@U0BOT&gt; deny 203.0.113.7":      {"<@U0BOT> deny 203.0.113.7", false}, // typed by hand: no mention
		"> <@U0BOT> deny 203.0.113.7 (quoted)": {"> <@U0BOT> deny 203.0.113.7 (quoted)", false},
		"status":                               {"status", false},
	} {
		line, addressed := message{Text: text}.line("U0BOT")
		require.Equal(t, want.line, line, text)
		require.Equal(t, want.addressed, addressed, text)
	}
}

// watcher counts who is looked up, and refuses every line.
type watcher struct {
	noRunner

	slack *slackconn.Client
	mu    sync.Mutex
	full  []bool
}

func (w *watcher) Do(ctx context.Context, inv call.Invocation) (call.Result, error) {
	_, _, full, err := w.slack.Member(ctx, inv.Actor.Team, inv.Actor.ID)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = append(w.full, full)
	return call.Result{}, err
}

// The author's workspace is in user_team or in team. Slack isn't asked about people of another one.
func TestTheTeamOfAMessageIsItsAuthors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fields map[string]any
		full   bool
		asked  int
	}{
		{map[string]any{}, true, 1},
		{map[string]any{"team": "T0OURS"}, true, 1},
		{map[string]any{"team": "T0OTHER"}, false, 0},
		{map[string]any{"user_team": "T0OTHER"}, false, 0},
		{map[string]any{"user_team": "T0OTHER", "team": "T0OURS"}, false, 0},
		{map[string]any{"user_team": "T0OURS", "team": "T0OTHER"}, true, 1},
	} {
		d, _ := newDirectory()
		client := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", APIURL: "http://slack/api/", HTTP: &http.Client{Transport: d}})
		store, runner := newLinkStore(), &watcher{slack: client}
		b := alone(Config{Slack: client, Secret: signingSecret, Inbox: store, Runner: runner})
		m := wrote("U0ROB", "1795000000.000100", "status")
		maps.Copy(m, c.fields)
		deliverEvent(t, b, "Ev1", m)
		opened := map[string]any{"type": "app_home_opened", "tab": "home", "user": "U0ROB"}
		maps.Copy(opened, c.fields)
		deliverEvent(t, b, "Ev2", opened)
		require.Equal(t, []bool{c.full, c.full}, runner.full, "%v", c.fields)
		require.Equal(t, c.asked, d.users, "%v", c.fields)
	}
}

// What another app sends is refused: then the signing secret, or the app token, is of another app than the bot token. While that app isn't known nothing is.
func TestDeliveriesOfAnotherAppAreRefused(t *testing.T) {
	t.Parallel()
	log, slackEnd := &lines{}, &heard{texts: map[string][]string{}}
	client := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: slackEnd}})
	store, runner := newLinkStore(), &watcher{slack: client}
	b := alone(Config{Slack: client, Secret: signingSecret, Inbox: store, Runner: runner, Log: slog.New(slog.NewTextHandler(log, nil))})
	n := 0
	sends := func(app string) {
		n++
		command := url.Values{"text": {"status"}, "user_id": {"U0ROB"}, "api_app_id": {app}, "trigger_id": {strconv.Itoa(n)}, "response_url": {"https://hooks.slack.com/command"}}
		require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", command))
		click := fmt.Sprintf(`{"type":"block_actions","api_app_id":%q,"user":{"id":"U0ROB"},"actions":[{"action_id":"do:1","value":"status"}],"response_url":"https://hooks.slack.com/click","trigger_id":"%d"}`, app, n)
		require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/interactions", url.Values{"payload": {click}}))
		b.Drain(t.Context())
	}
	sends("A0OTHER")
	require.Len(t, runner.full, 2, "it isn't known which app the token is of")
	client.FindApp(t.Context())
	require.Equal(t, "A0OURS", client.App())
	sends("A0OURS")
	require.Len(t, runner.full, 4)
	sends("A0OTHER")
	require.Len(t, runner.full, 4)
	for _, path := range []string{"/command", "/click"} {
		require.Len(t, slackEnd.at(path), 3)
		require.Contains(t, slackEnd.at(path)[2], "this was sent by another Slack app")
	}
	require.Len(t, log.of("refuse delivery of another app"), 1)
	view := url.Values{"payload": {`{"type":"view_submission","api_app_id":"A0OTHER","user":{"id":"U0ROB"},"view":{"id":"V1","type":"modal"}}`}}
	require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/interactions", view))
}
