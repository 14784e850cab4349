package sandbox_test

import (
	"encoding/json"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// frame is what the bot reads from a link.
type frame struct {
	Type       string `json:"type"`
	Reason     string `json:"reason"`
	EnvelopeID string `json:"envelope_id"`
	Payload    struct {
		Type  string
		Text  string
		Event struct{ Type, Text string }
	} `json:"payload"`
}

// link opens a Socket Mode link as the bot, which acknowledges everything; the frames come over the channel, which ends with the link.
func (c client) link() <-chan frame {
	c.t.Helper()
	req := c.request("POST", "/slack/api/apps.connections.open", `{}`)
	req.Header.Set("Authorization", "Bearer xapp-sandbox-acme")
	_, opened := c.send(req)
	require.Equal(c.t, true, opened["ok"], "%v", opened)
	conn, response, err := websocket.DefaultDialer.DialContext(c.t.Context(), opened["url"].(string), nil)
	require.NoError(c.t, err)
	response.Body.Close()
	frames := make(chan frame, 99)
	done := make(chan struct{})
	c.t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		defer close(frames)
		for {
			_, raw, err := conn.ReadMessage()
			if err != nil {
				return
			}
			var got frame
			_ = json.Unmarshal(raw, &got)
			if got.EnvelopeID != "" {
				_ = conn.WriteJSON(map[string]string{"envelope_id": got.EnvelopeID})
			}
			frames <- got
		}
	}()
	require.Equal(c.t, "hello", (<-frames).Type)
	return frames
}

func TestABotWithoutAddressIsReachedOverItsLinks(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	frames := c.link()
	require.Equal(t, 1.0, c.get("/sandbox/slack")["links"])
	sent := c.post("/sandbox/slack/command", `{"user":"rob","channel":"#waf","text":"status"}`)
	require.Equal(t, []any{"socket", true, 200.0, ""}, []any{sent["via"], sent["acked"], sent["status"], sent["warning"]})
	require.Equal(t, "status", (<-frames).Payload.Text)
	c.post("/sandbox/slack/deliveries/1/replay", `{}`)
	require.Equal(t, "status", (<-frames).Payload.Text)
	c.refused(400, "/sandbox/slack/deliveries/1/forge", `{}`)
	require.Contains(t, c.refused(400, "/sandbox/slack/command", `{"user":"rob","channel":"#waf","text":"status","thread_ts":"1.2"}`), "thread_ts")

	url, arrived := bot(t, 200)
	c.post("/sandbox/deliver", `{"url":"`+url+`"}`)
	<-arrived // the challenge
	c.post("/sandbox/slack/ingress", `{"ingress":"both"}`)
	sent = c.post("/sandbox/slack/command", `{"user":"rob","channel":"#waf","text":"whoami"}`)
	require.Equal(t, "http", sent["via"])
	require.Equal(t, true, sent["twin"].(map[string]any)["acked"])
	require.Equal(t, "whoami", (<-frames).Payload.Text)
	require.Equal(t, "whoami", (<-arrived).PostForm.Get("text"))
	c.refused(400, "/sandbox/slack/ingress", `{"ingress":"pigeon"}`)
}

func TestPeopleTalkToTheBot(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	frames := c.link()
	said := c.post("/sandbox/slack/say", `{"user":"rob","channel":"#waf","text":"@wafbot status"}`)
	mention := <-frames
	require.Equal(t, "<@U0WAFBOT> status", mention.Payload.Event.Text)
	require.Equal(t, "app_mention", mention.Payload.Event.Type)
	ts := said["ts"].(string)
	c.post("/sandbox/slack/say", `{"user":"ann","channel":"#waf","text":"@wafbot note","thread_ts":"`+ts+`"}`)
	require.Equal(t, "<@U0WAFBOT> note", (<-frames).Payload.Event.Text)
	c.post("/sandbox/slack/edit", `{"user":"rob","channel":"#waf","ts":"`+ts+`","text":"@wafbot lists"}`)
	require.Equal(t, "<@U0WAFBOT> lists", (<-frames).Payload.Event.Text)
	c.refused(400, "/sandbox/slack/edit", `{"user":"ann","channel":"#waf","ts":"`+ts+`","text":"not hers"}`)

	c.post("/sandbox/slack/say", `{"user":"rob","channel":"@wafbot","text":"whoami"}`)
	require.Equal(t, "message", (<-frames).Payload.Event.Type)
	require.Len(t, c.messages("rob", "@wafbot"), 1)
	require.Empty(t, c.messages("ann", "@wafbot"))
	events := c.get("/sandbox/slack/events")["events"].([]any)
	require.Len(t, events, 4)
	require.Equal(t, "app_mention", events[0].(map[string]any)["type"])
}

func TestLinksAreRefreshedCutAndSwitchedOff(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	first, second := c.link(), c.link()
	listed := c.get("/sandbox/slack/links")
	require.Equal(t, []any{true, ""}, []any{listed["socket_mode"], listed["ingress"]})
	id := func(n int) string { return listed["links"].([]any)[n].(map[string]any)["id"].(string) }
	c.post("/sandbox/slack/links/refresh", `{"link":"`+id(0)+`","after":"1ms"}`)
	require.Equal(t, "warning", (<-first).Reason)
	require.Equal(t, "refresh_requested", (<-first).Reason)
	_, open := <-first
	require.False(t, open)
	c.post("/sandbox/slack/links/cut", `{"link":"`+id(1)+`"}`)
	_, open = <-second
	require.False(t, open, "without a frame")
	require.Contains(t, c.refused(404, "/sandbox/slack/links/cut", `{"link":"L99"}`), "/sandbox/slack/links")
	c.refused(400, "/sandbox/slack/links/refresh", `{"after":"soon"}`)

	third := c.link()
	c.post("/sandbox/slack/socket_mode", `{"on":false}`)
	require.Equal(t, "link_disabled", (<-third).Reason)
	require.Equal(t, false, c.get("/sandbox/slack/links")["socket_mode"])
	require.Contains(t, c.refused(409, "/sandbox/slack/command", `{"user":"rob","channel":"#waf","text":"status"}`), "Socket Mode is off")
	c.post("/sandbox/slack/socket_mode", `{"on":true}`)
	c.link()
	c.refused(400, "/sandbox/slack/socket_mode", `{}`)
}
