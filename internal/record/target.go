package record

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// Target is what a change touches, at the service or of another change. While a change is in hand no other that overlaps with one of its targets is
// planned to its end or sent.
type Target struct {
	prefix netip.Prefix // of a source on any list, for any application; invalid: it is name
	name   string       // a country, a proxy, a data center, a set of conditions, an application's mode, or a change
}

// RangeTarget is the target that a source's range is.
func RangeTarget(p netip.Prefix) Target { return Target{prefix: p.Masked()} }

// Targets are all that the change touches. Whoever undoes or extends it touches the change, too.
func (c Change) Targets() []Target {
	all := []Target{{name: "change " + c.ID}}
	if parent := c.Parent(); parent != "" {
		all = append(all, Target{name: "change " + parent})
	}
	for _, s := range c.Steps {
		if s.Rule != nil {
			all = append(all, ruleTarget(*s.Rule))
			continue
		}
		for _, e := range append([]apiclient.IPRule{*s.Entry}, s.Before...) {
			all = append(all, entryTargets(e)...)
		}
	}
	return all
}

func entryTargets(e apiclient.IPRule) (all []Target) {
	if e.Kind == apiclient.KindRange {
		return []Target{RangeTarget(e.Subnet)}
	}
	for _, value := range e.Values {
		all = append(all, Target{name: e.Kind + " " + strings.ToLower(value)})
	}
	return all
}

// ruleTarget is the set of conditions of a rule, in any order; of a mode apart, for a patch of an application doesn't touch its mode.
func ruleTarget(r apiclient.Rule) Target {
	kind := "rule"
	if r.Type == apiclient.RuleMode {
		kind = "mode"
	}
	keys, ok := apiclient.ConditionKeys(r.Conditions)
	if !ok {
		return Target{name: fmt.Sprint(kind, " ", r.ConditionID)} // as the service numbers them
	}
	return Target{name: kind + " " + strings.Join(keys, "\n")}
}

// Overlap reports whether a target of one set touches what one of the other does.
func Overlap(a, b []Target) bool {
	return slices.ContainsFunc(a, func(x Target) bool { return slices.ContainsFunc(b, x.overlaps) })
}

func (t Target) overlaps(other Target) bool {
	if t.prefix.IsValid() && other.prefix.IsValid() {
		return SameHosts(t.prefix, other.prefix)
	}
	return t == other
}
