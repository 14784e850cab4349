package apiclient

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Scope is where a rule applies, in a person's terms.
type Scope struct {
	App    Figure // unknown: all applications
	Host   string // "": any
	Path   string // as ParsePath reads it; "": any
	Method string // "": any
}

// ScopeConditions are the conditions that match exactly the scope. It refuses what they can't express.
func ScopeConditions(s Scope) ([]Condition, error) {
	var cs []Condition
	if s.App.Known {
		if s.App.N == AllApps || s.App.N < DefaultApp {
			return nil, fmt.Errorf("application %d: no such id", s.App.N)
		}
		cs = append(cs, equal(strconv.FormatInt(s.App.N, 10), "instance"))
	}
	if s.Host != "" {
		if strings.ContainsAny(s.Host, "*/?#@[]\\") && !isIPv6Host(s.Host) || !visible(s.Host) {
			return nil, fmt.Errorf("host %q: must be one host, or be left out for every host", s.Host)
		}
		cs = append(cs, equal(strings.ToLower(s.Host), "header", "HOST"))
	}
	path, err := ParsePath(s.Path)
	if err != nil {
		return nil, err
	}
	cs = append(cs, path.conditions()...)
	if s.Method != "" {
		if !isToken(s.Method) || strings.Contains(s.Method, "*") {
			return nil, fmt.Errorf("method %q: must be one method", s.Method)
		}
		cs = append(cs, equal(strings.ToUpper(s.Method), "method"))
	}
	return cs, nil
}

func equal(value string, point ...string) Condition {
	return Condition{Type: conditionEqual, Value: value, Point: point}
}

func absent(point ...string) Condition { return Condition{Type: ConditionAbsent, Point: point} }

// isIPv6Host reports whether the host is written as [::1], with or without a port.
func isIPv6Host(host string) bool {
	inner, _, ok := strings.Cut(strings.TrimPrefix(host, "["), "]")
	return ok && strings.HasPrefix(host, "[") && strings.Contains(inner, ":") &&
		strings.Trim(inner, "0123456789abcdefABCDEF:.") == ""
}

// ConditionsScope is the scope that the conditions match, or false where they are not of the form ScopeConditions
// gives. Conditions without a path come back with the path "".
func ConditionsScope(cs []Condition) (Scope, bool) {
	var s Scope
	var path []Condition
	for _, c := range cs {
		point := normalPoint(c.Point)
		switch strings.Join(point, "\x00") {
		case "":
			return Scope{}, false
		case "instance":
			n, err := strconv.ParseInt(c.Value, 10, 64)
			if err != nil {
				return Scope{}, false
			}
			s.App = Known(n)
		case "header\x00HOST":
			s.Host = strings.ToLower(c.Value)
		case "method":
			s.Method = c.Value
		default:
			if isPathPoint(point) {
				path = append(path, c)
			}
		}
	}
	if len(path) > 0 {
		s.Path = readPath(path).String()
	}
	// The way back decides: whatever was passed over above, twice there or of another type, makes the sets differ.
	again, err := ScopeConditions(s)
	return s, err == nil && SameConditions(cs, again)
}

// SameConditions reports whether both match the same requests, as far as that shows: in any order, with the spellings
// the service changes (case of hosts and header names, indexes as text), and without case where a condition disregards
// it. A condition that could not be read is like no other.
func SameConditions(a, b []Condition) bool {
	x, okX := ConditionKeys(a)
	y, okY := ConditionKeys(b)
	return okX && okY && slices.Equal(x, y)
}

// ConditionKeys are conditions as texts, each once and sorted, which are equal for those that match the same requests;
// ok is false where one could not be read.
func ConditionKeys(cs []Condition) (all []string, ok bool) {
	keys := make(map[string]bool, len(cs))
	for _, c := range cs {
		point := normalPoint(c.Point)
		if c.Type == "" || len(point) == 0 {
			return nil, false
		}
		host := slices.Equal(point, []string{"header", "HOST"})
		switch {
		case c.Type == ConditionAbsent:
			c.Value = ""
		case c.Type == conditionIEqual, host && c.Type == conditionEqual:
			c.Value = strings.ToLower(c.Value)
		}
		if host && c.Type == conditionIEqual {
			c.Type = conditionEqual
		}
		keys[strings.Join(append(Part{c.Type, strconv.Quote(c.Value)}, point...), "\x00")] = true
	}
	return slices.Sorted(maps.Keys(keys)), true
}

// normalPoint writes a flat point with a header's name in upper case.
func normalPoint(p Part) Part {
	if len(p) == 2 && p[0] == "header" {
		return Part{p[0], strings.ToUpper(p[1])}
	}
	return p
}

// SameRule reports whether both rules do the same to the same requests. Ids, comments and times don't count.
func SameRule(a, b Rule) bool {
	return a.Type == b.Type && a.AttackType == b.AttackType && a.Regex == b.Regex && a.Mode == b.Mode &&
		slices.Equal(flatPoint(a.Point), flatPoint(b.Point)) && SameConditions(a.Conditions, b.Conditions)
}

// CoversPatch reports whether one rule blocks all that a virtual patch would, because it patches the same for at least
// as many requests, or closes them altogether.
func CoversPatch(wide, patch Rule) bool {
	if wide.Type != RulePatch || patch.Type != RulePatch {
		return false
	}
	part := slices.Equal(flatPoint(wide.Point), flatPoint(patch.Point))
	if wide.AttackType == "any" {
		part = part || slices.Equal(flatPoint(wide.Point), []string{"header", "HOST"}) // which every request has
	} else if wide.AttackType != patch.AttackType {
		return false
	}
	return part && !slices.ContainsFunc(wide.Conditions, func(c Condition) bool {
		return !slices.ContainsFunc(patch.Conditions, func(have Condition) bool {
			if c.Type == conditionIEqual && have.Type == conditionEqual {
				have.Type = conditionIEqual // which is wider
			}
			return SameConditions([]Condition{c}, []Condition{have})
		})
	})
}

func flatPoint(p Point) (flat Part) {
	for _, part := range p {
		flat = append(flat, normalPoint(part)...)
	}
	return flat
}

// Met is whether an attack's requests meet conditions, as far as its record tells.
type Met int

// MetUnknown is of what no record holds, as other headers, and of regular expressions.
const (
	MetUnknown Met = iota
	MetNo
	MetYes
)

// ConditionsMet reports whether the attack's requests meet all of the conditions. No conditions are met by all.
func ConditionsMet(cs []Condition, a Attack) Met {
	all := MetYes
	for _, c := range cs {
		switch c.met(a) {
		case MetNo:
			return MetNo
		case MetUnknown:
			all = MetUnknown
		}
	}
	return all
}

func (c Condition) met(a Attack) Met {
	point := normalPoint(c.Point)
	value, there, known := a.part(point)
	if !known {
		return MetUnknown
	}
	met, anyCase := false, point[0] == "header" || point[0] == "method"
	switch {
	case c.Type == ConditionAbsent:
		met = !there
	case c.Type == conditionEqual && !anyCase:
		met = there && value == c.Value
	case c.Type == conditionEqual, c.Type == conditionIEqual:
		met = there && strings.EqualFold(value, c.Value)
	default:
		return MetUnknown
	}
	if met {
		return MetYes
	}
	return MetNo
}

// part is the part of the attack's requests that a condition's point names, whether they have it, and whether the
// record tells. A record of several paths, or of one that was cut, tells no part of a path.
func (a Attack) part(point []string) (value string, there, known bool) {
	switch {
	case len(point) == 0:
		return "", false, false
	case isPathPoint(point):
		return a.pathPart(point)
	}
	switch strings.Join(point, "\x00") {
	case "instance":
		return strconv.FormatInt(a.App.N, 10), true, a.App.Known
	case "header\x00HOST":
		host, err := CleanHost(a.Domain)
		return host, true, err == nil && host != ""
	case "method":
		return a.Method, true, a.Method != ""
	}
	return "", false, false
}

func (a Attack) pathPart(point []string) (value string, there, known bool) {
	clean, err := CleanPath(a.Path)
	path, wrong := ParsePath(clean)
	if err != nil || wrong != nil || clean == "" || len(a.Path) > MaxPath || !path.Exact() {
		return "", false, false
	}
	for _, c := range path.conditions() {
		if slices.Equal(c.Point, point) {
			return c.Value, c.Type != ConditionAbsent, true
		}
	}
	if len(point) != 2 || point[0] != "path" {
		return "", false, false
	}
	i, err := strconv.Atoi(point[1])
	return "", false, err == nil && i >= 0
}
