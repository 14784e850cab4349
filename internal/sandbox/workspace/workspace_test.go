package workspace_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token    = "xoxb-test-token"
	appToken = "xapp-test-token"
	secret   = "test-signing-secret"
)

// world is a workspace on the wire, and a bot that receives its deliveries.
type world struct {
	*workspace.Workspace
	client *slack.Client
	base   string
	clock  *clock
	bot    *bot
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bot keeps what was delivered, and answers with its status and body.
type bot struct {
	mu       sync.Mutex
	echoes   bool // it answers challenges
	status   int
	answer   string
	received []received
}

type received struct {
	path   string
	header http.Header
	body   string
	form   url.Values
}

func (b *bot) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	b.mu.Lock()
	defer b.mu.Unlock()
	var check struct{ Challenge string }
	if b.echoes && json.Unmarshal(body, &check) == nil && check.Challenge != "" {
		_, _ = io.WriteString(rw, check.Challenge)
		return
	}
	b.received = append(b.received, received{r.URL.Path, r.Header, string(body), form})
	rw.WriteHeader(max(b.status, http.StatusOK))
	_, _ = io.WriteString(rw, b.answer)
}

func (b *bot) will(status int, answer string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status, b.answer = status, answer
}

func (b *bot) got() []received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]received{}, b.received...)
}

func start(t *testing.T, change ...func(*workspace.Config)) *world {
	t.Helper()
	b, ticking := &bot{echoes: true}, &clock{now: time.Unix(1_795_000_000, 0)}
	receiver := httptest.NewServer(b)
	t.Cleanup(receiver.Close)
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handler.ServeHTTP(rw, r) }))
	t.Cleanup(server.Close)
	cfg := workspace.Config{
		BotToken: token, AppToken: appToken, SigningSecret: secret, Deliver: receiver.URL, BaseURL: server.URL + "/slack", Now: ticking.Now,
		Users: []workspace.User{
			{ID: "U1ANN", Name: "ann", RealName: "Ann Example"},
			{ID: "U2BOB", Name: "bob", Restricted: true},
			{ID: "U3EVE", Name: "eve", TeamID: "T9OTHER", Stranger: true},
		},
		Channels: []workspace.Channel{
			{ID: "C1WAF", Name: "waf", BotIsMember: true},
			{ID: "C2NOBOT", Name: "nobot"},
			{ID: "G3PRIV", Name: "priv", Private: true},
			{ID: "G4OURS", Name: "ours", Private: true, BotIsMember: true, Members: []string{"U1ANN"}},
			{ID: "C5OLD", Name: "old", Archived: true, BotIsMember: true},
		},
		UserGroups: []workspace.UserGroup{{ID: "S1SEC", Handle: "secops", Name: "Security", Users: []string{"U1ANN"}}},
	}
	for _, f := range change {
		f(&cfg)
	}
	w, err := workspace.New(cfg)
	require.NoError(t, err)
	handler = w
	t.Cleanup(w.Close)
	if cfg.Deliver == receiver.URL && cfg.HTTP == nil {
		_, err = w.VerifyURL(t.Context())
		require.NoError(t, err)
	}
	b.echoes = false
	base := server.URL + "/slack"
	return &world{w, slack.New(token, slack.OptionAPIURL(base+"/api/")), base, ticking, b}
}

func (w *world) post(t *testing.T, channel string, options ...slack.MsgOption) string {
	t.Helper()
	_, ts, err := w.client.PostMessageContext(t.Context(), channel, options...)
	require.NoError(t, err)
	return ts
}

func (w *world) say(t *testing.T, user, channel, text string) workspace.Message {
	t.Helper()
	m, err := w.Say(workspace.Saying{User: user, Channel: channel, Text: text})
	require.NoError(t, err)
	return m
}

// raw posts a body as it is, and returns status, headers and body of the answer.
func raw(t *testing.T, target, contentType, body string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(got)
}

// asked calls a method with a token, in the header or the form, and returns the body of the answer.
func (w *world) asked(t *testing.T, method, token string, inHeader bool) string {
	t.Helper()
	form := url.Values{}
	if !inHeader {
		form.Set("token", token)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+"/api/"+method, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if inHeader {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(got)
}

// refused requires one of Slack's error names.
func refused(t *testing.T, name string, err error) {
	t.Helper()
	var refusal slack.SlackErrorResponse
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, name, refusal.Err)
}

func plain(text string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, text, false, false)
}

func mrkdwn(text string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.MarkdownType, text, false, false)
}

// card is a message with everything a click can hit.
func card() slack.MsgOption {
	deny := slack.NewButtonBlockElement("deny", "deny 203.0.113.7 for=4h", plain("Deny 203.0.113.7")).WithStyle(slack.StyleDanger)
	deny.Confirm = slack.NewConfirmationBlockObject(plain("Sure?"), mrkdwn("Deny it for 4 h."), plain("Yes"), plain("No"))
	return slack.MsgOptionBlocks(
		slack.NewHeaderBlock(plain("INCIDENT")),
		slack.NewSectionBlock(mrkdwn("a &lt;b&gt; <https://example.com|runbook> <@U1ANN>"), nil, nil),
		slack.NewActionBlock("acts", deny,
			slack.NewButtonBlockElement("ack", "ack", plain("I'm on it")),
			slack.NewOverflowBlockElement("more",
				slack.NewOptionBlockObject("mute", plain("Mute"), nil), slack.NewOptionBlockObject("report", plain("Report"), nil))),
	)
}

func TestWaitSeesWhatIsThereAndWhatComes(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(t, "ann", "#waf", "first")
	is := func(text string) func(workspace.Message) bool {
		return func(m workspace.Message) bool { return m.Plain() == text }
	}
	m, err := w.WaitMessage(t.Context(), "#waf", is("first"))
	require.NoError(t, err)
	require.Equal(t, "U1ANN", m.User)

	found, looked := make(chan error, 1), make(chan struct{}, 9)
	go func() {
		_, err := w.WaitMessage(t.Context(), "C1WAF", func(m workspace.Message) bool {
			looked <- struct{}{}
			return m.Plain() == "second"
		})
		found <- err
	}()
	<-looked
	w.say(t, "ann", "waf", "second")
	require.NoError(t, <-found)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.WaitMessage(ended, "#waf", is("third"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "second")
	_, err = w.WaitEphemeral(ended, "ann", is("third"))
	require.ErrorContains(t, err, "nothing")
}

func TestNewRefusesDoubledIDs(t *testing.T) {
	t.Parallel()
	_, err := workspace.New(workspace.Config{Users: []workspace.User{{ID: "U1", Name: "a"}, {ID: "U1", Name: "b"}}})
	require.ErrorContains(t, err, "taken")
	_, err = workspace.New(workspace.Config{Channels: []workspace.Channel{{ID: "C1", Name: "a"}, {ID: "C2", Name: "#a"}}})
	require.ErrorContains(t, err, "taken")
}

func TestPlainAndButtons(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.post(t, "C1WAF", slack.MsgOptionText("fallback", false), card())
	m := w.Messages("#waf")[0]
	require.Equal(t, "INCIDENT\na <b> runbook <@U1ANN>\n[Deny 203.0.113.7] [I'm on it] [Mute] [Report]", m.Plain())
	buttons := m.Buttons()
	require.Len(t, buttons, 4)
	require.Equal(t, blockkit.Button{
		Label: "Deny 203.0.113.7", ActionID: "deny", Value: "deny 203.0.113.7 for=4h", Style: "danger", Confirm: "Deny it for 4 h.",
	}, buttons[0])
	require.Equal(t, blockkit.Button{Label: "Report", ActionID: "more", Value: "report"}, buttons[3])

	w.post(t, "C1WAF", slack.MsgOptionText("", false), slack.MsgOptionAttachments(slack.Attachment{
		Color: "#a30200", Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewSectionBlock(mrkdwn("in the bar"), nil, nil)}},
	}))
	require.Equal(t, "in the bar", w.Messages("#waf")[1].Plain())
}
