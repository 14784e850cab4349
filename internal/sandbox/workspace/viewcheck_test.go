package workspace_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestViewsThatSlackRefuses(t *testing.T) {
	t.Parallel()
	w := start(t)
	input := func(element string) string {
		return `{"type":"modal","title":{"type":"plain_text","text":"t"},"submit":{"type":"plain_text","text":"s"},
		"blocks":[{"type":"input","label":{"type":"plain_text","text":"l"},"element":` + element + `}]}`
	}
	options := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"text":{"type":"plain_text","text":"x"},"value":"y"},`, n), ",") + "]"
	}
	long := strings.Repeat("x", 76)
	for view, problem := range map[string]string{
		strings.Replace(form, `"block_id":"long"`, `"block_id":"why"`, 1):    "block_id already exists: why",
		strings.Replace(form, `"action_id":"page"`, `"action_id":"more"`, 1): "action_id already exists: more",
		strings.Replace(simple("x"), `"submit"`, `"close"`, 1):               "submit is required when inputs are present",
		simple(long): "must be less than 25 characters",
		strings.Replace(simple("x"), `"Go"`, `"`+long+`"`, 1):                                                                                  "must be less than 25 characters",
		strings.Replace(simple("x"), `"callback_id"`, `"private_metadata":"`+strings.Repeat("m", 3001)+`","callback_id"`, 1):                   "must be less than 3001 characters",
		strings.Replace(simple("x"), `"callback_id"`, `"external_id":"`+strings.Repeat("m", 256)+`","callback_id"`, 1):                         "must be less than 256 characters",
		input(`{"type":"static_select","options":` + options(101) + `}`):                                                                       "no more than 100 items",
		input(`{"type":"static_select","options":[]}`):                                                                                         "no less than 1 items",
		input(`{"type":"static_select","option_groups":[{"label":{"type":"plain_text","text":"` + long + `"},"options":` + options(1) + `}]}`): "must be less than 76 characters",
		input(`{"type":"static_select","option_groups":[{"label":{"type":"plain_text","text":"l"},"options":` + options(101) + `}]}`):          "no more than 100 items",
		input(`{"type":"static_select","option_groups":[{"label":{"type":"plain_text","text":"l"},"options":[]}]}`):                            "no less than 1 items",
		input(`{"type":"static_select"}`):                               "either options or option_groups",
		input(`{"type":"radio_buttons","options":` + options(11) + `}`): "no more than 10 items",
		input(`{"type":"static_select","options":[{"text":{"type":"plain_text","text":"x"},"value":"` + long + long + `"}]}`):                 "must be less than 151 characters",
		input(`{"type":"static_select","options":[{"text":{"type":"plain_text","text":"x"}}]}`):                                               "missing required field: value",
		input(`{"type":"static_select","options":` + options(1) + `,"initial_option":{"text":{"type":"plain_text","text":"x"},"value":"z"}}`): "initial_option must be among",
		input(`{"type":"plain_text_input","min_length":5,"max_length":4}`):                                                                    "must not be greater than max_length",
		input(`{"type":"plain_text_input","max_length":3001}`):                                                                                "must be between 1 and 3000",
		input(`{"type":"plain_text_input","max_length":3,"initial_value":"four"}`):                                                            "must be less than 4 characters",
		input(`{"type":"datepicker","initial_date":"30.11.2026"}`):                                                                            "must be a date",
		input(`{"type":"button","text":{"type":"plain_text","text":"x"}}`):                                                                    "unsupported type",
		strings.Replace(simple("x"), `"input"`, `"markdown"`, 1):                                                                              "unsupported type",
		`{"type":"modal","title":{"type":"plain_text","text":"t"},"blocks":[{"type":"card","title":{"type":"plain_text","text":"x"}}]}`:       "card",
		`{"type":"home","blocks":[{"type":"divider"}]}`:                                                                                       "unsupported type: home",
	} {
		answer := w.call(t, "views.open", map[string]any{"trigger_id": w.trigger(t), "view": json.RawMessage(view)})
		require.Equal(t, "invalid_arguments", answer["error"], view)
		require.Contains(t, fmt.Sprint(answer["response_metadata"]), problem, view)
	}
	two := strings.TrimSuffix(input(`{"type":"plain_text_input","focus_on_load":true}`), "]}") + `,{"type":"input","label":{"type":"plain_text","text":"l"},"element":{"type":"plain_text_input","focus_on_load":true}}]}`
	answer := w.call(t, "views.open", map[string]any{"trigger_id": w.trigger(t), "view": json.RawMessage(two)})
	require.Contains(t, fmt.Sprint(answer["response_metadata"]), "focus_on_load")
	large := `{"type":"modal","title":{"type":"plain_text","text":"` + strings.Repeat("x", 251<<10) + `"}}`
	require.Equal(t, "view_too_large", w.call(t, "views.open", map[string]any{"trigger_id": w.trigger(t), "view": json.RawMessage(large)})["error"])
	require.Nil(t, w.OpenView("ann"))
}
