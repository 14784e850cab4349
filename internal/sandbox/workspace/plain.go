package workspace

import (
	"encoding/json"
	"strings"
)

// Plain is all text a person sees of a message, a line a block; what can be clicked stands in brackets, a link
// is its label. A message's text counts only when there are no blocks: then nobody sees it.
func (m Message) Plain() string {
	var lines []string
	if len(m.Blocks) == 0 && m.Text != "" {
		lines = append(lines, unescape(m.Text))
	}
	for _, block := range m.allBlocks() {
		if line := plainBlock(block); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Buttons lists what can be clicked in a message, in order; an overflow menu's options one by one.
func (m Message) Buttons() []Button { return buttons(m.parts()) }

func buttons(parts []part) []Button {
	var buttons []Button
	for _, p := range parts {
		buttons = append(buttons, p.button)
	}
	return buttons
}

// allBlocks lists the blocks of the message and of its attachments; an attachment's plain text is one as well.
func (m Message) allBlocks() []map[string]any {
	var blocks []map[string]any
	_ = json.Unmarshal(m.Blocks, &blocks) // what is stored was checked
	var attachments []struct {
		Pretext, Title, Text string
		Blocks               []map[string]any
	}
	_ = json.Unmarshal(m.Attachments, &attachments)
	for _, a := range attachments {
		for _, text := range []string{a.Pretext, a.Title, a.Text} {
			if text != "" {
				blocks = append(blocks, map[string]any{"type": "mrkdwn", "text": text})
			}
		}
		blocks = append(blocks, a.Blocks...)
	}
	return blocks
}

// plainBlock is the text of a block, in the order in which it is shown.
func plainBlock(v any) string {
	switch v := v.(type) {
	case []any:
		var parts []string
		for _, item := range v {
			if text := plainBlock(item); text != "" {
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
		return unescape(text)
	case "plain_text":
		text, _ := o["text"].(string)
		return text
	case "rich_text_section", "rich_text_preformatted", "rich_text_quote":
		return strings.ReplaceAll(plainBlock(o["elements"]), "  ", " ")
	case "button":
		return "[" + plainBlock(o["text"]) + "]"
	case "overflow":
		var shown []string
		for _, option := range options(o) {
			shown = append(shown, "["+plainBlock(option["text"])+"]")
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
	return plainBlock(parts)
}

// unescape shows mrkdwn's links by their labels and undoes its escapes.
func unescape(s string) string {
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

// part is something that can be clicked, and what of it goes into the payload of a click.
type part struct {
	button  Button
	blockID string
	element map[string]any
	option  map[string]any // the option of an overflow menu; nil: a button
}

func (m Message) parts() []part { return parts(m.allBlocks()) }

// parts lists what can be clicked in blocks.
func parts(blocks []map[string]any) []part {
	var parts []part
	for _, block := range blocks {
		blockID, _ := block["block_id"].(string)
		for _, element := range interactive(block) {
			switch element["type"] {
			case "button":
				parts = append(parts, part{button: newButton(element, element), blockID: blockID, element: element})
			case "overflow":
				options, _ := element["options"].([]any)
				for _, o := range options {
					option, _ := o.(map[string]any)
					parts = append(parts, part{button: newButton(element, option), blockID: blockID, element: element, option: option})
				}
			}
		}
	}
	return parts
}

// newButton takes what an element and its option, for a button the same, have to say.
func newButton(element, option map[string]any) Button {
	str := func(o map[string]any, key string) string {
		s, _ := o[key].(string)
		return s
	}
	b := Button{
		Label: plainBlock(option["text"]), ActionID: str(element, "action_id"), Value: str(option, "value"),
		Style: str(element, "style"), URL: str(option, "url"),
	}
	if confirm, ok := element["confirm"].(map[string]any); ok {
		b.Confirm = plainBlock(confirm["text"])
	}
	return b
}
