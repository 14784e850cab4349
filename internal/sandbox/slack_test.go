package sandbox_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// postCard has the bot post a message with one button; it returns its ts.
func (c client) postCard() string {
	c.t.Helper()
	req := c.request("POST", "/slack/api/chat.postMessage", `{"channel":"C0WAF0001","text":"INCIDENT","blocks":[
		{"type":"section","text":{"type":"mrkdwn","text":"*INCIDENT*"}},
		{"type":"actions","elements":[{"type":"button","action_id":"deny","value":"deny 203.0.113.7","text":{"type":"plain_text","text":"Deny"},
			"confirm":{"title":{"type":"plain_text","text":"Deny?"},"text":{"type":"plain_text","text":"For 4 h."},"confirm":{"type":"plain_text","text":"Yes"},"deny":{"type":"plain_text","text":"No"}}}]}]}`)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer xoxb-sandbox-acme")
	_, answer := c.send(req)
	require.Equal(c.t, true, answer["ok"], "%v", answer)
	return answer["ts"].(string)
}

func (c client) postEphemeral(user string) {
	c.t.Helper()
	req := c.request("POST", "/slack/api/chat.postEphemeral", `{"channel":"C0WAF0001","user":"`+user+`","text":"for you"}`)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer xoxb-sandbox-acme")
	_, answer := c.send(req)
	require.Equal(c.t, true, answer["ok"], "%v", answer)
}

func (c client) messages(user, channel string) []any {
	c.t.Helper()
	return c.get("/sandbox/slack/messages?user=" + user + "&channel=" + channel)["messages"].([]any)
}

func TestTheCastAndTheirRoles(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	roles := map[string]string{}
	for _, listed := range c.get("/sandbox/slack")["users"].([]any) {
		user := listed.(map[string]any)
		roles[user["name"].(string)] = user["role"].(string)
	}
	require.Equal(t, map[string]string{"wafbot": "", "ann": "admin", "rob": "responder", "vic": "viewer", "guest": "guest", "eve": "stranger"}, roles)
	require.Len(t, c.get("/sandbox/slack?user=ann")["channels"], 6)
	require.Len(t, c.get("/sandbox/slack?user=rob")["channels"], 5, "the private channel is not Rob's")
	status, _ := c.send(c.request("GET", "/sandbox/slack?user=nobody", ""))
	require.Equal(t, 404, status)
	status, _ = c.send(c.request("GET", "/sandbox/slack/messages?user=rob&channel=board", ""))
	require.Equal(t, 404, status)
}

func TestAUserSeesTheirOwnEphemeralMessagesOnly(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	require.Empty(t, c.messages("ann", "waf"))
	c.post("/sandbox/slack/say", `{"user":"rob","channel":"#waf","text":"looking"}`)
	c.postEphemeral("U0ANN0001")
	require.Len(t, c.messages("ann", "waf"), 2)
	require.Len(t, c.messages("rob", "waf"), 1)
	require.Contains(t, c.refused(400, "/sandbox/slack/say", `{"user":"rob","channel":"#waf"}`), "text")
}

func TestAClickReachesTheBotAndCanBeReplayedAndForged(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	ts := c.postCard()
	click := `{"user":"ann","channel":"#waf","ts":"` + ts + `","button":"Deny"}`
	require.Contains(t, c.refused(409, "/sandbox/slack/click", click), "/sandbox/deliver")

	url, arrived := bot(t, http.StatusOK)
	require.Equal(t, false, c.post("/sandbox/deliver", `{"url":"`+url+`/"}`)["verified"], "this bot answers no challenge")
	require.Equal(t, false, c.get("/sandbox/slack")["events"])
	<-arrived
	sent := c.post("/sandbox/slack/click", click)
	require.Equal(t, 200.0, sent["status"])
	require.Empty(t, sent["warning"])
	first := <-arrived
	require.Equal(t, "/slack/interactions", first.URL.Path)
	var payload struct {
		User    struct{ ID string }
		Actions []struct{ Value string }
	}
	require.NoError(t, json.Unmarshal([]byte(first.PostForm.Get("payload")), &payload))
	require.Equal(t, "U0ANN0001", payload.User.ID)
	require.Equal(t, "deny 203.0.113.7", payload.Actions[0].Value)

	c.post("/sandbox/slack/deliveries/1/replay", `{}`)
	again := <-arrived
	require.Equal(t, first.Header.Get("X-Slack-Signature"), again.Header.Get("X-Slack-Signature"))
	require.Equal(t, first.PostForm, again.PostForm)
	c.post("/sandbox/slack/deliveries/1/forge", `{}`)
	forged := <-arrived
	require.NotEqual(t, first.Header.Get("X-Slack-Signature"), forged.Header.Get("X-Slack-Signature"))
	require.Equal(t, first.PostForm, forged.PostForm)
	require.Len(t, c.get("/sandbox/slack/deliveries")["deliveries"], 3)
	c.refused(404, "/sandbox/slack/deliveries/9/replay", `{}`)

	c.post("/sandbox/slack/click", `{"user":"ann","channel":"#waf","ts":"`+ts+`","button":"Deny","cancel":true}`)
	require.Empty(t, arrived, "answered with no: nothing is sent")
	require.Len(t, c.get("/sandbox/slack/deliveries")["deliveries"], 3)
	require.Contains(t, c.refused(400, "/sandbox/slack/click", `{"user":"ann","channel":"#waf","ts":"`+ts+`","button":"Allow"}`), "Deny")
}

func TestTheAddressIsCheckedAsSlackDoes(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	for _, check := range []string{"verify_url", "ssl_check"} {
		require.Contains(t, c.refused(409, "/sandbox/slack/"+check, `{}`), "/sandbox/deliver")
	}
	url, arrived := bot(t, http.StatusOK)
	c.w.DeliverTo(url)
	require.Contains(t, c.post("/sandbox/slack/verify_url", `{}`)["warning"], "challenge", "the bot answers nothing")
	require.Equal(t, "/slack/events", (<-arrived).URL.Path)
	require.Equal(t, true, c.post("/sandbox/slack/ssl_check", `{}`)["acked"])
	certificate := <-arrived
	require.Equal(t, "/slack/commands", certificate.URL.Path)
	require.Equal(t, "1", certificate.PostForm.Get("ssl_check"))
}

func TestACommandThatTheBotFailsShowsAWarning(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	url, arrived := bot(t, http.StatusInternalServerError)
	c.w.DeliverTo(url)
	sent := c.post("/sandbox/slack/command", `{"user":"rob","channel":"#waf","text":"status"}`)
	command := <-arrived
	require.Equal(t, "/slack/commands", command.URL.Path)
	require.Equal(t, "/waf", command.PostForm.Get("command"))
	require.Equal(t, "status", command.PostForm.Get("text"))
	require.Equal(t, 500.0, sent["status"])
	require.NotEmpty(t, sent["warning"])
	c.refused(404, "/sandbox/slack/command", `{"user":"nobody","channel":"#waf","text":"status"}`)
}

func TestFaultsOfBothSidesAreSetListedAndCleared(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	token := c.w.Accounts()[0].Token
	user := func() int {
		req := c.request("POST", "/service/v1/user", `{}`)
		req.Header.Set("X-ServiceApi-Token", token)
		status, _ := c.send(req)
		return status
	}
	auth := func() map[string]any {
		req := c.request("POST", "/slack/api/auth.test", `{}`)
		req.Header.Set("Authorization", "Bearer xoxb-sandbox-acme")
		_, answer := c.send(req)
		return answer
	}
	c.post("/sandbox/faults/service", `{"account":"acme","kind":"status:500"}`)
	c.post("/sandbox/faults/slack", `{"kind":"token_revoked"}`)
	require.Equal(t, 500, user())
	require.Equal(t, "token_revoked", auth()["error"])
	set := c.get("/sandbox/faults")["set"].(map[string]any)
	require.Len(t, set["service"], 1)
	require.Len(t, set["slack"], 1)

	c.post("/sandbox/faults/clear", `{}`)
	require.Equal(t, 200, user())
	require.Equal(t, true, auth()["ok"])
	set = c.get("/sandbox/faults")["set"].(map[string]any)
	require.Empty(t, set["service"])
	require.Empty(t, set["slack"])
	require.Len(t, c.get("/sandbox/slack/calls")["calls"], 2)
	c.refused(400, "/sandbox/faults/service", `{"kind":"tired"}`)
	c.refused(400, "/sandbox/faults/slack", `{}`)
}

func TestEveryFaultOfTheMenuCanBeSet(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	menu := c.get("/sandbox/faults")["menu"].(map[string]any)
	for _, side := range []string{"slack", "service"} {
		require.NotEmpty(t, menu[side])
		for _, line := range menu[side].([]any) {
			c.post("/sandbox/faults/"+side, `{"kind":"`+line.(map[string]any)["kind"].(string)+`","times":1}`)
		}
	}
}

func TestAChannelIsArchivedAndLeftByTheBot(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	c.post("/sandbox/slack/channel", `{"channel":"#waf","archived":true,"bot_is_member":false}`)
	for _, listed := range c.get("/sandbox/slack")["channels"].([]any) {
		if channel := listed.(map[string]any); channel["name"] == "waf" {
			require.Equal(t, true, channel["is_archived"])
			require.Equal(t, false, channel["is_member"])
		}
	}
	c.refused(400, "/sandbox/slack/say", `{"user":"ann","channel":"#waf","text":"hello"}`)
	c.refused(404, "/sandbox/slack/channel", `{"channel":"#nothing"}`)
}

func TestAPersonDeletesACardAndItsRepliesStay(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	ts := c.postCard()
	c.post("/sandbox/slack/say", `{"user":"rob","channel":"#waf","text":"@ann look","thread_ts":"`+ts+`"}`)
	c.post("/sandbox/slack/delete", `{"user":"ann","channel":"#waf","ts":"`+ts+`"}`)
	left := c.messages("ann", "waf")
	require.Len(t, left, 1)
	require.Equal(t, ts, left[0].(map[string]any)["thread_ts"])
	require.Contains(t, c.refused(400, "/sandbox/slack/delete", `{"user":"ann","channel":"#waf","ts":"`+ts+`"}`), "no message")
	require.Contains(t, c.refused(404, "/sandbox/slack/delete", `{"user":"rob","channel":"#board","ts":"`+ts+`"}`), "no channel")

	rang := c.get("/sandbox/slack/notices?user=ann")["notices"].([]any)
	require.Len(t, rang, 1)
	require.Equal(t, "mention", rang[0].(map[string]any)["why"])
	status, _ := c.send(c.request("GET", "/sandbox/slack/notices?user=nobody", ""))
	require.Equal(t, 404, status)
}
