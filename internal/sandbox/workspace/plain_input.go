package workspace

import (
	"fmt"
	"slices"
	"strings"
)

// plainInput is an input as a person sees it: label, what is filled in, hint.
func plainInput(block map[string]any) string {
	label := plainBlock(block["label"])
	if block["optional"] == true {
		label += " (optional)"
	}
	line := label + ": " + plainBlock(block["element"])
	if hint := plainBlock(block["hint"]); hint != "" {
		line += " " + hint
	}
	return line
}

// plainField is what a person sees of an element that can be filled in: what it holds in brackets, or its placeholder; of few
// choices all, the chosen ones marked.
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
			text = plainBlock(option["text"])
		}
		shown = append(shown, text)
	}
	if len(shown) == 0 {
		shown = []string{plainBlock(element["placeholder"])}
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
		shown = append(shown, mark+plainBlock(option["text"]))
	}
	return strings.Join(shown, " ")
}
