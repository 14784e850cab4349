package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	w := start(t)
	got, err := w.client.AuthTestContext(t.Context())
	require.NoError(t, err)
	require.Equal(t, "U0WAFBOT", got.UserID)
	require.Equal(t, "B0WAFBOT", got.BotID)
	require.Equal(t, "T0SANDBOX", got.TeamID)
	_, err = slack.New("xoxb-wrong", slack.OptionAPIURL(w.base+"/api/")).AuthTestContext(t.Context())
	refused(t, "invalid_auth", err)
	_, err = slack.New("", slack.OptionAPIURL(w.base+"/api/")).AuthTestContext(t.Context())
	refused(t, "not_authed", err)

	status, header, body := raw(t, w.base+"/api/chat.postMessage", "application/json; charset=utf-8",
		`{"channel":"C1WAF","text":"as JSON","blocks":[{"type":"divider"}]}`)
	require.Equal(t, 200, status)
	require.Contains(t, body, `"ok":true`)
	require.Equal(t, strings.Join(workspace.DefaultScopes(), ","), header.Get("X-OAuth-Scopes"))
	require.Equal(t, "as JSON", w.Messages("#waf")[0].Text)
	_, _, body = raw(t, w.base+"/api/chat.shout", "application/json", `{}`)
	require.Contains(t, body, "unknown_method")
	status, _, _ = raw(t, w.base+"/elsewhere", "application/json", `{}`)
	require.Equal(t, 404, status)
}

// Methods that only read take no JSON, any method a form in parts, and none another kind of body.
func TestBodiesOfCalls(t *testing.T) {
	t.Parallel()
	w := start(t)
	form := "channel=C1WAF&text=said"
	parts := "--b\r\nContent-Disposition: form-data; name=\"channel\"\r\n\r\nC1WAF\r\n--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nsaid\r\n--b--\r\n"
	for _, tt := range []struct{ method, kind, body, err string }{
		{"chat.postMessage", "application/x-www-form-urlencoded", form, ""},
		{"chat.postMessage", "multipart/form-data; boundary=b", parts, ""},
		{"chat.postMessage", "multipart/form-data; boundary=c", parts, "invalid_arguments"},
		{"chat.postMessage", "application/json", `{"channel":"C1WAF","text":"said"}`, ""},
		{"chat.postMessage", "application/json", `{"channel"`, "invalid_arguments"},
		{"chat.postMessage", "application/xml", "<x/>", "invalid_post_type"},
		{"chat.postMessage", "", form, "missing_post_type"},
		{"chat.postMessage", "application/json", `{"channel":"C1WAF","markdown_text":"**said**"}`, ""},
		{"chat.postMessage", "application/json", `{"channel":"C1WAF","markdown_text":"**said**","text":"said"}`, "markdown_text_conflict"},
		{"chat.postMessage", "application/json", `{"channel":"C1WAF","markdown_text":"` + strings.Repeat("x", 12_001) + `"}`, "msg_too_long"},
		{"conversations.info", "application/x-www-form-urlencoded", "channel=C1WAF", ""},
		{"conversations.info", "application/json", `{"channel":"C1WAF"}`, "channel_not_found"},
		{"conversations.history", "application/json", `{"channel":"C1WAF"}`, "channel_not_found"},
		{"users.info", "application/json", `{"user":"U1ANN"}`, "user_not_found"},
		{"api.test", "application/json", `{"error":"my_own"}`, "my_own"},
		{"users.lookupByEmail", "application/x-www-form-urlencoded", "email=ann@shop.example", "missing_scope"},
		{"reactions.add", "application/json", `{"channel":"C1WAF","name":"eyes","timestamp":"1.0"}`, "missing_scope"},
		{"chat.scheduleMessage", "application/json", `{"channel":"C1WAF","text":"said","post_at":1}`, "time_in_past"},
		{"chat.scheduleMessage", "application/json", `{"channel":"C1WAF","text":"said","post_at":99999999999}`, "time_too_far"},
	} {
		status, _, body := raw(t, w.base+"/api/"+tt.method, tt.kind, tt.body)
		require.Equal(t, 200, status)
		var got struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(body), &got))
		require.Equal(t, tt.err, got.Error, "%s %s %.80s: %s", tt.method, tt.kind, tt.body, body)
	}
	for _, m := range w.Messages("#waf") {
		require.Contains(t, m.Text, "said")
	}
	require.Len(t, w.Messages("#waf"), 4)
}

// What the bot posts carries who it is, what people type comes as rich text, and a channel says when it was made.
func TestPeopleAndChannelsHaveWhatSlacksDo(t *testing.T) {
	t.Parallel()
	w := start(t)
	shapes := map[string][]string{
		"users.info?user=U1ANN": {
			`"is_admin":false`, `"is_owner":false`, `"is_primary_owner":false`, `"is_app_user":false`, `"tz_label":"`, `"tz_offset":0`, `"updated":1`,
		},
		"conversations.info?channel=C1WAF": {
			`"is_shared":false`, `"is_org_shared":false`, `"is_mpim":false`, `"is_general":false`, `"unlinked":0`, `"updated":1`, `"context_team_id":"T0SANDBOX"`, `"previous_names":[]`,
		},
	}
	for call, fields := range shapes {
		_, _, body := raw(t, w.base+"/api/"+call, "application/x-www-form-urlencoded", "")
		for _, field := range fields {
			require.Contains(t, body, field, call)
		}
	}
}

func TestShapesOfMessagesAndChannels(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.post(t, "C1WAF", slack.MsgOptionText("said", false))
	_, err := w.Say(workspace.Saying{User: "ann", Channel: "#waf", Text: "ask @wafbot & see https://shop.example.com"})
	require.NoError(t, err)
	history, err := w.client.GetConversationHistoryContext(t.Context(), &slack.GetConversationHistoryParameters{ChannelID: "C1WAF"})
	require.NoError(t, err)
	require.Equal(t, "wafbot", history.Messages[1].BotProfile.Name)
	typed, ok := history.Messages[0].Blocks.BlockSet[0].(*slack.RichTextBlock)
	require.True(t, ok)
	require.Len(t, typed.Elements[0].(*slack.RichTextSection).Elements, 4)
	c, err := w.client.GetConversationInfoContext(t.Context(), &slack.GetConversationInfoInput{ChannelID: "C1WAF", IncludeNumMembers: true})
	require.NoError(t, err)
	require.Positive(t, c.NumMembers)
	require.NotEmpty(t, c.Creator)
	require.Positive(t, int64(c.Created))
}

func TestCallsAreKeptWithoutToken(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.post(t, "C1WAF", slack.MsgOptionText("leak "+token, false))
	_, _, err := w.client.PostMessageContext(t.Context(), "C5OLD", slack.MsgOptionText("x", false))
	require.Error(t, err)
	_, err = slack.New("xoxb-wrong", slack.OptionAPIURL(w.base+"/api/")).AuthTestContext(t.Context())
	require.Error(t, err)
	calls := w.Calls()
	require.Len(t, calls, 3)
	require.Equal(t, "chat.postMessage", calls[0].Method)
	require.True(t, calls[0].OK)
	require.Equal(t, "C1WAF", calls[0].Args["channel"])
	require.Equal(t, "is_archived", calls[1].Error)
	all, err := json.Marshal(calls)
	require.NoError(t, err)
	require.NotContains(t, string(all), token)
	require.NotContains(t, string(all), "xoxb-wrong")
}

func TestMissingScope(t *testing.T) {
	t.Parallel()
	w := start(t, func(cfg *workspace.Config) { cfg.Scopes = []string{"users:read"} })
	_, _, err := w.client.PostMessageContext(t.Context(), "C1WAF", slack.MsgOptionText("x", false))
	refused(t, "missing_scope", err)
	require.Empty(t, w.Messages("#waf"))
	_, err = w.client.GetUserInfoContext(t.Context(), "U1ANN")
	require.NoError(t, err)
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	w := start(t)
	eve, err := w.client.GetUserInfoContext(t.Context(), "U3EVE")
	require.NoError(t, err)
	require.True(t, eve.IsStranger)
	require.Equal(t, "T9OTHER", eve.TeamID)
	bob, err := w.client.GetUserInfoContext(t.Context(), "U2BOB")
	require.NoError(t, err)
	require.True(t, bob.IsRestricted)
	require.False(t, bob.IsUltraRestricted)
	_, err = w.client.GetUserInfoContext(t.Context(), "ann")
	refused(t, "user_not_found", err)
	require.NoError(t, w.SetUser(workspace.User{ID: "U1ANN", Name: "ann", Deleted: true}))
	ann, err := w.client.GetUserInfoContext(t.Context(), "U1ANN")
	require.NoError(t, err)
	require.True(t, ann.Deleted)
	users, err := w.client.GetUsersContext(t.Context())
	require.NoError(t, err)
	require.Len(t, users, 3, "the bot, ann and bob; strangers aren't listed")

	groups, err := w.client.GetUserGroupsContext(t.Context(), slack.GetUserGroupsOptionIncludeUsers(true))
	require.NoError(t, err)
	require.Equal(t, []string{"U1ANN"}, groups[0].Users)
	members, err := w.client.GetUserGroupMembersContext(t.Context(), "S1SEC")
	require.NoError(t, err)
	require.Equal(t, []string{"U1ANN"}, members)
	w.SetUserGroup(workspace.UserGroup{ID: "S1SEC", Handle: "secops", Users: []string{"U2BOB"}})
	members, err = w.client.GetUserGroupMembersContext(t.Context(), "S1SEC")
	require.NoError(t, err)
	require.Equal(t, []string{"U2BOB"}, members)
	_, err = w.client.GetUserGroupMembersContext(t.Context(), "S9NONE")
	refused(t, "no_such_subteam", err)
	found, err := w.client.GetBotInfoContext(t.Context(), slack.GetBotInfoParameters{Bot: "B0WAFBOT"})
	require.NoError(t, err)
	require.Equal(t, "U0WAFBOT", found.UserID)
}

func TestConversations(t *testing.T) {
	t.Parallel()
	w := start(t, func(cfg *workspace.Config) { cfg.Scopes = append(workspace.DefaultScopes(), "channels:join") })
	list := func(p slack.GetConversationsParameters) (names []string, cursor string) {
		channels, cursor, err := w.client.GetConversationsContext(t.Context(), &p)
		require.NoError(t, err)
		for _, c := range channels {
			names = append(names, c.Name)
		}
		return names, cursor
	}
	names, _ := list(slack.GetConversationsParameters{Types: []string{"public_channel", "private_channel"}})
	require.Equal(t, []string{"waf", "nobot", "ours", "old"}, names, "no private channel the bot isn't in")
	names, _ = list(slack.GetConversationsParameters{ExcludeArchived: true})
	require.Equal(t, []string{"waf", "nobot"}, names)
	names, cursor := list(slack.GetConversationsParameters{Limit: 1})
	require.Equal(t, []string{"waf"}, names)
	names, _ = list(slack.GetConversationsParameters{Limit: 5, Cursor: cursor})
	require.Equal(t, []string{"nobot", "old"}, names)

	info, err := w.client.GetConversationInfoContext(t.Context(), &slack.GetConversationInfoInput{ChannelID: "C5OLD"})
	require.NoError(t, err)
	require.True(t, info.IsArchived)
	_, err = w.client.GetConversationInfoContext(t.Context(), &slack.GetConversationInfoInput{ChannelID: "G3PRIV"})
	refused(t, "channel_not_found", err)
	_, _, _, err = w.client.JoinConversationContext(t.Context(), "C2NOBOT")
	require.NoError(t, err)
	w.post(t, "C2NOBOT", slack.MsgOptionText("in", false))
	_, _, _, err = w.client.JoinConversationContext(t.Context(), "C5OLD")
	refused(t, "is_archived", err)
	members, _, err := w.client.GetUsersInConversationContext(t.Context(), &slack.GetUsersInConversationParameters{ChannelID: "G4OURS"})
	require.NoError(t, err)
	require.Equal(t, []string{"U0WAFBOT", "U1ANN"}, members)
}

func TestPace(t *testing.T) {
	t.Parallel()
	w := start(t, func(cfg *workspace.Config) { cfg.RateLimits = true })
	post := func(channel string) error {
		_, _, err := w.client.PostMessageContext(t.Context(), channel, slack.MsgOptionText("x", false))
		return err
	}
	for range 5 {
		require.NoError(t, post("C1WAF"))
	}
	var limited *slack.RateLimitedError
	require.ErrorAs(t, post("#waf"), &limited, "by name or id, it is one channel")
	require.Equal(t, time.Second, limited.RetryAfter)
	require.NoError(t, post("G4OURS"), "another channel has a pace of its own")
	status, header, body := raw(t, w.base+"/api/chat.postMessage", "application/json", `{"channel":"C1WAF","text":"x"}`)
	require.Equal(t, 429, status)
	require.Equal(t, "1", header.Get("Retry-After"))
	require.JSONEq(t, `{"ok":false,"error":"rate_limited","retry_after":1}`, body)
	w.clock.Advance(time.Second)
	require.NoError(t, post("C1WAF"))
	require.Error(t, post("C1WAF"))

	for range 20 {
		_, err := w.client.GetUserGroupsContext(t.Context())
		require.NoError(t, err)
	}
	_, err := w.client.GetUserGroupsContext(t.Context())
	require.ErrorAs(t, err, &limited)
	require.Equal(t, time.Minute, limited.RetryAfter)
	_, _, body = raw(t, w.base+"/api/usergroups.list", "application/json", `{}`)
	require.JSONEq(t, `{"ok":false,"error":"ratelimited"}`, body)
	w.clock.Advance(time.Minute)
	_, err = w.client.GetUserGroupsContext(t.Context())
	require.NoError(t, err)
}

// Edits have one limit in the whole workspace, whichever message or channel they are in; other methods and other workspaces have theirs.
func TestEditsAreLimitedInTheWholeWorkspace(t *testing.T) {
	t.Parallel()
	limits := func(cfg *workspace.Config) { cfg.RateLimits = true }
	w, other := start(t, limits), start(t, limits)
	places := map[string]string{"C1WAF": w.post(t, "C1WAF", slack.MsgOptionText("x", false)), "G4OURS": w.post(t, "G4OURS", slack.MsgOptionText("x", false))}
	edit := func(channel string) error {
		_, _, _, err := w.client.UpdateMessageContext(t.Context(), channel, places[channel], slack.MsgOptionText("y", false))
		return err
	}
	for range 25 {
		require.NoError(t, edit("C1WAF"))
		w.clock.Advance(time.Second)
		require.NoError(t, edit("G4OURS"))
	}
	var limited *slack.RateLimitedError
	for channel := range places {
		require.ErrorAs(t, edit(channel), &limited)
		require.Equal(t, 35*time.Second, limited.RetryAfter)
	}
	_, _, err := w.client.DeleteMessageContext(t.Context(), "C1WAF", places["C1WAF"])
	require.NoError(t, err, "another method")
	ts := other.post(t, "C1WAF", slack.MsgOptionText("x", false))
	_, _, _, err = other.client.UpdateMessageContext(t.Context(), "C1WAF", ts, slack.MsgOptionText("y", false))
	require.NoError(t, err, "another workspace")
	w.clock.Advance(34900 * time.Millisecond)
	require.ErrorAs(t, edit("G4OURS"), &limited)
	w.clock.Advance(100 * time.Millisecond)
	require.NoError(t, edit("G4OURS"))
	require.Error(t, edit("G4OURS"), "one of the last minute is over, and no more")
}

// Whoever doesn't wait as long as Retry-After says is refused again.
func TestRetryAfterHolds(t *testing.T) {
	t.Parallel()
	w := start(t, func(cfg *workspace.Config) { cfg.RateLimits = true })
	post := func() error {
		_, _, err := w.client.PostMessageContext(t.Context(), "C1WAF", slack.MsgOptionText("x", false))
		return err
	}
	for range 5 {
		require.NoError(t, post())
	}
	w.clock.Advance(900 * time.Millisecond)
	require.Error(t, post())
	w.clock.Advance(500 * time.Millisecond) // a second after the burst there is room for one, but Slack said to wait for one
	require.Error(t, post())
	w.clock.Advance(500 * time.Millisecond)
	require.NoError(t, post())
}

func TestTooManyMessagesAreHidden(t *testing.T) {
	t.Parallel()
	channels := []workspace.Channel{}
	for i := range 61 {
		channels = append(channels, workspace.Channel{ID: fmt.Sprintf("C%d", i), Name: fmt.Sprintf("c%d", i), BotIsMember: true})
	}
	w := start(t, func(cfg *workspace.Config) { cfg.RateLimits, cfg.Channels = true, channels })
	for i := range 301 {
		w.post(t, fmt.Sprintf("C%d", i/5), slack.MsgOptionText("x", false)) // each is taken
	}
	require.Len(t, w.Messages("#c59"), 5)
	require.Empty(t, w.Messages("#c60"))
	require.Equal(t, []int{0, 1}, []int{w.Hidden("#c59"), w.Hidden("#c60")})
	w.clock.Advance(time.Minute)
	w.post(t, "C60", slack.MsgOptionText("x", false))
	require.Len(t, w.Messages("#c60"), 1)
}

func TestEditsAreRefusedByAFaultOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.SetFault(workspace.Fault{Kind: "edit_window_closed"})
	ts := w.post(t, "C1WAF", slack.MsgOptionText("x", false))
	_, _, _, err := w.client.UpdateMessageContext(t.Context(), "C1WAF", ts, slack.MsgOptionText("y", false))
	refused(t, "edit_window_closed", err)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind   string
		err    string
		posted int
	}{
		{"ratelimited", "slack rate limit exceeded, retry after 7s", 0},
		{"ratelimited_posted", "slack rate limit exceeded, retry after 7s", 1},
		{"500", "500", 0},
		{"500_posted", "500", 1},
		{"timeout", "context deadline exceeded", 0},
		{"timeout_posted", "context deadline exceeded", 1},
		{"archived", "is_archived", 0},
		{"missing_scope", "missing_scope", 0},
		{"token_revoked", "token_revoked", 0},
		{"fatal_error", "fatal_error", 0},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: test.kind, Channel: "#waf", RetryAfter: 7, Times: 1})
			w.post(t, "G4OURS", slack.MsgOptionText("elsewhere", false))
			_, err := w.client.AuthTestContext(t.Context())
			require.NoError(t, err, "another method")
			limit := time.Minute
			if strings.HasPrefix(test.kind, "timeout") {
				limit = 3 * time.Second // in which the post arrives on a busy machine, too
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, _, err = w.client.PostMessageContext(ctx, "C1WAF", slack.MsgOptionText("x", false))
			require.ErrorContains(t, err, test.err)
			require.Len(t, w.Messages("#waf"), test.posted)
			w.post(t, "C1WAF", slack.MsgOptionText("once only", false))
			require.Len(t, w.Messages("#waf"), test.posted+1)
		})
	}
}

func TestFaultsOfDeliveriesAndResponses(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.SetFault(workspace.Fault{Kind: "lost_click"})
	d := w.command(t)
	require.NotEmpty(t, d.Warning)
	require.Empty(t, w.bot.got())
	w.ClearFaults()
	w.SetFault(workspace.Fault{Kind: "duplicate_delivery", Times: 1})
	w.command(t)
	got := w.bot.got()
	require.Len(t, got, 2)
	require.Equal(t, got[0].body, got[1].body)
	d = w.command(t)
	require.Len(t, w.bot.got(), 3)
	w.SetFault(workspace.Fault{Method: "response_url", Kind: "500", Times: 2})
	for _, want := range []int{500, 500, 200} {
		status, _ := answer(t, d.ResponseURL, `{"text":"x"}`)
		require.Equal(t, want, status)
	}
	require.Len(t, w.Ephemerals("ann"), 1)
}

func TestViews(t *testing.T) {
	t.Parallel()
	w := start(t)
	modal := func(title string) slack.ModalViewRequest {
		return slack.ModalViewRequest{
			Type: slack.VTModal, Title: plain(title), CallbackID: "more", PrivateMetadata: "m",
			Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewSectionBlock(mrkdwn("text"), nil, nil)}},
		}
	}
	trigger := func() string {
		w.command(t)
		got := w.bot.got()
		return got[len(got)-1].form.Get("trigger_id")
	}
	once := trigger()
	_, err := w.client.OpenViewContext(t.Context(), once, modal(strings.Repeat("x", 25)))
	refused(t, "invalid_arguments", err)
	input := modal("Input")
	input.Blocks.BlockSet = []slack.Block{slack.NewInputBlock("b", plain("Why"), nil, slack.NewPlainTextInputBlockElement(nil, "why"))}
	_, err = w.client.OpenViewContext(t.Context(), once, input)
	refused(t, "invalid_arguments", err)

	opened, err := w.client.OpenViewContext(t.Context(), once, modal("More"))
	require.NoError(t, err)
	_, err = w.client.OpenViewContext(t.Context(), once, modal("More"))
	refused(t, "exchanged_trigger_id", err)
	late := trigger()
	w.clock.Advance(3*time.Second + time.Millisecond)
	_, err = w.client.OpenViewContext(t.Context(), late, modal("More"))
	refused(t, "expired_trigger_id", err)
	_, err = w.client.OpenViewContext(t.Context(), "made.up", modal("More"))
	refused(t, "invalid_trigger_id", err)

	updated, err := w.client.UpdateViewContext(t.Context(), modal("Loaded"), "", opened.Hash, opened.ID)
	require.NoError(t, err)
	require.NotEqual(t, opened.Hash, updated.Hash)
	_, err = w.client.UpdateViewContext(t.Context(), modal("Again"), "", opened.Hash, opened.ID)
	refused(t, "hash_conflict", err)
	_, err = w.client.UpdateViewContext(t.Context(), modal("x"), "", "", "V9NONE")
	refused(t, "not_found", err)
	home := slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: modal("").Blocks}
	_, err = w.client.PublishViewContext(t.Context(), slack.PublishViewContextRequest{UserID: "U1ANN", View: home})
	require.NoError(t, err)
	require.Equal(t, []string{"modal U1ANN more", "home U1ANN "}, views(w))
}

func views(w *world) (lines []string) {
	for _, v := range w.Views() {
		lines = append(lines, fmt.Sprintf("%s %s %s", v.Type, v.User, v.CallbackID))
	}
	return lines
}
