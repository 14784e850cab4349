package apiclient

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// The rule types wafbot knows. A listing holds many more: they are passed on as they are.
const (
	RulePatch = "vpatch"
	RuleRegex = "regex"
	RuleMode  = "service_mode"
)

// The filtration modes, mild to strict. ModeDefault inherits.
const (
	ModeDefault      = "default"
	ModeOff          = "off"
	ModeMonitoring   = "monitoring"
	ModeSafeBlocking = "safe_blocking"
	ModeBlock        = "block"
)

// Rule is a setting that changes how traffic matching its conditions is handled (a "hint" in the service's paths).
type Rule struct {
	ID          int64       `json:"id,omitempty"`           // given by the service
	ConditionID int64       `json:"condition_id,omitempty"` // actionid, given by the service
	Type        string      `json:"type"`
	Conditions  []Condition `json:"conditions,omitempty"` // all must match; the order does not count
	Point       Point       `json:"point,omitempty"`      // which part of the request it inspects; none for a mode
	AttackType  string      `json:"attack_type,omitempty"`
	Comment     string      `json:"comment,omitempty"`
	Regex       string      `json:"regex,omitempty"`
	Mode        string      `json:"mode,omitempty"`
	Validated   bool        `json:"validated,omitempty"`
	System      bool        `json:"system,omitempty"`
	Updated     time.Time   `json:"updated,omitzero"`
}

// Condition is one test of a request.
type Condition struct {
	Type  string `json:"type"`            // equal, iequal, regex, absent
	Value string `json:"value,omitempty"` // "" for absent
	Point []any  `json:"point"`           // as ["header","HOST"], ["path",0] (the index an int), ["instance"]
}

// Point is a part of a request, outermost parser first: [["post"],["json_doc"],["hash","x"]].
type Point [][]any

// ConditionSet is a set of conditions as the service lists it, with the id that rules refer to.
type ConditionSet struct {
	ID         int64
	Conditions []Condition
	Updated    time.Time
}

// PatchTypes are the attack types a virtual patch can stop, without "any", which closes its whole scope.
func PatchTypes() []string {
	return []string{"xss", "sqli", "rce", "xxe", "ptrav", "crlf", "redir", "nosqli", "ldapi", "scanner", "mass_assignment",
		"ssrf", "ssi", "mail_injection", "ssti", "invalid_xml"}
}

// Patchable reports whether a virtual patch can stop attacks of the type.
func Patchable(attackType string) bool { return slices.Contains(PatchTypes(), attackType) }

// ConditionAbsent is the type of a condition that a part of a request isn't there. It has no value.
const ConditionAbsent = "absent"

const (
	conditionEqual  = "equal"
	conditionIEqual = "iequal"
)

// maxRules is how many rules or sets of conditions are asked for at once.
const maxRules = 1000

// RuleFilter selects rules.
type RuleFilter struct {
	ConditionID int64 // 0: of all condition sets
}

// Rules lists the account's rules of all types, the last changed first: POST /v1/objects/hint.
// It may be repeated; an error ends the list.
func (c *Client) Rules(ctx context.Context, f RuleFilter) iter.Seq2[Rule, error] {
	filter := map[string]any{}
	if f.ConditionID != 0 {
		filter["actionid"] = f.ConditionID
	}
	return each(c, c.objects(ctx, query{op: "list rules", kind: "hint", most: maxRules, filter: filter, orderBy: "updated_at"}), readRule)
}

// ConditionSets lists the sets of conditions that rules are attached to: POST /v1/objects/action.
// It may be repeated; an error ends the list.
func (c *Client) ConditionSets(ctx context.Context) iter.Seq2[ConditionSet, error] {
	return each(c, c.objects(ctx, query{op: "list conditions", kind: "action", most: maxRules}), func(r record) ConditionSet {
		return ConditionSet{ID: r.id("id"), Conditions: readConditions(r.list("conditions")), Updated: r.time("updated_at")}
	})
}

// CreateRule adds a virtual patch, an indicator or a mode: POST /v1/objects/hint/create. The same rule created twice
// makes two rules, so it is not repeated after an unknown outcome: when OutcomeUnknown, list and compare with SameRule.
// A rule that lacks what its type needs is refused before sending, as Invalid.
func (c *Client) CreateRule(ctx context.Context, r Rule) (Rule, error) {
	k := call{op: "create rule", method: http.MethodPost, path: "/v1/objects/hint/create", effect: once}
	if wrong := checkRule(r); len(wrong) > 0 {
		return Rule{}, invalid(k.op, wrong)
	}
	ans, err := c.change(ctx, k, func(clientID int) any { return writeRule(clientID, r) })
	if err != nil {
		return Rule{}, err
	}
	created := readRule(object(ans.body))
	if created.ID == 0 {
		return Rule{}, puzzling(k, "answer has no rule id")
	}
	return created, nil
}

// DeleteRule removes one rule: POST /v1/objects/hint/delete. It may be repeated. It fails with NotFound when the
// service says that nothing was deleted; when OutcomeUnknown as well, an earlier try may have deleted it.
func (c *Client) DeleteRule(ctx context.Context, id int64) error {
	k := call{op: "delete rule", method: http.MethodPost, path: "/v1/objects/hint/delete", effect: changing}
	if id <= 0 { // without an id the filter would be the whole account
		return invalid(k.op, map[string]string{"id": "must be given"})
	}
	ans, err := c.change(ctx, k, func(clientID int) any {
		return map[string]any{"filter": map[string]any{"clientid": []int{clientID}, "id": id}}
	})
	if err != nil {
		return err
	}
	if ans.body == nil {
		return puzzling(k, "answer is empty")
	}
	if isNothing(decode[any](ans.body)) {
		return &Error{Op: k.op, Kind: NotFound, Message: "nothing was deleted", unknown: ans.doubtful}
	}
	return nil
}

// isNothing reports whether a body is null, [] or {}.
func isNothing(body any) bool {
	list, isList := body.([]any)
	object, isObject := body.(map[string]any)
	return body == nil || isList && len(list) == 0 || isObject && len(object) == 0
}

func checkRule(r Rule) map[string]string {
	wrong := map[string]string{}
	need := func(field string, there bool) {
		if !there {
			wrong[field] = "must be given"
		}
	}
	switch r.Type {
	case RuleMode:
		need("mode", r.Mode != "")
	case RuleRegex:
		need("regex", r.Regex != "")
		fallthrough
	case RulePatch:
		need("point", len(r.Point) > 0)
		need("attack_type", r.AttackType != "")
	default:
		wrong["type"] = "must be vpatch, regex or service_mode"
	}
	return wrong
}

func writeRule(clientID int, r Rule) map[string]any {
	conditions := make([]map[string]any, len(r.Conditions))
	for i, c := range r.Conditions {
		conditions[i] = map[string]any{"type": c.Type, "value": c.Value, "point": c.Point}
		if c.Type == ConditionAbsent {
			conditions[i]["value"] = nil
		}
	}
	w := map[string]any{"clientid": clientID, "type": r.Type, "action": conditions, "validated": r.Validated}
	if len(r.Point) > 0 {
		w["point"] = r.Point
	}
	for key, text := range map[string]string{"attack_type": r.AttackType, "comment": r.Comment, "regex": r.Regex, "mode": r.Mode} {
		if text != "" { // "" is refused
			w[key] = text
		}
	}
	return w
}

func readRule(r record) Rule {
	return Rule{
		ID:          r.id("id"),
		ConditionID: r.id("actionid"),
		Type:        r.text("type"),
		Conditions:  readConditions(r.list("action")),
		Point:       readPoint(r.list("point")),
		AttackType:  r.text("attack_type"),
		Comment:     r.text("comment"),
		Regex:       r.text("regex"),
		Mode:        r.text("mode"),
		Validated:   r.flag("validated"),
		System:      r.flag("system"),
		Updated:     r.time("updated_at"),
	}
}

// readConditions keeps an item that can't be read as an empty condition: a rule with one condition less would seem to
// reach further than it does.
func readConditions(items []any) []Condition {
	out := make([]Condition, len(items))
	for i, item := range items {
		o, _ := item.(map[string]any)
		r := record(o)
		out[i] = Condition{Type: r.text("type"), Value: r.text("value")}
		for _, group := range readPoint(r.list("point")) {
			out[i].Point = append(out[i].Point, group...)
		}
	}
	return out
}

// readPoint groups a point, which comes flat (["post", "form_urlencoded", "x"]) or as it is sent. What isn't known
// stays as it came.
func readPoint(items []any) Point {
	var p Point
	for i := 0; i < len(items); i++ {
		if group, ok := items[i].([]any); ok {
			p = append(p, readGroup(group))
			continue
		}
		parser := wordOf(items[i])
		switch takes := argumentOf(parser); {
		case takes == nothing || i+1 == len(items):
			p = append(p, []any{parser})
		default:
			i++
			p = append(p, []any{parser, readArgument(takes, wordOf(items[i]))})
		}
	}
	return p
}

func readGroup(items []any) []any {
	group := slices.Clone(items)
	if len(group) == 0 {
		return []any{""}
	}
	group[0] = wordOf(group[0])
	if parser := group[0].(string); len(group) == 2 && known(parser) {
		group[1] = readArgument(argumentOf(parser), wordOf(group[1]))
	}
	return group
}

func readArgument(takes argument, written string) any {
	if n, err := strconv.Atoi(written); takes == index && err == nil {
		return n
	}
	return written
}
