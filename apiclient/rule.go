package apiclient

import "time"

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
