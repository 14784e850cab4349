package workspace_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// tab is a Home tab with a button and an input.
const tab = `{"type":"home","callback_id":"home","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"Nothing burns"}},
{"type":"input","block_id":"in","dispatch_action":true,"label":{"type":"plain_text","text":"Look for"},"element":{"type":"plain_text_input","action_id":"find"}},
{"type":"actions","block_id":"row","elements":[{"type":"button","action_id":"undo","value":"undo d1","text":{"type":"plain_text","text":"Undo"}}]}]}`

// data is an event as slack-go reads it.
func data[T any](t *testing.T, e workspace.Event) T {
	t.Helper()
	parsed, err := slackevents.ParseEvent(e.Payload, slackevents.OptionNoVerifyToken())
	require.NoError(t, err)
	event, ok := parsed.InnerEvent.Data.(T)
	require.True(t, ok, "%T", parsed.InnerEvent.Data)
	return event
}

func TestHome(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		seen, err := b.OpenHome("ann")
		require.NoError(b.t, err)
		require.Nil(b.t, seen)
		got := s.next()
		s.ack(got)
		opened := data[*slackevents.AppHomeOpenedEvent](b.t, b.Events()[0])
		require.Equal(b.t, []any{"U1ANN", "D1ANN", "home"}, []any{opened.User, opened.Channel, opened.Tab})
		require.Nil(b.t, opened.View)

		published := b.call("views.publish", token, `{"user_id":"U1ANN","view":`+tab+`}`)
		require.Equal(b.t, true, published["ok"], "%v", published)
		require.Equal(b.t, "Nothing burns\nLook for: []\n[Undo]", b.Home("ann").Plain())
		require.Nil(b.t, b.Home("bob"), "each has their own")
		_, err = b.OpenHome("ann")
		require.NoError(b.t, err)
		s.ack(s.next())
		synctest.Wait()
		require.Equal(b.t, b.Home("ann").ID, data[*slackevents.AppHomeOpenedEvent](b.t, b.Events()[1]).View.ID)

		clicked := make(chan error, 1)
		go func() {
			_, err := b.Click(b.t.Context(), workspace.Click{User: "ann", View: "home", Button: "Undo", Values: map[string]any{"Look for": "x"}})
			clicked <- err
		}()
		got = s.next()
		s.ack(got)
		require.NoError(b.t, <-clicked)
		require.Equal(b.t, map[string]any{"type": "view", "view_id": b.Home("ann").ID}, got.Payload["container"])
		require.NotContains(b.t, got.Payload, "response_url")
		trigger := got.Payload["trigger_id"].(string)
		over := b.call("views.open", token, `{"trigger_id":"`+trigger+`","view":`+simple("form")+`}`)
		require.Equal(b.t, true, over["ok"], "%v", over)
		require.Zero(b.t, b.OpenView("ann").Depth)
		require.Equal(b.t, "hash_conflict", b.call("views.publish", token, `{"user_id":"U1ANN","hash":"old","view":`+tab+`}`)["error"])
		require.Equal(b.t, "user_not_found", b.call("views.publish", token, `{"user_id":"U9NONE","view":`+tab+`}`)["error"])
		_, err = b.Submit(b.t.Context(), workspace.Submission{User: "ann", View: "home"})
		require.ErrorContains(b.t, err, "no submit button")
		_, err = b.Click(b.t.Context(), workspace.Click{User: "bob", View: "home", Button: "Undo"})
		require.Error(b.t, err)
	}, subscribed("app_home_opened"))
}

func TestHomeSwitchedOff(t *testing.T) {
	inBubble(t, func(b *bubble) {
		publish := func() any {
			return b.call("views.publish", token, `{"user_id":"U1ANN","view":`+tab+`}`)["error"]
		}
		require.Equal(b.t, "not_enabled", publish())
		_, err := b.OpenHome("ann")
		require.ErrorContains(b.t, err, "no Home tab")
		b.SetHome(true)
		require.Nil(b.t, publish())
		b.SetHome(false)
		require.Nil(b.t, b.Home("ann"))
	}, func(cfg *workspace.Config) { cfg.NoHome = true })
}

func TestAHomeWithoutSubscriptionSendsNoEvent(t *testing.T) {
	inBubble(t, func(b *bubble) {
		_, err := b.OpenHome("ann")
		require.NoError(b.t, err)
		require.Empty(b.t, b.settledEvents())
	}, subscribed("app_mention"))
}

func TestUserGroupsAndPeopleChange(t *testing.T) {
	t.Parallel()
	w := start(t, subscribed("subteam_created", "subteam_updated", "subteam_members_changed", "user_change"))
	w.SetUserGroup(workspace.UserGroup{ID: "S1SEC", Handle: "secops", Name: "Security", Users: []string{"U1ANN"}})
	require.Empty(t, w.Events(), "nothing changed")
	w.SetUserGroup(workspace.UserGroup{ID: "S1SEC", Handle: "secops", Name: "Security", Users: []string{"U2BOB"}})
	w.SetUserGroup(workspace.UserGroup{ID: "S1SEC", Handle: "secops", Name: "The guards", Users: []string{"U2BOB"}})
	w.SetUserGroup(workspace.UserGroup{ID: "S2NEW", Handle: "new", Name: "New", Users: []string{"U1ANN"}})
	bob, _ := w.UserByName("bob")
	require.NoError(t, w.SetUser(bob), "nothing changed")
	bob.UltraRestricted = true
	require.NoError(t, w.SetUser(bob))
	require.NoError(t, w.SetUser(workspace.User{ID: "U4NEW", Name: "new"}), "who joins is no user_change")

	events := w.Events()
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	require.Equal(t, []string{"subteam_updated", "subteam_members_changed", "subteam_updated", "subteam_created", "user_change"}, types)
	updated := data[*slackevents.SubteamUpdatedEvent](t, events[0])
	require.Equal(t, []any{"S1SEC", []string{"U2BOB"}}, []any{updated.Subteam.ID, updated.Subteam.Users})
	for _, field := range []string{`"is_subteam":true`, `"is_external":false`, `"auto_provision":false`, `"created_by":"U`, `"date_create":1`} {
		require.Contains(t, string(events[0].Payload), field, "Slack's types have it")
	}
	members := data[*slackevents.SubteamMembersChangedEvent](t, events[1])
	require.Equal(t, []any{"S1SEC", []string{"U2BOB"}, []string{"U1ANN"}, 1, 1, w.clock.Now().Unix()},
		[]any{members.SubteamID, members.AddedUsers, members.RemovedUsers, members.AddedUsersCount, members.RemovedUsersCount, members.DateUpdate})
	require.Equal(t, "New", data[*slackevents.SubteamCreatedEvent](t, events[3]).Subteam.Name)
	person := data[*slackevents.UserChangeEvent](t, events[4]).User
	require.Equal(t, []any{"U2BOB", true, "T0SANDBOX"}, []any{person.ID, person.IsUltraRestricted, person.TeamID})
	var outer slackevents.EventsAPICallbackEvent
	require.NoError(t, json.Unmarshal(events[4].Payload, &outer))
	require.Equal(t, []any{events[4].ID, int(w.clock.Now().Unix()), []slack.EventAuthorization{{TeamID: "T0SANDBOX", UserID: "U0WAFBOT", IsBot: true}}},
		[]any{outer.EventID, outer.EventTime, outer.Authorizations})
	require.True(t, slices.ContainsFunc(w.UserGroups(), func(g workspace.UserGroup) bool { return g.ID == "S2NEW" }))
}

func TestChangesOfPeopleAreRetriedAsEventsAre(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		b.SetUserGroup(workspace.UserGroup{ID: "S1SEC", Handle: "secops", Name: "Security", Users: []string{"U2BOB"}})
		first := s.next() // and no client acknowledges it
		again := s.next()
		require.Equal(b.t, first.Payload["event_id"], again.Payload["event_id"])
		require.Equal(b.t, 1, *again.RetryAttempt)
		s.ack(again)
		synctest.Wait()
		require.True(b.t, b.Events()[0].Done)
	}, subscribed("subteam_members_changed"))
}

func TestWithoutTheirScopesChangesOfPeopleAreNotSent(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.SetUserGroup(workspace.UserGroup{ID: "S1SEC", Users: []string{"U2BOB"}})
		require.NoError(b.t, b.SetUser(workspace.User{ID: "U2BOB", Name: "bob", Restricted: true}))
		require.Empty(b.t, b.settledEvents())
	}, subscribed("subteam_members_changed", "subteam_updated", "user_change"), func(cfg *workspace.Config) { cfg.Scopes = []string{"chat:write"} })
}

func TestConversationsOpen(t *testing.T) {
	inBubble(t, func(b *bubble) {
		opened := b.call("conversations.open", token, `{"users":"U1ANN","return_im":true}`)
		require.Equal(b.t, true, opened["ok"], "%v", opened)
		channel := opened["channel"].(map[string]any)
		require.Equal(b.t, []any{"D1ANN", true, "U1ANN"}, []any{channel["id"], channel["is_im"], channel["user"]})
		require.NotContains(b.t, opened, "already_open")
		require.Equal(b.t, true, b.call("conversations.open", token, `{"users":"U1ANN"}`)["already_open"])
		require.Equal(b.t, map[string]any{"id": "D1ANN"}, b.call("conversations.open", token, `{"channel":"D1ANN"}`)["channel"])
		require.Equal(b.t, "D2BOB", b.call("chat.postMessage", token, `{"channel":"U2BOB","text":"hello"}`)["channel"])
		for body, problem := range map[string]string{
			`{}`: "users_list_not_supplied", `{"users":"U9NONE"}`: "user_not_found", `{"users":"U1ANN,U2BOB"}`: "missing_scope", `{"channel":"C1WAF"}`: "channel_not_found",
		} {
			require.Equal(b.t, problem, b.call("conversations.open", token, body)["error"], body)
		}
	}, func(cfg *workspace.Config) { cfg.Scopes = append(workspace.DefaultScopes(), "im:write") })
}

func TestConversationsOpenNeedsItsScope(t *testing.T) {
	inBubble(t, func(b *bubble) {
		require.Equal(b.t, "missing_scope", b.call("conversations.open", token, `{"users":"U1ANN"}`)["error"])
	})
}
