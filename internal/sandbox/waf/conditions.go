package waf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wafbot/wafbot/internal/sandbox/pire"
)

// condition is one item of a rule's action.
type condition struct {
	Type  string  `json:"type"`
	Value *string `json:"value"`
	Point []any   `json:"point"`
}

// parseConditions reads the action of a new rule; it names what is wrong.
func (a *account) parseConditions(raw []json.RawMessage) ([]condition, string) {
	seen := map[string]bool{}
	conditions := make([]condition, 0, len(raw))
	for _, item := range raw {
		parsed, err := parseParams(item)
		if err != nil {
			return nil, "must be an array of objects"
		}
		parsed.known("type", "value", "point")
		c := condition{
			Type:  oneOf(parsed, "type", []string{"equal", "iequal", "regex", "absent"}),
			Value: optional[*string](parsed, "value"),
			Point: required[[]any](parsed, "point"),
		}
		if len(parsed.invalid) > 0 {
			return nil, "has an item that is invalid"
		}
		if wrong := a.checkCondition(&c); wrong != "" {
			return nil, wrong
		}
		point := fmt.Sprint(c.Point)
		if seen[point] {
			return nil, "has two items with one point"
		}
		seen[point] = true
		conditions = append(conditions, c)
	}
	return conditions, ""
}

// checkCondition names what is wrong with a condition and puts it into the form in which it is read.
func (a *account) checkCondition(c *condition) string {
	if wrong := normalisePoint(c); wrong != "" {
		return wrong
	}
	if (c.Type == "absent") != (c.Value == nil) {
		return "needs a value, and absent needs none"
	}
	if c.Value == nil {
		return ""
	}
	if c.Type == "regex" {
		if _, err := pire.Parse(*c.Value); err != nil {
			return "has an invalid regular expression"
		}
		return ""
	}
	switch c.Point[0] {
	case "instance":
		id, err := strconv.Atoi(*c.Value)
		if _, known := a.application(id); err != nil || !known {
			return "names an instance that does not exist"
		}
	case "path", "action_name":
		if strings.Contains(*c.Value, "/") {
			return "has a path item of more than one segment"
		}
	case "header":
		if c.Point[1] == "HOST" {
			lower := strings.ToLower(*c.Value)
			c.Type, c.Value = "iequal", &lower
		}
	}
	return ""
}

// normalisePoint checks a condition's point; header names become upper case.
func normalisePoint(c *condition) string {
	const wrong = "has an invalid point"
	if len(c.Point) == 0 {
		return wrong
	}
	switch c.Point[0] {
	case "action_name", "action_ext", "method", "instance", "uri":
		if len(c.Point) != 1 {
			return wrong
		}
	case "header":
		if len(c.Point) != 2 {
			return wrong
		}
		name, ok := c.Point[1].(string)
		if !ok || name == "" {
			return wrong
		}
		c.Point[1] = strings.ToUpper(name)
	case "path":
		if len(c.Point) != 2 {
			return wrong
		}
		index, ok := c.Point[1].(float64)
		if !ok || index < 0 || index != float64(int(index)) {
			return wrong
		}
		c.Point[1] = int(index)
	default:
		return wrong
	}
	return ""
}

func onInstance(app int) []condition {
	id := strconv.Itoa(app)
	return []condition{{Type: "equal", Value: &id, Point: []any{"instance"}}}
}

// conditionKey is the same for the same conditions in any order.
func conditionKey(conditions []condition) string {
	items := make([]string, len(conditions))
	for i, c := range conditions {
		text, err := json.Marshal(c)
		if err != nil {
			panic(err) // strings and ints only
		}
		items[i] = string(text)
	}
	slices.Sort(items)
	return strings.Join(items, "\n")
}

// web is a request to a protected application.
type web struct {
	app                int
	method, host, path string
	headers            map[string]string // by upper-case name
}

// covers reports whether the request fulfils all conditions.
func covers(conditions []condition, r web) bool {
	return !slices.ContainsFunc(conditions, func(c condition) bool { return !c.met(r) })
}

func (c condition) met(r web) bool {
	value, there := r.part(c.Point)
	if c.Type == "absent" {
		return !there && !(r.path == manyPaths && c.onPath())
	}
	if !there {
		return false
	}
	switch c.Type {
	case "equal":
		return value == *c.Value
	case "iequal":
		return strings.EqualFold(value, *c.Value)
	}
	return matches(*c.Value, value)
}

// tried is how many characters of a value are tried on a regular expression, which takes long for a long one.
const tried = 1000

func matches(regex, value string) bool {
	r, err := pire.Parse(regex)
	return err == nil && r.Match(string([]rune(value)[:min(tried, utf8.RuneCountInString(value))]))
}

// manyPaths is the path of requests to several unknown paths.
const manyPaths = "[multiple]"

func (c condition) onPath() bool {
	return slices.Contains([]any{"path", "action_name", "action_ext", "uri"}, c.Point[0])
}

// part returns the part of the request that a condition's point names.
func (r web) part(point []any) (string, bool) {
	switch point[0] {
	case "method":
		return r.method, true
	case "instance":
		return strconv.Itoa(r.app), true
	case "header":
		value, ok := r.headers[point[1].(string)]
		return value, ok
	}
	if r.path == manyPaths {
		return "", false
	}
	segments := strings.Split(strings.TrimPrefix(r.path, "/"), "/")
	last := segments[len(segments)-1]
	name, extension, dotted := strings.Cut(last, ".")
	switch point[0] {
	case "action_name":
		return name, true
	case "action_ext":
		return extension, dotted
	case "path":
		if index := point[1].(int); index < len(segments)-1 {
			return segments[index], true
		}
		return "", false
	}
	return r.path, true // uri
}

// words describes what the conditions cover.
func words(conditions []condition) string {
	if len(conditions) == 0 {
		return "every request"
	}
	items := make([]string, len(conditions))
	for i, c := range conditions {
		point := make([]string, len(c.Point))
		for j, p := range c.Point {
			point[j] = fmt.Sprint(p)
		}
		items[i] = strings.Join(point, " ") + " " + c.Type
		if c.Value != nil {
			items[i] += fmt.Sprintf(" %q", *c.Value)
		}
	}
	return strings.Join(items, ", ")
}

func (s *Service) listConditions(c call) reply {
	c.body.known("filter", "offset", "limit")
	filter := c.body.object("filter")
	filter.known("clientid")
	owned := c.account.owns(filter)
	offset, limit := page(c.body, 1000)
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if !owned {
		return noPermission()
	}
	listed := map[int64]bool{}
	sets := []map[string]any{}
	for _, r := range s.listed(c.account, c.lag).rules {
		if listed[r.actionID] {
			continue
		}
		listed[r.actionID] = true
		sets = append(sets, map[string]any{
			"id": r.actionID, "clientid": c.account.ClientID, "name": nil,
			"conditions": r.conditions, "updated_at": r.updatedAt.Unix(),
		})
	}
	return answer(cut(sets, offset, limit))
}
