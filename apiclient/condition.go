package apiclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Scope is where a rule applies, in a person's terms.
type Scope struct {
	App    Figure // unknown: all applications
	Host   string // "": any
	Path   string // exactly this path, or with "*" as last segment all below it; "": any
	Method string // "": any
}

// ScopeConditions are the conditions that match exactly the scope. It refuses what they can't express: wildcards
// elsewhere, query strings, the service's "[multiple]".
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
			return nil, fmt.Errorf("host %q: must be one host", s.Host)
		}
		cs = append(cs, equal(strings.ToLower(s.Host), "header", "HOST"))
	}
	path, err := pathConditions(s.Path)
	if err != nil {
		return nil, err
	}
	cs = append(cs, path...)
	if s.Method != "" {
		if !isToken(s.Method) || strings.Contains(s.Method, "*") {
			return nil, fmt.Errorf("method %q: must be one method", s.Method)
		}
		cs = append(cs, equal(strings.ToUpper(s.Method), "method"))
	}
	return cs, nil
}

func equal(value string, point ...any) Condition {
	return Condition{Type: conditionEqual, Value: value, Point: point}
}

func absent(point ...any) Condition { return Condition{Type: conditionAbsent, Point: point} }

// isIPv6Host reports whether the host is written as [::1], with or without a port.
func isIPv6Host(host string) bool {
	inner, _, ok := strings.Cut(strings.TrimPrefix(host, "["), "]")
	return ok && strings.HasPrefix(host, "[") && strings.Contains(inner, ":") && strings.Trim(inner, "0123456789abcdefABCDEF:.") == ""
}

func visible(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) < 0
}

// pathConditions encodes a path: all segments but the last by position, the last as name and extension.
func pathConditions(path string) ([]Condition, error) {
	if path == "" {
		return nil, nil
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	last := len(segments) - 1
	below := segments[last] == "*"
	if below {
		segments[last] = ""
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return nil, fmt.Errorf("path %q: must begin with /", path)
	case len(path) > MaxPath: // it may be cut
		return nil, fmt.Errorf("path %.40q…: must be %d bytes at most", path, MaxPath)
	case strings.ContainsAny(path, "?#"):
		return nil, fmt.Errorf("path %q: must not hold a query", path)
	case strings.Contains(path, "[multiple]") || !visible(strings.ReplaceAll(path, " ", "")):
		return nil, fmt.Errorf("path %q: must be one path", path)
	case strings.Contains(strings.Join(segments, "/"), "*"):
		return nil, fmt.Errorf(`path %q: "*" can only be the last segment`, path)
	case slices.Contains(segments[:last], ""):
		return nil, errors.New("path must not hold an empty segment")
	}
	var cs []Condition
	for i, segment := range segments[:last] {
		cs = append(cs, equal(segment, "path", i))
	}
	if below {
		return cs, nil
	}
	name, ext, hasExt := strings.Cut(segments[last], ".")
	cs = append(cs, absent("path", last), equal(name, "action_name"))
	if !hasExt {
		return append(cs, absent("action_ext")), nil
	}
	return append(cs, equal(ext, "action_ext")), nil
}

// ConditionsScope is the scope that the conditions match, or false where they are not of the form ScopeConditions
// gives. Conditions without a path come back with the path "", also where it was "/*".
func ConditionsScope(cs []Condition) (Scope, bool) {
	var s Scope
	segments, exact, ext := map[string]string{}, false, ""
	for _, c := range cs {
		point := normalPoint(c.Point)
		switch strings.Join(point, "\x00") {
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
		case "action_name":
			exact, segments["name"] = true, c.Value
		case "action_ext":
			if c.Type != conditionAbsent {
				ext = "." + c.Value
			}
		default:
			if len(point) == 2 && point[0] == "path" && c.Type != conditionAbsent {
				segments[point[1]] = c.Value
			}
		}
	}
	s.Path = joinPath(segments, exact, ext)
	// The way back decides: whatever was passed over above, twice there or of another type, makes the sets differ.
	again, err := ScopeConditions(s)
	return s, err == nil && sameConditions(cs, again)
}

func joinPath(segments map[string]string, exact bool, ext string) string {
	if len(segments) == 0 {
		return ""
	}
	var b strings.Builder
	for i := 0; ; i++ {
		segment, ok := segments[strconv.Itoa(i)]
		if !ok {
			break
		}
		b.WriteString("/" + segment)
	}
	if exact {
		return b.String() + "/" + segments["name"] + ext
	}
	return b.String() + "/*"
}

// sameConditions reports whether both match the same requests, as far as that shows: in any order, with the spellings
// the service changes (case of hosts and header names, indexes as text). A condition that could not be read is like no other.
func sameConditions(a, b []Condition) bool {
	x, okX := ConditionKeys(a)
	y, okY := ConditionKeys(b)
	return okX && okY && slices.Equal(x, y)
}

// ConditionKeys are conditions as texts, each once and sorted, which are equal for those that match the same requests; ok is false where one could
// not be read.
func ConditionKeys(cs []Condition) (all []string, ok bool) {
	keys := make(map[string]bool, len(cs))
	for _, c := range cs {
		point := normalPoint(c.Point)
		if c.Type == "" || len(point) == 0 {
			return nil, false
		}
		switch {
		case c.Type == conditionAbsent:
			c.Value = ""
		case slices.Equal(point, []string{"header", "HOST"}) && (c.Type == conditionEqual || c.Type == conditionIEqual):
			c.Type, c.Value = conditionEqual, strings.ToLower(c.Value)
		}
		keys[strings.Join(append([]string{c.Type, strconv.Quote(c.Value)}, point...), "\x00")] = true
	}
	return slices.Sorted(maps.Keys(keys)), true
}

// normalPoint writes a flat point the same whether its numbers are ints, floats or text, and header names in upper case.
func normalPoint(items []any) []string {
	out := make([]string, len(items))
	for i, item := range items {
		switch item := item.(type) {
		case string:
			out[i] = item
		case float64: // after a way through JSON
			out[i] = strconv.FormatFloat(item, 'f', -1, 64)
		case json.Number:
			out[i] = wordOf(item)
		default:
			out[i] = fmt.Sprint(item)
		}
	}
	if len(out) == 2 && out[0] == "header" {
		out[1] = strings.ToUpper(out[1])
	}
	return out
}

// SameRule reports whether both rules do the same to the same requests. Ids, comments and times don't count.
func SameRule(a, b Rule) bool {
	return a.Type == b.Type && a.AttackType == b.AttackType && a.Regex == b.Regex && a.Mode == b.Mode &&
		slices.Equal(flatPoint(a.Point), flatPoint(b.Point)) && sameConditions(a.Conditions, b.Conditions)
}

// CoversPatch reports whether one rule blocks all that a virtual patch would, because it patches the same for at least as many requests, or closes
// them altogether.
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
		return !slices.ContainsFunc(patch.Conditions, func(have Condition) bool { return sameConditions([]Condition{c}, []Condition{have}) })
	})
}

func flatPoint(p Point) []string {
	var out []string
	for _, group := range p {
		out = append(out, normalPoint(group)...)
	}
	return out
}
