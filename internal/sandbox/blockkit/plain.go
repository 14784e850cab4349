package blockkit

import "strings"

// Plain is the text of a block or of part of one, in the order in which it is shown. What can be clicked stands in brackets; a link is its label.
func Plain(v any) string {
	switch v := v.(type) {
	case []any:
		var parts []string
		for _, item := range v {
			if text := Plain(item); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, " ")
	case map[string]any:
		return plainObject(v)
	}
	return ""
}

func plainObject(o map[string]any) string {
	kind, _ := o["type"].(string)
	switch kind {
	case "mrkdwn", "markdown", "text", "raw_text":
		text, _ := o["text"].(string)
		return Unescape(text)
	case "plain_text":
		text, _ := o["text"].(string)
		return text
	case "rich_text_section", "rich_text_preformatted", "rich_text_quote":
		return strings.ReplaceAll(Plain(o["elements"]), "  ", " ")
	case "button":
		return "[" + Plain(o["text"]) + "]"
	case "overflow":
		var shown []string
		for _, option := range options(o) {
			shown = append(shown, "["+Plain(option["text"])+"]")
		}
		return strings.Join(shown, " ")
	case "input":
		return plainInput(o)
	}
	if field, ok := fieldKinds()[kind]; ok {
		return plainField(o, field)
	}
	parts := []any{o["title"], o["subtitle"], o["label"], o["text"], o["body"], o["fields"], o["elements"], o["rows"], o["accessory"], o["element"], o["actions"]}
	if alt, ok := o["alt_text"].(string); ok {
		parts = append(parts, map[string]any{"type": "plain_text", "text": alt})
	}
	return Plain(parts)
}

// Unescape renders mrkdwn: links by their labels, without escapes.
func Unescape(s string) string {
	var shown strings.Builder
	for {
		before, rest, opened := strings.Cut(s, "<")
		token, after, closed := strings.Cut(rest, ">")
		shown.WriteString(before)
		if !opened {
			break
		}
		_, label, labelled := strings.Cut(token, "|")
		switch {
		case !closed:
			shown.WriteString("<" + rest)
			after = ""
		case labelled:
			shown.WriteString(label)
		default:
			shown.WriteString("<" + token + ">")
		}
		s = after
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(shown.String())
}

// Button is something that can be clicked: a button, or one option of an overflow menu.
type Button struct {
	Label    string `json:"label"`
	ActionID string `json:"action_id"`
	Value    string `json:"value,omitempty"`
	Style    string `json:"style,omitempty"`
	URL      string `json:"url,omitempty"`
	Confirm  string `json:"confirm,omitempty"` // the text of the confirm dialog; empty: no dialog
}

// Part is a button with what goes into the payload of a click.
type Part struct {
	Button  Button
	BlockID string
	Element map[string]any

	option map[string]any // the option of an overflow menu; nil: a button
}

// Parts lists what can be clicked in blocks, in order; the options of an overflow menu one by one.
func Parts(blocks []map[string]any) []Part {
	var parts []Part
	for _, block := range blocks {
		blockID, _ := block["block_id"].(string)
		for _, element := range interactive(block) {
			switch element["type"] {
			case "button":
				parts = append(parts, Part{Button: newButton(element, element), BlockID: blockID, Element: element})
			case "overflow":
				options, _ := element["options"].([]any)
				for _, o := range options {
					option, _ := o.(map[string]any)
					parts = append(parts, Part{Button: newButton(element, option), BlockID: blockID, Element: element, option: option})
				}
			}
		}
	}
	return parts
}

// Buttons lists the buttons of parts.
func Buttons(parts []Part) []Button {
	var buttons []Button
	for _, p := range parts {
		buttons = append(buttons, p.Button)
	}
	return buttons
}

// FindPart finds a part by its label, action id or value, or by the start of a label that no other has.
func FindPart(parts []Part, name string) (Part, error) {
	return choose(parts, name, func(p Part) []string { return []string{p.Button.Label, p.Button.ActionID, p.Button.Value} })
}

// Action is the part as a block_actions payload has it.
func (p Part) Action(ts string) map[string]any {
	out := map[string]any{"type": p.Element["type"], "action_id": p.Button.ActionID, "block_id": p.BlockID, "action_ts": ts}
	copied := []string{"text", "value", "style", "url", "confirm"}
	if p.option != nil {
		out["selected_option"] = p.option
		copied = []string{"confirm"}
	}
	for _, key := range copied {
		if v, ok := p.Element[key]; ok {
			out[key] = v
		}
	}
	return out
}

// newButton reads a button from an element and its option, which are the same for a button.
func newButton(element, option map[string]any) Button {
	str := func(o map[string]any, key string) string {
		s, _ := o[key].(string)
		return s
	}
	b := Button{
		Label: Plain(option["text"]), ActionID: str(element, "action_id"), Value: str(option, "value"),
		Style: str(element, "style"), URL: str(option, "url"),
	}
	if confirm, ok := element["confirm"].(map[string]any); ok {
		b.Confirm = Plain(confirm["text"])
	}
	return b
}
