package blockkit

import (
	"encoding/json"
	"reflect"
	"slices"
)

// fieldKind is a kind of element that keeps what a person typed or chose.
type fieldKind struct {
	initial string // the key of its initial value
	value   string // the key of its value in a payload
	of      string // text, number, email, url, option, user, conversation, channel, date, time, seconds; empty: can't be filled in here
	many    bool
}

// fieldKinds returns the kinds by the type of the element.
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

// Field is an element of a view that can be filled in.
type Field struct {
	BlockID, ActionID string
	Label             string // of its input block, or the text of its section
	Element           map[string]any
	Input             bool // it stands in an input block and goes with the submission
	Dispatches        bool // every change sends a block_actions payload

	kind     fieldKind
	optional bool
}

// Fields lists the fields of blocks in order.
func Fields(blocks []map[string]any) []Field {
	kinds := fieldKinds()
	var fields []Field
	for _, block := range blocks {
		for _, element := range interactive(block) {
			name, _ := element["type"].(string)
			kind, known := kinds[name]
			if !known {
				continue
			}
			f := Field{Element: element, kind: kind, Input: block["type"] == "input"}
			f.BlockID, _ = block["block_id"].(string)
			f.ActionID, _ = element["action_id"].(string)
			f.optional, _ = block["optional"].(bool)
			dispatches, _ := block["dispatch_action"].(bool)
			f.Dispatches = !f.Input || dispatches
			f.Label = Plain(block["label"])
			if !f.Input {
				f.Label = Plain(block["text"])
			}
			fields = append(fields, f)
		}
	}
	return fields
}

// State is what is filled in, by block id and action id, as payloads have it.
type State map[string]map[string]map[string]any

// NewState is the state of fields when they are shown: values of before where the same element is still there, else initial values.
func NewState(fields []Field, before State) State {
	values := State{}
	for _, f := range fields {
		value := f.answer(f.Element[f.kind.initial])
		if earlier, ok := before[f.BlockID][f.ActionID]; ok && earlier["type"] == f.Element["type"] && f.offers(earlier[f.kind.value]) {
			value = earlier
		}
		if values[f.BlockID] == nil {
			values[f.BlockID] = map[string]map[string]any{}
		}
		values[f.BlockID][f.ActionID] = value
	}
	return values
}

// Set fills in a field.
func (s State) Set(f Field, value any) { s[f.BlockID][f.ActionID] = f.answer(value) }

func (s State) value(f Field) any { return s[f.BlockID][f.ActionID][f.kind.value] }

// ShowState writes the state of fields into their elements, in place of the initial values.
func ShowState(fields []Field, s State) {
	for _, f := range fields {
		f.Element[f.kind.initial] = s.value(f)
	}
}

// answer is a field with a value as payloads have it.
func (f Field) answer(value any) map[string]any {
	if value == nil && f.kind.many {
		value = []any{}
	}
	return map[string]any{"type": f.Element["type"], f.kind.value: value}
}

// offers reports whether everything chosen is still among the options.
func (f Field) offers(value any) bool {
	if f.kind.of != "option" || value == nil {
		return true
	}
	chosen, isList := value.([]any)
	if !isList {
		chosen = []any{value}
	}
	options := options(f.Element)
	return !slices.ContainsFunc(chosen, func(choice any) bool {
		return !slices.ContainsFunc(options, func(option map[string]any) bool { return sameJSON(option, choice) })
	})
}

// options lists the options of a select, those of its groups included.
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
	_ = json.Unmarshal(marshal(a), &x) // both come from JSON
	_ = json.Unmarshal(marshal(b), &y)
	return reflect.DeepEqual(x, y)
}

func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // v comes from JSON
	}
	return raw
}
