package blockkit

import (
	"fmt"
	"slices"
	"strings"
)

// plainInput is the text of an input: label, value, hint.
func plainInput(block map[string]any) string {
	label := Plain(block["label"])
	if block["optional"] == true {
		label += " (optional)"
	}
	line := label + ": " + Plain(block["element"])
	if hint := Plain(block["hint"]); hint != "" {
		line += " " + hint
	}
	return line
}

// plainField is the text of an element that can be filled in: its value in brackets, or its placeholder; radio buttons and checkboxes show all
// options with marks.
func plainField(element map[string]any, kind fieldKind) string {
	held := element[kind.initial]
	chosen, isList := held.([]any)
	if !isList && held != nil {
		chosen = []any{held}
	}
	switch element["type"] {
	case "radio_buttons":
		return plainChoices(element, chosen, "(•) ", "( ) ")
	case "checkboxes":
		return plainChoices(element, chosen, "[x] ", "[ ] ")
	}
	var shown []string
	for _, item := range chosen {
		text := fmt.Sprint(item)
		if option, ok := item.(map[string]any); ok {
			text = Plain(option["text"])
		}
		shown = append(shown, text)
	}
	if len(shown) == 0 {
		shown = []string{Plain(element["placeholder"])}
	}
	return "[" + strings.Join(shown, ", ") + "]"
}

func plainChoices(element map[string]any, chosen []any, yes, no string) string {
	var shown []string
	for _, option := range options(element) {
		mark := no
		if slices.ContainsFunc(chosen, func(choice any) bool { return sameJSON(choice, option) }) {
			mark = yes
		}
		shown = append(shown, mark+Plain(option["text"]))
	}
	return strings.Join(shown, " ")
}
