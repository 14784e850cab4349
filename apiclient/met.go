package apiclient

import (
	"slices"
	"strconv"
	"strings"
)

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
