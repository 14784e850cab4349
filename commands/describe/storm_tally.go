package describe

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxTallied is how many of a kind are named where a storm's attacks are counted.
const maxTallied = 4

// StormTallies count a storm's attacks by status, type, application, and source.
func StormTallies(s record.Storm, a *call.Account, policy policy.Policy, sources apiclient.Figure) []text.Text {
	of := countedByStatus(s)
	status, none := tally(s.Status, of, func(st apiclient.Status) text.Text { return text.New(statusWords[st]) }), s.Grouped-of
	if status != nil && none > 0 {
		status = text.New(status, " · ")
	}
	if none > 0 {
		status = text.New(status, text.Number(none), " marked as ", text.Plural(int64(none), "false positive"))
	}
	lines := []text.Text{text.New(text.Bold("By status:"), " ", status)}
	if len(s.Types) > 0 {
		lines = append(lines, text.New(text.Bold("By type:"), " ", tally(s.Types, of, func(t string) text.Text { return text.New(TypeName(text.Sanitize(t, text.MaxField))) })))
	}
	if len(s.Apps) > 1 {
		apps := tally(s.Apps, of, func(app int64) text.Text {
			return text.New(text.Sanitize(a.AppName(apiclient.Known(app)), text.MaxField))
		})
		lines = append(lines, text.New(text.Bold("By application:"), " ", apps))
	}
	return append(lines, text.New(text.Bold("By source:"), " ", sourcesTally(s, policy, sources)))
}

// countedByStatus is how many of its attacks are counted by status, type and application: all but those that are marked as false positives.
func countedByStatus(s record.Storm) (n int) {
	for _, attacks := range s.Status {
		n += attacks
	}
	return n
}

// sourcesTally counts in how many of the attacks each source is: one that is in a single attack tells nothing here. An attack can have several,
// so what is left of the attacks isn't what the others are behind.
func sourcesTally(s record.Storm, policy policy.Policy, sources apiclient.Figure) text.Text {
	several := maps.Clone(s.Sources)
	maps.DeleteFunc(several, func(_ netip.Addr, n int) bool { return n < 2 })
	from := tally(several, 0, func(ip netip.Addr) text.Text { return stormSource(s, ip, policy) })
	switch rest := sources.N - int64(min(maxTallied, len(several))); {
	case !sources.Known && from == nil:
		return text.New("each in one attack, as far as the service lists them")
	case from == nil:
		return text.New(Figure(sources, "source"), ", each in one attack, as far as the service lists them")
	case !sources.Known && len(s.Sources) > len(several):
		return text.New(from, " · others, each in one attack or not listed by the service")
	case !sources.Known:
		return text.New(from, " · perhaps others that the service doesn't list")
	case rest > 0:
		return text.New(from, " · ", apiclient.Known(rest), text.Plural(rest, " more source"))
	}
	return from
}

// statusWords are the blocking statuses where attacks are counted by them.
var statusWords = map[apiclient.Status]string{
	apiclient.StatusBlocked: "blocked", apiclient.StatusPartly: "partly blocked", apiclient.StatusNotBlocked: "not blocked", apiclient.StatusUnknown: "blocking unknown",
}

// stormSource is one of the storm's sources, and whose it is if people named it.
func stormSource(s record.Storm, ip netip.Addr, policy policy.Policy) text.Text {
	words := text.New(text.Code(ip.String()))
	if own, ok := policy.SourceOf(ip); ok {
		words = text.New(words, " = ", text.Sanitize(own.Name, text.MaxField))
	}
	if ip == s.Source && s.Country != "" {
		words = text.New(words, " ", text.Sanitize(s.Country, 20))
	}
	return words
}

// tally is what was counted, the most frequent first, and how many of all are none of what is named.
func tally[K comparable](counts map[K]int, all int, name func(K) text.Text) (line text.Text) {
	type counted struct {
		name text.Text
		n    int
	}
	var each []counted
	for key, n := range counts {
		each = append(each, counted{name(key), n})
	}
	slices.SortFunc(each, func(x, y counted) int { return cmp.Or(y.n-x.n, cmp.Compare(x.name.String(), y.name.String())) })
	for i, one := range each[:min(maxTallied, len(each))] {
		if i > 0 {
			line = text.New(line, " · ")
		}
		line = text.New(line, text.Number(one.n), " ", one.name)
		all -= one.n
	}
	if all > 0 && line != nil {
		line = text.New(line, " · ", text.Number(all), " others")
	}
	return line
}
