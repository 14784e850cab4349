package apiclient

import (
	"context"
	"iter"
	"net/http"
	"strconv"
)

const (
	conditionAbsent = "absent"
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
	return each(c.pages(ctx, maxRules, func(clientID, offset, limit int) call {
		filter := map[string]any{"clientid": []int{clientID}}
		if f.ConditionID != 0 {
			filter["actionid"] = f.ConditionID
		}
		q := listQuery{Filter: filter, Offset: offset, Limit: limit, OrderBy: "updated_at", OrderDesc: true}
		return q.call("list rules", "/v1/objects/hint")
	}), readRule)
}

// ConditionSets lists the sets of conditions that rules are attached to: POST /v1/objects/action.
// It may be repeated; an error ends the list.
func (c *Client) ConditionSets(ctx context.Context) iter.Seq2[ConditionSet, error] {
	return each(c.pages(ctx, maxRules, func(clientID, offset, limit int) call {
		q := listQuery{Filter: map[string]any{"clientid": []int{clientID}}, Offset: offset, Limit: limit}
		return q.call("list conditions", "/v1/objects/action")
	}), func(r record) ConditionSet {
		return ConditionSet{ID: r.id("id"), Conditions: readConditions(r.list("conditions")), Updated: r.time("updated_at")}
	})
}

// CreateRule adds a virtual patch, an indicator or a mode: POST /v1/objects/hint/create. The same rule created twice
// makes two rules, so it is not repeated after an unknown outcome: when OutcomeUnknown, list and compare with SameRule.
// A rule that lacks what its type needs is refused before sending, as Invalid.
func (c *Client) CreateRule(ctx context.Context, r Rule) (Rule, error) {
	k := call{op: "create rule", method: http.MethodPost, path: "/v1/objects/hint/create", effect: creating}
	if wrong := checkRule(r); len(wrong) > 0 {
		return Rule{}, invalid(k.op, wrong)
	}
	clientID, err := c.ClientID(ctx)
	if err != nil {
		return Rule{}, err
	}
	k.body = writeRule(clientID, r)
	ans, err := c.do(ctx, k)
	if err != nil {
		return Rule{}, err
	}
	created := readRule(object(ans.value))
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
	clientID, err := c.ClientID(ctx)
	if err != nil {
		return err
	}
	k.body = map[string]any{"filter": map[string]any{"clientid": []int{clientID}, "id": id}}
	ans, err := c.do(ctx, k)
	if err != nil {
		return err
	}
	if ans.empty() {
		return puzzling(k, "answer is empty")
	}
	if isNothing(unwrap(ans.value)) {
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

type wireRule struct {
	ClientID   int             `json:"clientid"`
	Type       string          `json:"type"`
	Action     []wireCondition `json:"action"`
	Validated  bool            `json:"validated"`
	Point      Point           `json:"point,omitempty"`
	AttackType string          `json:"attack_type,omitempty"`
	Comment    string          `json:"comment,omitempty"` // "" is refused
	Regex      string          `json:"regex,omitempty"`
	Mode       string          `json:"mode,omitempty"`
}

type wireCondition struct {
	Type  string  `json:"type"`
	Value *string `json:"value"`
	Point []any   `json:"point"`
}

func writeRule(clientID int, r Rule) wireRule {
	w := wireRule{ClientID: clientID, Type: r.Type, Action: make([]wireCondition, len(r.Conditions)), Validated: r.Validated,
		Point: r.Point, AttackType: r.AttackType, Comment: r.Comment, Regex: r.Regex, Mode: r.Mode}
	for i, c := range r.Conditions {
		w.Action[i] = wireCondition{Type: c.Type, Point: c.Point}
		if c.Type != conditionAbsent {
			w.Action[i].Value = &c.Value
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

// readPoint groups a point, which comes flat (["post", "form_urlencoded", "x"]) or as it is sent.
func readPoint(items []any) Point {
	var p Point
	for i := 0; i < len(items); i++ {
		if group, ok := items[i].([]any); ok {
			p = append(p, readPoint(group)...)
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

func readArgument(takes argument, written string) any {
	if n, err := strconv.Atoi(written); takes == index && err == nil {
		return n
	}
	return written
}
