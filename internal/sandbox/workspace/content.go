package workspace

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
)

const (
	maxText        = 40_000 // code points; what is more is cut off
	maxUpdateText  = 4_000  // code points in chat.update and chat.postEphemeral
	maxMarkdown    = 12_000 // code points of markdown_text
	maxAttachments = 100
	// Slack documents no limit. Ids fit in a kilobyte, and nothing else belongs in metadata.
	maxMetadata = 1_024 // bytes
	// Slack documents no limit of all texts of a message's blocks together. Users measured this one.
	maxBlockText = 12_000 // code points
)

// content is the checked content of a message.
type content struct {
	text                          string
	blocks, attachments, metadata json.RawMessage
	thread                        string // the ts of the message that begins it; "": none
}

func (c content) empty() bool {
	return c.text == "" && len(c.blocks) == 0 && len(c.attachments) == 0
}

// content checks text, blocks, attachments and metadata of a message as Slack does.
func (w *messageStore) content(a args) (content, error) {
	c := content{text: cut(a["text"], maxText)}
	if markdown := a["markdown_text"]; markdown != "" {
		switch {
		case a["text"] != "" || a["blocks"] != "":
			return content{}, refuse("markdown_text_conflict")
		case utf8.RuneCountInString(markdown) > maxMarkdown:
			return content{}, refuse("msg_too_long")
		}
		c.text = markdown
	}
	check := w.schemas.NewCheck()
	var err error
	if c.blocks, err = w.blocks(a["blocks"], "", check); err != nil {
		return content{}, err
	}
	if c.attachments, err = w.attachments(a["attachments"], check); err != nil {
		return content{}, err
	}
	if err := refuseBlocks("invalid_blocks", check); err != nil {
		return content{}, err
	}
	if check.Text > maxBlockText {
		return content{}, refuse("msg_blocks_too_long")
	}
	c.metadata, err = metadata(a["metadata"])
	return c, err
}

// blocks checks a list of blocks; one that is left out or empty is nil.
func (w *messageStore) blocks(raw, at string, check *blockkit.Check) (json.RawMessage, error) {
	if strings.TrimSpace(raw) == "" {
		return nil, nil
	}
	blocks, err := parseBlocks(raw)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	check.Blocks(blocks, at)
	blockkit.NameBlocks(blocks, w.nextID)
	return marshal(blocks), nil
}

func (w *messageStore) attachments(raw string, check *blockkit.Check) (json.RawMessage, error) {
	if strings.TrimSpace(raw) == "" {
		return nil, nil
	}
	var list []map[string]any
	if json.Unmarshal([]byte(raw), &list) != nil {
		return nil, refuse("invalid_attachments")
	}
	if len(list) > maxAttachments {
		return nil, refuse("too_many_attachments")
	}
	if len(list) == 0 {
		return nil, nil
	}
	for i, attachment := range list {
		if attachment["blocks"] == nil {
			continue
		}
		blocks, err := w.blocks(string(marshal(attachment["blocks"])), "/attachments/"+strconv.Itoa(i), check)
		if err != nil {
			return nil, err
		}
		attachment["blocks"] = blocks
	}
	return marshal(list), nil
}

// refuseBlocks is Slack's error for what a check found, or nil.
func refuseBlocks(name string, check *blockkit.Check) error {
	if len(check.Problems) == 0 {
		return nil
	}
	var messages []string
	for _, problem := range check.Problems {
		messages = append(messages, "[ERROR] "+problem)
	}
	return &refusal{name: name, extra: answer{"errors": check.Problems, "response_metadata": answer{"messages": messages}}}
}

// parseBlocks reads a JSON array of blocks.
func parseBlocks(raw string) ([]any, error) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	blocks, ok := v.([]any)
	if err != nil || !ok {
		return nil, refuse("invalid_blocks_format")
	}
	return blocks, nil
}

func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // v comes from JSON
	}
	return raw
}

func metadata(raw string) (json.RawMessage, error) {
	if strings.TrimSpace(raw) == "" {
		return nil, nil
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		return nil, refuse("invalid_metadata_format")
	}
	object, _ := v.(map[string]any)
	kind, _ := object["event_type"].(string)
	if _, ok := object["event_payload"].(map[string]any); !ok || kind == "" {
		return nil, refuse("invalid_metadata_schema")
	}
	kept := compact(raw)
	if len(kept) > maxMetadata {
		return nil, refuse("metadata_too_large")
	}
	return kept, nil
}

// cut keeps the first n code points.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
