package sandbox_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// call calls a method of the Web API as the bot.
func (c client) call(method, body string) map[string]any {
	c.t.Helper()
	req := c.request("POST", "/slack/api/"+method, body)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer xoxb-sandbox-acme")
	_, answer := c.send(req)
	require.Equal(c.t, true, answer["ok"], "%v", answer)
	return answer
}

// formBot answers whatever comes with a modal, and a submission with what is wrong until its reason is right.
func formBot(t *testing.T, c client) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var payload struct {
			Type      string
			TriggerID string `json:"trigger_id"`
			View      struct {
				State struct {
					Values map[string]map[string]struct{ Value string }
				}
			}
		}
		_ = json.Unmarshal([]byte(r.FormValue("payload")), &payload)
		switch {
		case payload.Type == "block_actions":
			c.call("views.open", `{"trigger_id":"`+payload.TriggerID+`","view":{"type":"modal","notify_on_close":true,
				"title":{"type":"plain_text","text":"Deny"},"submit":{"type":"plain_text","text":"Deny it"},"blocks":[
				{"type":"input","block_id":"why","label":{"type":"plain_text","text":"Reason"},"element":{"type":"plain_text_input","action_id":"text"}}]}}`)
		case payload.Type == "view_submission" && payload.View.State.Values["why"]["text"].Value != "a scanner":
			_, _ = io.WriteString(rw, `{"response_action":"errors","errors":{"why":"Say more."}}`)
		}
	}))
	t.Cleanup(receiver.Close)
	c.post("/sandbox/deliver", `{"url":"`+receiver.URL+`"}`)
}

func TestAPersonFillsInAModal(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	c.refused(409, "/sandbox/slack/submit", `{"user":"ann"}`)
	formBot(t, c)
	c.refused(400, "/sandbox/slack/submit", `{"user":"ann"}`)
	c.refused(404, "/sandbox/slack/submit", `{"user":"nobody"}`)
	click := `{"user":"ann","channel":"#waf","ts":"` + c.postCard() + `","button":"Deny"}`
	c.post("/sandbox/slack/click", click)
	views := c.get("/sandbox/slack/views?user=ann")
	require.Equal(t, []any{nil, true}, []any{views["home"], views["has_home"]})
	require.Nil(t, c.get("/sandbox/slack/views?user=rob")["modal"])

	submitted := c.post("/sandbox/slack/submit", `{"user":"ann"}`)
	require.Equal(t, []any{"incomplete", ""}, []any{submitted["outcome"], submitted["via"]})
	submitted = c.post("/sandbox/slack/submit", `{"user":"ann","values":{"Reason":"x"}}`)
	require.Equal(t, "errors", submitted["outcome"])
	require.Equal(t, map[string]any{"Reason": "Say more."}, submitted["errors"])
	modal := c.get("/sandbox/slack/views?user=ann")["modal"].(map[string]any)
	require.Equal(t, map[string]any{"why": "Say more."}, modal["errors"])
	submitted = c.post("/sandbox/slack/submit", `{"user":"ann","values":{"Reason":"a scanner"}}`)
	require.Equal(t, []any{"closed", nil, "interactive"}, []any{submitted["outcome"], submitted["view"], submitted["type"]})

	c.post("/sandbox/slack/click", click)
	require.Len(t, c.post("/sandbox/slack/close", `{"user":"ann","all":true}`)["deliveries"], 1)
	c.refused(400, "/sandbox/slack/close", `{"user":"ann"}`)
	deliveries := c.get("/sandbox/slack/deliveries")["deliveries"].([]any)
	require.Len(t, deliveries, 5, "each can be replayed")
}

func TestAPersonOpensTheHomeTab(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	frames := c.link()
	require.Nil(t, c.post("/sandbox/slack/home/open", `{"user":"ann"}`)["home"])
	require.Equal(t, "app_home_opened", (<-frames).Payload.Event.Type)
	c.call("views.publish", `{"user_id":"U0ANN0001","view":{"type":"home","blocks":[
		{"type":"actions","elements":[{"type":"button","action_id":"undo","text":{"type":"plain_text","text":"Undo"}}]}]}}`)
	require.NotNil(t, c.post("/sandbox/slack/home/open", `{"user":"ann"}`)["home"])
	<-frames
	c.post("/sandbox/slack/click", `{"user":"ann","view":"home","button":"Undo"}`)
	require.Equal(t, "block_actions", (<-frames).Payload.Type)
	c.post("/sandbox/slack/home", `{"on":false}`)
	require.Equal(t, false, c.get("/sandbox/slack/views?user=ann")["has_home"])
	c.refused(400, "/sandbox/slack/home/open", `{"user":"ann"}`)
	c.refused(400, "/sandbox/slack/home", `{}`)
}

func TestTheMembersOfAUserGroupChange(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	frames := c.link()
	c.post("/sandbox/slack/group", `{"group":"@waf-responders","users":["rob","vic"]}`)
	seen := []string{(<-frames).Payload.Event.Type, (<-frames).Payload.Event.Type}
	require.ElementsMatch(t, []string{"subteam_updated", "subteam_members_changed"}, seen)
	group := c.get("/sandbox/slack")["user_groups"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"U0ROB0002", "U0VIC0003"}, group["users"])
	c.refused(404, "/sandbox/slack/group", `{"group":"nobody"}`)
	c.refused(404, "/sandbox/slack/group", `{"group":"waf-responders","users":["nobody"]}`)
}
