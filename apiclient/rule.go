package apiclient

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
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
	ID          int64       `json:"id,omitempty" api:"id"`                 // given by the service
	ConditionID int64       `json:"condition_id,omitempty" api:"actionid"` // actionid, given by the service
	Type        string      `json:"type" api:"type"`
	Conditions  []Condition `json:"conditions,omitempty" api:"action"` // all must match; the order does not count
	Point       Point       `json:"point,omitempty" api:"point"`       // which part of the request it inspects; none for a mode
	AttackType  string      `json:"attack_type,omitempty" api:"attack_type"`
	Comment     string      `json:"comment,omitempty" api:"comment"`
	Regex       string      `json:"regex,omitempty" api:"regex"`
	Mode        string      `json:"mode,omitempty" api:"mode"`
	Validated   bool        `json:"validated,omitempty" api:"validated"`
	System      bool        `json:"system,omitempty" api:"system"`
	Updated     time.Time   `json:"updated,omitzero" api:"updated_at"`
}

// Condition is one test of a request.
type Condition struct {
	Type  string `json:"type" api:"type"`             // equal, iequal, regex, absent
	Value string `json:"value,omitempty" api:"value"` // "" for absent
	Point Part   `json:"point" api:"point"`           // as ["header","HOST"], ["path","0"], ["instance"]
}

// ConditionSet is a set of conditions as the service lists it, with the id that rules refer to.
type ConditionSet struct {
	ID         int64       `api:"id"`
	Conditions []Condition `api:"conditions"`
	Updated    time.Time   `api:"updated_at"`
}

// PatchTypes are the attack types a virtual patch can stop, without "any", which closes its whole scope.
func PatchTypes() []string {
	return strings.Fields("xss sqli rce xxe ptrav crlf redir nosqli ldapi scanner mass_assignment ssrf ssi " +
		"mail_injection ssti invalid_xml")
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

// Rules lists the account's rules of all types, or those of one set of conditions, the last changed first: POST
// /v1/objects/hint.
// It may be repeated; an error ends the list.
func (c *Client) Rules(ctx context.Context, condition int64) iter.Seq2[Rule, error] {
	filter := map[string]any{}
	if condition != 0 {
		filter["actionid"] = condition
	}
	return each[Rule](c, c.objects(ctx, query{op: "list rules", kind: "hint", most: maxRules, filter: filter,
		orderBy: "updated_at"}))
}

// ConditionSets lists the sets of conditions that rules are attached to: POST /v1/objects/action.
// It may be repeated; an error ends the list.
func (c *Client) ConditionSets(ctx context.Context) iter.Seq2[ConditionSet, error] {
	return each[ConditionSet](c, c.objects(ctx, query{op: "list conditions", kind: "action", most: maxRules}))
}

// CreateRule adds a virtual patch, an indicator or a mode: POST /v1/objects/hint/create. The same rule created twice
// makes two rules, so it is not repeated after an unknown outcome: when OutcomeUnknown, list and compare with SameRule.
// A rule that lacks what its type needs is refused before sending, as Invalid.
func (c *Client) CreateRule(ctx context.Context, r Rule) (Rule, error) {
	k := call{op: "create rule", method: http.MethodPost, path: "/v1/objects/hint/create", effect: once}
	if wrong := checkRule(r); len(wrong) > 0 {
		return Rule{}, invalid(k.op, wrong)
	}
	var created Rule
	_, err := c.change(ctx, k, func(clientID int) any { return writeRule(clientID, r) }, &created)
	switch {
	case err != nil:
		return Rule{}, err
	case created.ID == 0:
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
	}, new(struct{}))
	if err != nil {
		return err
	}
	if deleted := strings.Trim(string(ans.body), "[]{} \t\r\n"); deleted == "" || deleted == "null" {
		return &Error{Op: k.op, Kind: NotFound, Message: "nothing was deleted", OutcomeUnknown: ans.doubtful}
	}
	return nil
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
	for key, text := range map[string]string{"attack_type": r.AttackType, "comment": r.Comment, "regex": r.Regex,
		"mode": r.Mode} {
		if text != "" { // "" is refused
			w[key] = text
		}
	}
	return w
}
