package workspace_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// form is a modal with an input of each kind that people use, and what lies around them.
const form = `{"type":"modal","callback_id":"deny","private_metadata":"m1","notify_on_close":true,
"title":{"type":"plain_text","text":"Deny"},"submit":{"type":"plain_text","text":"Deny it"},"close":{"type":"plain_text","text":"Leave"},
"blocks":[
 {"type":"section","block_id":"what","text":{"type":"mrkdwn","text":"*203.0.113.7* attacks"}},
 {"type":"input","block_id":"why","label":{"type":"plain_text","text":"Reason"},"hint":{"type":"plain_text","text":"One line."},
  "element":{"type":"plain_text_input","action_id":"text","min_length":3,"max_length":10,"placeholder":{"type":"plain_text","text":"as a scanner"}}},
 {"type":"input","block_id":"long","label":{"type":"plain_text","text":"How long"},
  "element":{"type":"static_select","action_id":"long_pick","initial_option":{"text":{"type":"plain_text","text":"4 hours"},"value":"4h"},
   "options":[{"text":{"type":"plain_text","text":"1 hour"},"value":"1h"},{"text":{"type":"plain_text","text":"4 hours"},"value":"4h"}]}},
 {"type":"input","block_id":"apps","label":{"type":"plain_text","text":"Applications"},"optional":true,
  "element":{"type":"multi_static_select","action_id":"apps_pick","max_selected_items":2,
   "option_groups":[{"label":{"type":"plain_text","text":"All"},"options":[{"text":{"type":"plain_text","text":"Shop"},"value":"4"},
    {"text":{"type":"plain_text","text":"Legacy"},"value":"7"},{"text":{"type":"plain_text","text":"Portal"},"value":"9"}]}]}},
 {"type":"input","block_id":"list","label":{"type":"plain_text","text":"List"},"optional":true,
  "element":{"type":"radio_buttons","action_id":"list_pick","options":[{"text":{"type":"plain_text","text":"Black"},"value":"black"},{"text":{"type":"plain_text","text":"Gray"},"value":"gray"}]}},
 {"type":"input","block_id":"also","label":{"type":"plain_text","text":"Also"},"optional":true,
  "element":{"type":"checkboxes","action_id":"also_pick","options":[{"text":{"type":"plain_text","text":"Tell others"},"value":"tell"},{"text":{"type":"plain_text","text":"Watch"},"value":"watch"}]}},
 {"type":"input","block_id":"who","label":{"type":"plain_text","text":"Hand over to"},"optional":true,"element":{"type":"users_select","action_id":"who_pick"}},
 {"type":"input","block_id":"team","label":{"type":"plain_text","text":"Tell"},"optional":true,"element":{"type":"multi_users_select","action_id":"team_pick"}},
 {"type":"input","block_id":"count","label":{"type":"plain_text","text":"Hits"},"optional":true,
  "element":{"type":"number_input","action_id":"n","is_decimal_allowed":false,"min_value":"1","max_value":"50"}},
 {"type":"input","block_id":"day","label":{"type":"plain_text","text":"Until"},"optional":true,"element":{"type":"datepicker","action_id":"d"}},
 {"type":"input","block_id":"acts","label":{"type":"plain_text","text":"Kind"},"optional":true,"dispatch_action":true,
  "element":{"type":"static_select","action_id":"kind","options":[{"text":{"type":"plain_text","text":"Subnet"},"value":"subnet"}]}},
 {"type":"actions","block_id":"row","elements":[{"type":"button","action_id":"more","value":"v","text":{"type":"plain_text","text":"More"},
  "confirm":{"title":{"type":"plain_text","text":"Sure?"},"text":{"type":"plain_text","text":"Really"},"confirm":{"type":"plain_text","text":"Yes"},"deny":{"type":"plain_text","text":"No"}}},
  {"type":"static_select","action_id":"page","options":[{"text":{"type":"plain_text","text":"Page 2"},"value":"2"}]}]}
]}`

// simple is a modal with one text input. Its name makes several distinguishable.
func simple(name string) string {
	return fmt.Sprintf(`{"type":"modal","callback_id":%q,"title":{"type":"plain_text","text":%q},"submit":{"type":"plain_text","text":"Go"},
	"blocks":[{"type":"input","block_id":"b","label":{"type":"plain_text","text":"Text"},"optional":true,"element":{"type":"plain_text_input","action_id":"a"}}]}`, name, name)
}

// call calls a method and returns its answer.
func (w *world) call(t *testing.T, method string, args map[string]any) map[string]any {
	t.Helper()
	body, err := json.Marshal(args)
	require.NoError(t, err)
	_, _, answered := raw(t, w.base+"/api/"+method, "application/json", string(body))
	var answer map[string]any
	require.NoError(t, json.Unmarshal([]byte(answered), &answer))
	return answer
}

// trigger is the trigger of a command that ann typed just now.
func (w *world) trigger(t *testing.T) string {
	t.Helper()
	w.command(t)
	got := w.bot.got()
	return got[len(got)-1].form.Get("trigger_id")
}

// open opens a modal for ann.
func (w *world) open(t *testing.T, view string) workspace.View {
	t.Helper()
	answer := w.call(t, "views.open", map[string]any{"trigger_id": w.trigger(t), "view": json.RawMessage(view)})
	require.Equal(t, true, answer["ok"], "%v", answer)
	return *w.OpenView("ann")
}

// payload is what the bot was sent last.
func (w *world) payload(t *testing.T) map[string]any {
	t.Helper()
	got := w.bot.got()
	var payload map[string]any
	require.NoError(t, json.Unmarshal([]byte(got[len(got)-1].form.Get("payload")), &payload))
	return payload
}

func (w *world) submit(t *testing.T, values map[string]any) workspace.Submitted {
	t.Helper()
	s, err := w.Submit(t.Context(), workspace.Submission{User: "ann", Values: values})
	require.NoError(t, err)
	return s
}

func TestASubmissionCarriesWhatWasFilledIn(t *testing.T) {
	t.Parallel()
	w := start(t)
	opened := w.open(t, form)
	s := w.submit(t, map[string]any{
		"Reason": "scanner", "apps": []string{"Shop", "9"}, "List": "gray", "Also": "Watch", "Hand over": "bob", "Tell": []any{"ann", "U2BOB"}, "n": 7, "Until": "2026-11-30",
	})
	require.Equal(t, workspace.OutcomeClosed, s.Outcome)
	require.True(t, s.Acked)
	require.Nil(t, s.View)
	got := w.bot.got()
	require.Equal(t, "/slack/interactions", got[len(got)-1].path)
	require.Equal(t, signature(got[len(got)-1]), got[len(got)-1].header.Get("X-Slack-Signature"))

	payload := w.payload(t)
	view := payload["view"].(map[string]any)
	require.Equal(t, []any{"view_submission", []any{}, "deny", "m1", opened.ID, opened.Hash, opened.ID, nil},
		[]any{payload["type"], payload["response_urls"], view["callback_id"], view["private_metadata"], view["id"], view["hash"], view["root_view_id"], view["previous_view_id"]})
	require.Equal(t, map[string]any{"id": "U1ANN", "username": "ann", "name": "ann", "team_id": "T0SANDBOX"}, payload["user"])
	require.Equal(t, "T0SANDBOX", payload["team"].(map[string]any)["id"])
	values, err := json.Marshal(view["state"].(map[string]any)["values"])
	require.NoError(t, err)
	option := func(text, value string) string {
		return fmt.Sprintf(`{"text":{"type":"plain_text","text":%q},"value":%q}`, text, value)
	}
	require.JSONEq(t, `{
	 "why":{"text":{"type":"plain_text_input","value":"scanner"}},
	 "long":{"long_pick":{"type":"static_select","selected_option":`+option("4 hours", "4h")+`}},
	 "apps":{"apps_pick":{"type":"multi_static_select","selected_options":[`+option("Shop", "4")+`,`+option("Portal", "9")+`]}},
	 "list":{"list_pick":{"type":"radio_buttons","selected_option":`+option("Gray", "gray")+`}},
	 "also":{"also_pick":{"type":"checkboxes","selected_options":[`+option("Watch", "watch")+`]}},
	 "who":{"who_pick":{"type":"users_select","selected_user":"U2BOB"}},
	 "team":{"team_pick":{"type":"multi_users_select","selected_users":["U1ANN","U2BOB"]}},
	 "count":{"n":{"type":"number_input","value":"7"}},
	 "day":{"d":{"type":"datepicker","selected_date":"2026-11-30"}},
	 "acts":{"kind":{"type":"static_select","selected_option":null}},
	 "row":{"page":{"type":"static_select","selected_option":null}}}`, string(values))
	var callback slack.InteractionCallback
	require.NoError(t, json.Unmarshal([]byte(got[len(got)-1].form.Get("payload")), &callback))
	require.Equal(t, "scanner", callback.View.State.Values["why"]["text"].Value)
	_, err = w.Submit(t.Context(), workspace.Submission{User: "ann"})
	require.Error(t, err, "it is closed")
}

func TestTheClientSendsNothingIncomplete(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.open(t, form)
	before := len(w.bot.got())
	s := w.submit(t, map[string]any{"How long": ""})
	require.Equal(t, workspace.OutcomeIncomplete, s.Outcome)
	require.Equal(t, map[string]string{"Reason": "Please complete this required field.", "How long": "Please complete this required field."}, s.Errors)
	require.Empty(t, s.Via)
	require.NotNil(t, s.View)
	for values, problem := range map[string]string{
		`{"Reason":"no"}`: "Please enter at least 3 characters.", `{"Reason":"much too long"}`: "Please enter at most 10 characters.",
		`{"Hits":"x"}`: "Please enter a number.", `{"Hits":"1.5"}`: "Please enter a whole number.", `{"Hits":0}`: "Please enter 1 or more.", `{"Hits":51}`: "Please enter 50 or less.",
	} {
		given := map[string]any{"How long": "1h", "Reason": "fine", "Hits": ""}
		require.NoError(t, json.Unmarshal([]byte(values), &given))
		require.Equal(t, []string{problem}, slices.Collect(maps.Values(w.submit(t, given).Errors)), values)
	}
	for _, values := range []map[string]any{
		{"How long": "9 hours"}, {"Nothing": "x"}, {"Applications": []string{"4", "7", "9"}}, {"How long": []string{"1h", "4h"}},
		{"Hand over to": "nobody"}, {"Until": "tomorrow"}, {"": "1h"}, {"Reason": struct{}{}},
	} {
		_, err := w.Submit(t.Context(), workspace.Submission{User: "ann", Values: values})
		require.Error(t, err, "%v", values)
	}
	require.Len(t, w.bot.got(), before)
	_, err := w.Submit(t.Context(), workspace.Submission{User: "bob"})
	require.ErrorContains(t, err, "sees no view")
}

func TestModalsLieOverEachOther(t *testing.T) {
	t.Parallel()
	w := start(t)
	push := func(trigger, name string) map[string]any {
		return w.call(t, "views.push", map[string]any{"trigger_id": trigger, "view": json.RawMessage(simple(name))})
	}
	clicked := func() string {
		_, err := w.Click(t.Context(), workspace.Click{User: "ann", View: "modal", Button: "go"})
		require.NoError(t, err)
		return w.payload(t)["trigger_id"].(string)
	}
	button := `,{"type":"actions","elements":[{"type":"button","action_id":"go","text":{"type":"plain_text","text":"Go on"}}]}]}`
	withButton := strings.TrimSuffix(simple("first"), "]}") + button
	require.Equal(t, "not_found", push(w.trigger(t), "x")["error"], "no modal is open")
	first := w.open(t, withButton)
	require.Equal(t, true, push(clicked(), "second")["ok"])
	second := w.OpenView("ann")
	require.Equal(t, 1, second.Depth)
	_, err := w.Click(t.Context(), workspace.Click{User: "ann", View: first.ID, Button: "go"})
	require.Error(t, err, "it lies beneath")
	w.bot.will(200, `{"response_action":"push","view":`+withButton+`}`)
	require.Equal(t, workspace.OutcomePushed, w.submit(t, nil).Outcome)
	w.bot.will(200, "")
	wire := w.payload(t)["view"].(map[string]any)
	require.Equal(t, []any{first.ID, first.ID, second.ID}, []any{wire["previous_view_id"], wire["root_view_id"], wire["id"]})
	require.Equal(t, "push_limit_reached", push(clicked(), "fourth")["error"])
	require.Equal(t, "push_limit_reached", w.call(t, "views.open", map[string]any{"trigger_id": clicked(), "view": json.RawMessage(simple("x"))})["error"])

	_, err = w.CloseView(t.Context(), workspace.Closing{User: "ann"})
	require.NoError(t, err)
	require.Equal(t, second.ID, w.OpenView("ann").ID, "what was beneath is seen again")
	update := w.call(t, "views.update", map[string]any{"view_id": first.ID, "view": json.RawMessage(simple("beneath"))})
	require.Equal(t, true, update["ok"], "also what lies beneath can be updated")
	require.Equal(t, workspace.OutcomeClosed, w.submit(t, nil).Outcome)
	require.Equal(t, "beneath", w.OpenView("ann").CallbackID)
	w.open(t, simple("second"))
	require.Len(t, w.Views(), 1, "another stack begins")
}

func TestClosingAModal(t *testing.T) {
	t.Parallel()
	w := start(t)
	opened := w.open(t, form)
	sent, err := w.CloseView(t.Context(), workspace.Closing{User: "ann"})
	require.NoError(t, err)
	require.Len(t, sent, 1)
	payload := w.payload(t)
	require.Equal(t, []any{"view_closed", false, opened.ID}, []any{payload["type"], payload["is_cleared"], payload["view"].(map[string]any)["id"]})
	for _, update := range []map[string]any{{"view_id": opened.ID}, {"external_id": "never"}} {
		update["view"] = json.RawMessage(form)
		require.Equal(t, "not_found", w.call(t, "views.update", update)["error"])
	}
	_, err = w.CloseView(t.Context(), workspace.Closing{User: "ann"})
	require.Error(t, err)

	w.open(t, simple("quiet"))
	sent, err = w.CloseView(t.Context(), workspace.Closing{User: "ann", All: true})
	require.NoError(t, err)
	require.Empty(t, sent, "it didn't say notify_on_close")
	w.open(t, form)
	_, err = w.CloseView(t.Context(), workspace.Closing{User: "ann", All: true})
	require.NoError(t, err)
	require.Equal(t, true, w.payload(t)["is_cleared"])
}

func TestClicksInAModal(t *testing.T) {
	t.Parallel()
	w := start(t)
	opened := w.open(t, form)
	d, err := w.Click(t.Context(), workspace.Click{User: "ann", View: opened.ID, Button: "More", Values: map[string]any{"Reason": "half", "page": "2"}})
	require.NoError(t, err)
	require.Empty(t, d.ResponseURL)
	payload := w.payload(t)
	for _, key := range []string{"response_url", "channel", "message"} {
		require.NotContains(t, payload, key)
	}
	require.Equal(t, map[string]any{"type": "view", "view_id": opened.ID}, payload["container"])
	require.NotEmpty(t, payload["trigger_id"])
	values := payload["view"].(map[string]any)["state"].(map[string]any)["values"].(map[string]any)
	require.Equal(t, map[string]any{"text": map[string]any{"type": "plain_text_input", "value": "half"}}, values["why"])
	action := payload["actions"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"button", "more", "row", "v"}, []any{action["type"], action["action_id"], action["block_id"], action["value"]})

	for name, chosen := range map[string]string{"Kind": "subnet", "page": "2"} {
		_, err = w.Click(t.Context(), workspace.Click{User: "ann", View: "modal", Button: name, Values: map[string]any{name: chosen}})
		require.NoError(t, err)
		action = w.payload(t)["actions"].([]any)[0].(map[string]any)
		require.Equal(t, []any{"static_select", chosen}, []any{action["type"], action["selected_option"].(map[string]any)["value"]})
	}
	sent := len(w.bot.got())
	_, err = w.Click(t.Context(), workspace.Click{User: "ann", View: "modal", Button: "Reason"})
	require.Error(t, err, "it didn't say dispatch_action")
	_, err = w.Click(t.Context(), workspace.Click{User: "ann", View: "modal", Button: "Kind", Cancel: true})
	require.Error(t, err, "no question")
	_, err = w.Click(t.Context(), workspace.Click{User: "ann", View: "modal", Button: "More", Cancel: true})
	require.NoError(t, err)
	require.Len(t, w.bot.got(), sent)
	require.Equal(t, "More", opened.Buttons()[0].Label)
}

func TestAnUpdateKeepsWhatWasFilledInUnderTheSameIDs(t *testing.T) {
	t.Parallel()
	w := start(t)
	opened := w.open(t, form)
	_, err := w.Click(t.Context(), workspace.Click{User: "ann", View: "modal", Button: "More", Values: map[string]any{"Reason": "half", "How long": "1h", "Also": "tell"}})
	require.NoError(t, err)
	next := strings.NewReplacer(`"block_id":"also"`, `"block_id":"also2"`, `{"text":{"type":"plain_text","text":"1 hour"},"value":"1h"},`, "").Replace(form)
	w.call(t, "views.update", map[string]any{"view_id": opened.ID, "view": json.RawMessage(next)})
	require.Equal(t, strings.Join([]string{
		"Deny", "*203.0.113.7* attacks", "Reason: [half] One line.", "How long: [4 hours]", "Applications (optional): []", "List (optional): ( ) Black ( ) Gray",
		"Also (optional): [ ] Tell others [ ] Watch", "Hand over to (optional): []", "Tell (optional): []", "Hits (optional): []", "Until (optional): []",
		"Kind (optional): []", "[More] []", "[Deny it]", "[Leave]",
	}, "\n"), w.OpenView("ann").Plain())
	require.Contains(t, opened.Plain(), "Reason: [as a scanner] One line.")
}
