package commands

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
)

// maxTallied is how many of a kind are named where a storm's attacks are counted.
const maxTallied = 4

// Tallies count a storm's attacks by status, type, application, and source.
func (s Storm) Tallies(a *Account, policy Policy, sources apiclient.Figure) []Text {
	of := s.counted()
	status, none := tally(s.Status, of, func(st apiclient.Status) Text { return Say(statusWords[st]) }), s.Gathered-of
	if status != nil && none > 0 {
		status = Say(status, " · ")
	}
	if none > 0 {
		status = Say(status, number(none), " marked as ", Plural(int64(none), "false positive"))
	}
	lines := []Text{Say(Bold("By status:"), " ", status)}
	if len(s.Types) > 0 {
		lines = append(lines, Say(Bold("By type:"), " ", tally(s.Types, of, func(t string) Text { return Say(TypeName(Visible(t, maxField))) })))
	}
	if len(s.Apps) > 1 {
		apps := tally(s.Apps, of, func(app int64) Text { return Say(Visible(a.AppName(apiclient.Known(app)), maxField)) })
		lines = append(lines, Say(Bold("By application:"), " ", apps))
	}
	return append(lines, Say(Bold("By source:"), " ", s.sourcesTally(policy, sources)))
}

// counted is how many of its attacks are counted by status, type and application: all but those that are marked as false positives.
func (s Storm) counted() (n int) {
	for _, attacks := range s.Status {
		n += attacks
	}
	return n
}

// sourcesTally counts in how many of the attacks each source is: one that is in a single attack tells nothing here. An attack can have several,
// so what is left of the attacks isn't what the others are behind.
func (s Storm) sourcesTally(policy Policy, sources apiclient.Figure) Text {
	several := maps.Clone(s.Sources)
	maps.DeleteFunc(several, func(_ netip.Addr, n int) bool { return n < 2 })
	from := tally(several, 0, func(ip netip.Addr) Text { return s.sourceText(ip, policy) })
	switch rest := sources.N - int64(min(maxTallied, len(several))); {
	case !sources.Known && from == nil:
		return Say("each in one attack, as far as the service lists them")
	case from == nil:
		return Say(figure(sources, "source"), ", each in one attack, as far as the service lists them")
	case !sources.Known && len(s.Sources) > len(several):
		return Say(from, " · others, each in one attack or not listed by the service")
	case !sources.Known:
		return Say(from, " · perhaps others that the service doesn't list")
	case rest > 0:
		return Say(from, " · ", apiclient.Known(rest), Plural(rest, " more source"))
	}
	return from
}

// statusWords are the blocking statuses where attacks are counted by them.
var statusWords = map[apiclient.Status]string{
	apiclient.StatusBlocked: "blocked", apiclient.StatusPartly: "partly blocked", apiclient.StatusNotBlocked: "not blocked", apiclient.StatusUnknown: "blocking unknown",
}

// sourceText is one of the storm's sources, and whose it is if people named it.
func (s Storm) sourceText(ip netip.Addr, policy Policy) Text {
	text := Say(Code(ip.String()))
	if own, ok := policy.SourceOf(ip); ok {
		text = Say(text, " = ", Visible(own.Name, maxField))
	}
	if ip == s.Source && s.Country != "" {
		text = Say(text, " ", Visible(s.Country, 20))
	}
	return text
}

// tally is what was counted, the most frequent first, and how many of all are none of what is named.
func tally[K comparable](counts map[K]int, all int, name func(K) Text) (line Text) {
	type counted struct {
		name Text
		n    int
	}
	var each []counted
	for key, n := range counts {
		each = append(each, counted{name(key), n})
	}
	slices.SortFunc(each, func(x, y counted) int { return cmp.Or(y.n-x.n, cmp.Compare(x.name.String(), y.name.String())) })
	for i, one := range each[:min(maxTallied, len(each))] {
		if i > 0 {
			line = Say(line, " · ")
		}
		line = Say(line, number(one.n), " ", one.name)
		all -= one.n
	}
	if all > 0 && line != nil {
		line = Say(line, " · ", number(all), " others")
	}
	return line
}
