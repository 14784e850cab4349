package record

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// Target is what a change touches, at the service or of another change. While a change is in hand no other that
// overlaps with one of its targets is planned to its end or sent.
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

// ruleTarget is the set of conditions of a rule, in any order; of a mode apart, for a patch of an application doesn't
// touch its mode.
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

// carrier is a part of IPv6 whose addresses stand for IPv4 addresses that they hold.
type carrier struct {
	in       netip.Prefix
	at       int  // the bit from which on the address stands
	inverted bool // each of its bits
}

var carriers = []carrier{
	{in: netip.MustParsePrefix("::ffff:0:0/96"), at: 96},             // v4-mapped
	{in: netip.MustParsePrefix("::/96"), at: 96},                     // v4-compatible, which nobody uses any more
	{in: netip.MustParsePrefix("::ffff:0:0:0/96"), at: 96},           // v4-translated (SIIT)
	{in: netip.MustParsePrefix("64:ff9b::/96"), at: 96},              // NAT64
	{in: netip.MustParsePrefix("64:ff9b:1::/48"), at: 96},            // NAT64 of a network of its own
	{in: netip.MustParsePrefix("2002::/16"), at: 16},                 // 6to4
	{in: netip.MustParsePrefix("2001::/32"), at: 96, inverted: true}, // Teredo: the client
}

// IPv4Within are the IPv4 ranges that a range stands for: itself if it is one, and what IPv6 addresses in it carry. One
// that is wider than what carries addresses holds all of IPv4.
func IPv4Within(p netip.Prefix) (all []netip.Prefix) {
	if p.Addr().Is4() {
		return []netip.Prefix{p}
	}
	for _, c := range carriers {
		if p.Overlaps(c.in) {
			all = append(all, c.read(p))
		}
	}
	// ISATAP is an interface's id in any network: of wider ranges it says nothing.
	if id := p.Addr().As16(); p.Bits() >= 96 && id[8]&^2 == 0 && [3]byte(id[9:]) == [3]byte{0, 0x5e, 0xfe} {
		all = append(all, carrier{at: 96}.read(p))
	}
	return all
}

func (c carrier) read(p netip.Prefix) netip.Prefix {
	whole := p.Addr().As16()
	ip := [4]byte(whole[c.at/8:])
	for i := range ip {
		if c.inverted {
			ip[i] = ^ip[i]
		}
	}
	return netip.PrefixFrom(netip.AddrFrom4(ip), min(max(p.Bits()-c.at, 0), 32)).Masked()
}

// SameHosts reports whether an address in one range is one in the other, or stands for it.
func SameHosts(a, b netip.Prefix) bool {
	if a.Overlaps(b) || a.Addr().Is4() && b.Addr().Is4() {
		return a.Overlaps(b)
	}
	return slices.ContainsFunc(IPv4Within(a), func(x netip.Prefix) bool {
		return slices.ContainsFunc(IPv4Within(b), x.Overlaps)
	})
}

// Unmap makes an IPv4 range of one written as v4-mapped IPv6, which would slip through every guard otherwise.
func Unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
