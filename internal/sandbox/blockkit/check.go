// Package blockkit reads Slack's Block Kit: it checks blocks and views as Slack does, lists what can be clicked and filled in, and renders plain text.
package blockkit

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// Surface is what shows blocks. Slack's limits differ by surface.
type Surface string

// The surfaces.
const (
	Message Surface = "message"
	Modal   Surface = "modal"
	Home    Surface = "home"
)

// Schemas are Slack's schemas by surface.
type Schemas map[Surface]*jsonschema.Schema

var compiledSchemas = sync.OnceValues(compileSchemas)

// LoadSchemas returns the embedded schemas. It compiles them once, for all workspaces of a test.
func LoadSchemas() (Schemas, error) { return compiledSchemas() }

func compileSchemas() (Schemas, error) {
	compiler, compiled := jsonschema.NewCompiler(), Schemas{}
	for _, surface := range []Surface{Message, Modal, Home} {
		raw, err := schemaFiles.ReadFile("schema/" + string(surface) + ".schema.json")
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("parse schema of %s: %w", surface, err)
		}
		if err := compiler.AddResource(string(surface)+".json", doc); err != nil {
			return nil, fmt.Errorf("add schema of %s: %w", surface, err)
		}
		if compiled[surface], err = compiler.Compile(string(surface) + ".json"); err != nil {
			return nil, fmt.Errorf("compile schema of %s: %w", surface, err)
		}
	}
	return compiled, nil
}

// Check collects what is wrong with the blocks of one message or view.
type Check struct {
	Problems []string // in Slack's words, each with its place
	Text     int      // code points in all text objects together

	schemas  Schemas
	blockIDs map[string]bool
	actions  map[string]bool
	tables   int
	focused  int
}

// NewCheck returns a check that has found nothing yet.
func (s Schemas) NewCheck() *Check {
	return &Check{schemas: s, blockIDs: map[string]bool{}, actions: map[string]bool{}}
}

// Blocks checks blocks of a message. Their places begin with at.
func (c *Check) Blocks(blocks []any, at string) {
	c.schema(Message, map[string]any{"blocks": blocks}, at)
	c.walk(blocks, at+"/blocks")
}

func (c *Check) wrong(at, format string, a ...any) {
	problem := fmt.Sprintf(format, a...) + " [json-pointer:" + at + "]"
	if !slices.Contains(c.Problems, problem) {
		c.Problems = append(c.Problems, problem)
	}
}

// schema checks a document, whose places begin with at, against the schema of a surface.
func (c *Check) schema(surface Surface, document any, at string) {
	var wrong *jsonschema.ValidationError
	if errors.As(c.schemas[surface].Validate(document), &wrong) {
		c.explain(wrong, at)
	}
}

// walk checks by hand what the schemas leave open, and counts the text.
func (c *Check) walk(v any, at string) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if strings.HasSuffix(at, "/blocks") {
				c.actions = map[string]bool{} // they differ within a block
			}
			c.walk(item, fmt.Sprintf("%s/%d", at, i))
		}
	case map[string]any:
		c.object(v, at)
		for _, key := range sortedKeys(v) {
			c.walk(v[key], at+"/"+key)
		}
	}
}

func (c *Check) object(o map[string]any, at string) {
	c.unique(c.blockIDs, o, "block_id", at)
	c.unique(c.actions, o, "action_id", at)
	if text, ok := o["text"].(string); ok {
		c.Text += utf8.RuneCountInString(text)
	}
	c.address(o, "image_url", at, "http", "https")
	if o["type"] == "button" {
		c.address(o, "url", at, "http", "https", "mailto", "tel", "slack")
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

// maxAddress is how many characters an address has at most.
const maxAddress = 3000

// address refuses what is no address of one of the schemes.
func (c *Check) address(o map[string]any, key, at string, schemes ...string) {
	address, given := o[key].(string)
	if !given {
		return
	}
	u, err := url.Parse(address)
	switch {
	case utf8.RuneCountInString(address) > maxAddress:
		c.wrong(at+"/"+key, "must be less than %d characters", maxAddress+1)
	case err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" && u.Opaque == "":
		c.wrong(at+"/"+key, "must be a valid URL")
	}
}

func (c *Check) unique(seen map[string]bool, o map[string]any, key, at string) {
	id, _ := o[key].(string)
	if id == "" {
		return
	}
	if seen[id] {
		c.wrong(at+"/"+key, "%s already exists: %s", key, id)
	}
	seen[id] = true
}

// NameBlocks gives an id to every block and every interactive element without one, as Slack does. newID makes one from its first letter.
func NameBlocks(blocks []any, newID func(letter string) string) {
	for _, b := range blocks {
		block, ok := b.(map[string]any)
		if !ok {
			continue
		}
		if id, _ := block["block_id"].(string); id == "" {
			block["block_id"] = newID("b")
		}
		for _, element := range interactive(block) {
			if id, _ := element["action_id"].(string); id == "" {
				element["action_id"] = newID("a")
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

func length(v any) int {
	items, _ := v.([]any)
	return len(items)
}
