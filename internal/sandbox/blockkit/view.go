package blockkit

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxInputLength = 3000 // characters of a text input
	maxGroupLabel  = 75   // characters of the label of a group of options
	maxOptions     = 100  // of a group
	maxViewID      = 255  // characters of an external id
)

var dates = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// View checks a whole view for the surface that shows it.
func (c *Check) View(object map[string]any, surface Surface) {
	c.schema(surface, object, "/view")
	c.walk(object["blocks"], "/view/blocks")
	blocks, _ := object["blocks"].([]any)
	isInput := func(b any) bool {
		block, _ := b.(map[string]any)
		return block["type"] == "input"
	}
	if object["type"] == string(Modal) && object["submit"] == nil && slices.ContainsFunc(blocks, isInput) {
		c.wrong("/view", "submit is required when inputs are present")
	}
	if id, _ := object["external_id"].(string); utf8.RuneCountInString(id) > maxViewID {
		c.wrong("/view/external_id", "must be less than %d characters", maxViewID+1)
	}
	for i, b := range blocks {
		if block, _ := b.(map[string]any); object["type"] == string(Modal) && block["type"] == "card" {
			c.wrong("/view/blocks/"+strconv.Itoa(i)+"/type", "unsupported type: card")
		}
	}
	if c.focused > 1 {
		c.wrong("/view", "focus_on_load is allowed for one element only")
	}
}

// fieldElement checks by hand an element that can be filled in.
func (c *Check) fieldElement(o map[string]any, at string) {
	if o["focus_on_load"] == true {
		c.focused++
	}
	switch o["type"] {
	case "plain_text_input":
		c.textInput(o, at)
	case "datepicker":
		if date, ok := o["initial_date"].(string); ok && !dates.MatchString(date) {
			c.wrong(at+"/initial_date", "must be a date as YYYY-MM-DD")
		}
	case "static_select", "multi_static_select":
		if (o["options"] == nil) == (o["option_groups"] == nil) {
			c.wrong(at, "must provide either options or option_groups")
		}
		c.choices(o, at)
	case "radio_buttons", "checkboxes":
		c.choices(o, at)
	}
}

func (c *Check) textInput(o map[string]any, at string) {
	least, most := number(o["min_length"]), number(o["max_length"])
	if least < 0 || least > maxInputLength {
		c.wrong(at+"/min_length", "must be between 0 and %d", maxInputLength)
	}
	if o["max_length"] != nil && (most < 1 || most > maxInputLength) {
		c.wrong(at+"/max_length", "must be between 1 and %d", maxInputLength)
	}
	if o["max_length"] != nil && least > most {
		c.wrong(at+"/min_length", "must not be greater than max_length")
	}
	if written, ok := o["initial_value"].(string); ok && o["max_length"] != nil && utf8.RuneCountInString(written) > most {
		c.wrong(at+"/initial_value", "must be less than %d characters", most+1)
	}
}

// choices checks that there is something to choose from, and that what is chosen at first is among it.
func (c *Check) choices(o map[string]any, at string) {
	found := options(o)
	if len(found) == 0 {
		c.wrong(at+"/options", "no less than 1 items allowed")
	}
	for i, option := range found {
		if value, _ := option["value"].(string); value == "" {
			c.wrong(at+"/options/"+strconv.Itoa(i), "missing required field: value")
		}
	}
	c.optionGroups(o, at)
	f := Field{Element: o, kind: fieldKinds()[o["type"].(string)]}
	if !f.offers(o[f.kind.initial]) {
		c.wrong(at+"/"+f.kind.initial, "%s must be among the options", strings.TrimSuffix(f.kind.initial, "s"))
	}
}

func (c *Check) optionGroups(o map[string]any, at string) {
	groups, _ := o["option_groups"].([]any)
	for i, g := range groups {
		group, _ := g.(map[string]any)
		where := at + "/option_groups/" + strconv.Itoa(i)
		if utf8.RuneCountInString(Plain(group["label"])) > maxGroupLabel {
			c.wrong(where+"/label/text", "must be less than %d characters", maxGroupLabel+1)
		}
		switch n := length(group["options"]); {
		case n < 1:
			c.wrong(where+"/options", "no less than 1 items allowed")
		case n > maxOptions:
			c.wrong(where+"/options", "no more than %d items allowed", maxOptions)
		}
	}
}
