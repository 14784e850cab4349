package bot

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// linkMemory gives out links and takes deliveries, and nothing else.
type linkMemory struct {
	Inbox
	*slacktest.Links
	mu    sync.Mutex
	names map[string]bool
}

func newLinkMemory() *linkMemory {
	return &linkMemory{Links: slacktest.NewLinks(), names: map[string]bool{}}
}

func (m *linkMemory) TakeLink(ctx context.Context, id string, most int) (bool, error) {
	return m.Links.TakeLink(ctx, id, most)
}

func (m *linkMemory) DropLink(ctx context.Context, id string) error { return m.Links.DropLink(ctx, id) }

func (m *linkMemory) Ping(context.Context) error { return nil }

func (m *linkMemory) First(_ context.Context, names ...string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := true
	for _, name := range names {
		fresh = fresh && !m.names[name]
		m.names[name] = true
	}
	return fresh, nil
}

// owner owns no account.
type owner struct{ Notifier }

func (owner) Owns(string) bool { return false }

// noRunner refuses every line.
type noRunner struct{}

func (noRunner) Changes(record.Line) bool                     { return false }
func (noRunner) Missing(record.Line, string) bool             { return false }
func (noRunner) Fillable(record.Line) bool                    { return false }
func (noRunner) InThread(l record.Line, _ string) record.Line { return l }
func (noRunner) Form(context.Context, call.Invocation) (call.Form, error) {
	return call.Form{}, refusal.ErrUnknown
}
func (noRunner) Do(context.Context, call.Invocation) (call.Result, error) {
	return call.Result{}, errors.New("nothing can be done here")
}

// linkedBot receives from that end of Slack's. Its client keeps no connection, which a bubble would wait for.
func linkedBot(s *slacktest.End) *Bot {
	store := newLinkMemory()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return New(Config{
		Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", AppToken: "xapp-secret", APIURL: s.URL + "/api/", HTTP: client}),
		Inbox: store, Links: store, Redis: store, Notifier: owner{}, Runner: noRunner{}, Verbs: noRunner{}, Secret: signingSecret,
	})
}

// Whatever an envelope holds, it is acknowledged, on the link it came by and with nothing but its id.
func TestEveryEnvelopeIsAcknowledged(t *testing.T) {
	t.Parallel()
	frames := []string{
		`{"envelope_id":"e1","type":"interactive","payload":{"type":"block_actions","actions":[{"action_id":"gone","value":"x"}],"user":{"id":"U1"}}}`,
		`{"envelope_id":"e2","type":"interactive","payload":["no object"]}`,
		`{"envelope_id":"e3","type":"interactive","payload":{"type":7}}`,
		`{"envelope_id" : "e4","type":"interactive","payload":{`,
		`{"type":{},"envelope_id":"e5"}`,
		`{"envelope_id":"e6","type":"from_the_future","payload":{}}`,
		`{"envelope_id":"e7","type":"slash_commands","payload":{"text":"'","user_id":"U1","channel_id":""}}`,
		`{"envelope_id":"e8","type":"events_api","payload":{"type":"event_callback","event":{"type":"message","text":"` + strings.Repeat("x", 1<<20) + `"}}}`,
		`{"envelope_id":"e8","type":"events_api","payload":{"type":"app_rate_limited"}}`,
		`no frame at all`,
		`{"envelope_id":"e9","type":"slash_commands"}`,
	}
	acks := make(chan string, len(frames))
	s := slacktest.New(t, "", func(conn *websocket.Conn, first bool) {
		if !first {
			_, _, _ = conn.ReadMessage() // the spare one
			return
		}
		for _, f := range frames {
			_ = conn.WriteMessage(websocket.TextMessage, []byte(f))
		}
		for {
			_, ack, err := conn.ReadMessage()
			if err != nil {
				return
			}
			acks <- strings.TrimSpace(string(ack))
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- linkedBot(s).Receive(ctx) }()
	var got []string
	for len(got) < len(frames)-1 {
		select {
		case ack := <-acks:
			got = append(got, ack)
		case <-time.After(10 * time.Second):
			t.Fatalf("only %q", got)
		}
	}
	cancel()
	require.NoError(t, <-ended)
	want := []string{}
	for _, id := range []string{"e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e8", "e9"} {
		want = append(want, `{"envelope_id":"`+id+`"}`)
	}
	require.ElementsMatch(t, want, got)
}
