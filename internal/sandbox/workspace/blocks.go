package workspace

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What all texts of a message's blocks may hold together, in code points; Slack prints no figure, users measured this one.
const maxBlockText = 12_000

//go:embed schema/*.json
var schemaFiles embed.FS

// schemas are Slack's limits of Block Kit, by the surface that shows the blocks.
type schemas struct{ message, modal, home *jsonschema.Schema }

// compiledSchemas compiles them once, for all workspaces of a test.
var compiledSchemas = sync.OnceValues(compileSchemas)

func compileSchemas() (schemas, error) {
	compiler := jsonschema.NewCompiler()
	compile := func(name string) (*jsonschema.Schema, error) {
		raw, err := schemaFiles.ReadFile("schema/" + name + ".schema.json")
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("parse schema of %s: %w", name, err)
		}
		if err := compiler.AddResource(name+".json", doc); err != nil {
			return nil, fmt.Errorf("add schema of %s: %w", name, err)
		}
		return compiler.Compile(name + ".json")
	}
	var s schemas
	var err error
	if s.message, err = compile("message"); err != nil {
		return s, err
	}
	if s.modal, err = compile("modal"); err != nil {
		return s, err
	}
	s.home, err = compile("home")
	return s, err
}

// blockCheck gathers what is wrong with the blocks of one message or view.
type blockCheck struct {
	problems []string
	blockIDs map[string]bool
	actions  map[string]bool
	tables   int
	focused  int
	text     int // code points in all text objects together
}

func newBlockCheck() *blockCheck {
	return &blockCheck{blockIDs: map[string]bool{}, actions: map[string]bool{}}
}

func (c *blockCheck) wrong(at, format string, a ...any) {
	problem := fmt.Sprintf(format, a...) + " [json-pointer:" + at + "]"
	if !slices.Contains(c.problems, problem) {
		c.problems = append(c.problems, problem)
	}
}

// schema checks document, whose pointers begin with at, against a schema.
func (c *blockCheck) schema(s *jsonschema.Schema, document any, at string) {
	var wrong *jsonschema.ValidationError
	if errors.As(s.Validate(document), &wrong) {
		c.explain(wrong, at)
	}
}

// walk checks by hand what the schemas leave open, and counts the text.
func (c *blockCheck) walk(v any, at string) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			c.walk(item, fmt.Sprintf("%s/%d", at, i))
		}
	case map[string]any:
		c.object(v, at)
		for _, key := range sortedKeys(v) {
			c.walk(v[key], at+"/"+key)
		}
	}
}

func (c *blockCheck) object(o map[string]any, at string) {
	c.unique(c.blockIDs, o, "block_id", at)
	c.unique(c.actions, o, "action_id", at)
	if text, ok := o["text"].(string); ok {
		c.text += utf8.RuneCountInString(text)
	}
	switch o["type"] {
	case "section":
		if o["text"] == nil && length(o["fields"]) == 0 {
			c.wrong(at, "must provide text or fields")
		}
	case "actions", "context":
		if length(o["elements"]) == 0 {
			c.wrong(at+"/elements", "no less than 1 items allowed")
		}
	case "overflow":
		if n := length(o["options"]); n < 1 || n > 5 {
			c.wrong(at+"/options", "must have 1 to 5 options, has %d", n)
		}
	case "table":
		if c.tables++; c.tables > 1 {
			c.wrong(at, "only one table is allowed in a message")
		}
	default:
		c.fieldElement(o, at)
	}
}

func (c *blockCheck) unique(seen map[string]bool, o map[string]any, key, at string) {
	id, _ := o[key].(string)
	if id == "" {
		return
	}
	if seen[id] {
		c.wrong(at+"/"+key, "%s already exists: %s", key, id)
	}
	seen[id] = true
}

// refusal is how Slack says what is wrong, or nil.
func (c *blockCheck) refusal(name string) error {
	if len(c.problems) == 0 {
		return nil
	}
	var messages []string
	for _, problem := range c.problems {
		messages = append(messages, "[ERROR] "+problem)
	}
	return &refusal{name: name, extra: answer{"errors": c.problems, "response_metadata": answer{"messages": messages}}}
}

// nameBlocks gives every block and every interactive element without an id one, as Slack does.
func (w *Workspace) nameBlocks(blocks []any) {
	for _, b := range blocks {
		block, ok := b.(map[string]any)
		if !ok {
			continue
		}
		if id, _ := block["block_id"].(string); id == "" {
			block["block_id"] = w.nextID("b")
		}
		for _, element := range interactive(block) {
			if id, _ := element["action_id"].(string); id == "" {
				element["action_id"] = w.nextID("a")
			}
		}
	}
}

// interactive lists the elements of a block that can be clicked or filled in.
func interactive(block map[string]any) []map[string]any {
	candidates := []any{block["accessory"], block["element"]}
	if block["type"] == "actions" {
		elements, _ := block["elements"].([]any)
		candidates = append(candidates, elements...)
	}
	var found []map[string]any
	for _, candidate := range candidates {
		if element, ok := candidate.(map[string]any); ok && element["type"] != "image" {
			found = append(found, element)
		}
	}
	return found
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

func length(v any) int {
	items, _ := v.([]any)
	return len(items)
}

func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // only what was JSON before comes here
	}
	return raw
}
