package workspace

import (
	"encoding/json"
	"reflect"
	"slices"
)

// fieldKind is a kind of element that keeps what a person typed or chose.
type fieldKind struct {
	initial string // the key of what it begins with
	value   string // the key of what it holds, in a payload
	of      string // text, number, email, url, option, user, conversation, channel, date, time, seconds; empty: nothing that can be filled in here
	many    bool
}

// fieldKinds are the kinds there are, by the type of the element.
func fieldKinds() map[string]fieldKind {
	return map[string]fieldKind{
		"plain_text_input":           {"initial_value", "value", "text", false},
		"number_input":               {"initial_value", "value", "number", false},
		"email_text_input":           {"initial_value", "value", "email", false},
		"url_text_input":             {"initial_value", "value", "url", false},
		"static_select":              {"initial_option", "selected_option", "option", false},
		"radio_buttons":              {"initial_option", "selected_option", "option", false},
		"multi_static_select":        {"initial_options", "selected_options", "option", true},
		"checkboxes":                 {"initial_options", "selected_options", "option", true},
		"users_select":               {"initial_user", "selected_user", "user", false},
		"multi_users_select":         {"initial_users", "selected_users", "user", true},
		"conversations_select":       {"initial_conversation", "selected_conversation", "conversation", false},
		"multi_conversations_select": {"initial_conversations", "selected_conversations", "conversation", true},
		"channels_select":            {"initial_channel", "selected_channel", "channel", false},
		"multi_channels_select":      {"initial_channels", "selected_channels", "channel", true},
		"datepicker":                 {"initial_date", "selected_date", "date", false},
		"timepicker":                 {"initial_time", "selected_time", "time", false},
		"datetimepicker":             {"initial_date_time", "selected_date_time", "seconds", false},
		"external_select":            {"initial_option", "selected_option", "", false},
		"multi_external_select":      {"initial_options", "selected_options", "", true},
		"rich_text_input":            {"initial_value", "rich_text_value", "", false},
		"file_input":                 {"", "files", "", true},
	}
}

// field is an element of a view that can be filled in.
type field struct {
	blockID, actionID string
	label             string // of its input block, or the text of its section
	element           map[string]any
	kind              fieldKind
	input             bool // it stands in an input block, and goes with the submission
	optional          bool
	acts              bool // every change sends a block_actions payload
}

// fields lists what can be filled in, in order.
func (v *openView) fields() []field {
	kinds := fieldKinds()
	var fields []field
	for _, block := range v.blocks() {
		for _, element := range interactive(block) {
			name, _ := element["type"].(string)
			kind, known := kinds[name]
			if !known {
				continue
			}
			f := field{element: element, kind: kind, input: block["type"] == "input"}
			f.blockID, _ = block["block_id"].(string)
			f.actionID, _ = element["action_id"].(string)
			f.optional, _ = block["optional"].(bool)
			dispatches, _ := block["dispatch_action"].(bool)
			f.acts = !f.input || dispatches
			f.label = plainBlock(block["label"])
			if !f.input {
				f.label = plainBlock(block["text"])
			}
			fields = append(fields, f)
		}
	}
	return fields
}

// fresh is what a view holds when it is shown: what was filled in before, where the same element is still there, else what it begins with.
func (v *openView) fresh(before state) state {
	values := state{}
	for _, f := range v.fields() {
		if values[f.blockID] == nil {
			values[f.blockID] = map[string]answer{}
		}
		value := f.answer(f.element[f.kind.initial])
		if earlier, ok := before[f.blockID][f.actionID]; ok && earlier["type"] == f.element["type"] && f.offers(earlier[f.kind.value]) {
			value = earlier
		}
		values[f.blockID][f.actionID] = value
	}
	return values
}

// answer is what a payload says of a field that holds a value.
func (f field) answer(value any) answer {
	if value == nil && f.kind.many {
		value = []any{}
	}
	return answer{"type": f.element["type"], f.kind.value: value}
}

// offers tells whether all that was chosen can still be.
func (f field) offers(value any) bool {
	if f.kind.of != "option" || value == nil {
		return true
	}
	chosen, isList := value.([]any)
	if !isList {
		chosen = []any{value}
	}
	options := f.options()
	return !slices.ContainsFunc(chosen, func(choice any) bool {
		return !slices.ContainsFunc(options, func(option map[string]any) bool { return sameJSON(option, choice) })
	})
}

// options lists the options of a select, those of its groups included.
func (f field) options() []map[string]any { return options(f.element) }

func options(element map[string]any) []map[string]any {
	var found []map[string]any
	add := func(list any) {
		items, _ := list.([]any)
		for _, item := range items {
			option, _ := item.(map[string]any)
			found = append(found, option)
		}
	}
	add(element["options"])
	groups, _ := element["option_groups"].([]any)
	for _, g := range groups {
		group, _ := g.(map[string]any)
		add(group["options"])
	}
	return found
}

func sameJSON(a, b any) bool {
	var x, y any
	_ = json.Unmarshal(marshal(a), &x) // both were JSON before
	_ = json.Unmarshal(marshal(b), &y)
	return reflect.DeepEqual(x, y)
}
