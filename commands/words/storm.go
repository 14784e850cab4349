package words

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Applications names the application that most of the storm is on, and how many more there are.
func Applications(s record.Storm, a *config.Account) string {
	var first apiclient.Figure
	for _, app := range slices.Sorted(maps.Keys(s.Apps)) {
		if !first.Known || s.Apps[app] > s.Apps[first.N] {
			first = apiclient.Known(app)
		}
	}
	name := text.Field(a.AppName(first))
	if more := s.AppCount - 1; more > 0 {
		return name + " and " + text.Count(more, "more application")
	}
	return name
}

// Counted is how many attacks there are, as far as polls have found them.
func Counted(s record.Storm) string {
	if s.Growing() {
		return "at least " + text.Count(s.Grouped, "attack") + ", growing"
	}
	return text.Count(s.Grouped, "attack")
}

// Active says how many of the storm's attacks are still active, and of how many only a denied source still tries.
func Active(s record.Storm) string {
	on := text.Number(s.Ongoing) + " still active"
	if s.StillTrying > 0 {
		on += ", " + text.Number(s.StillTrying) + " still trying only"
	}
	return on
}

// NoOwnCards says why its attacks have no cards of their own, and until when.
func NoOwnCards(s record.Storm) text.Text {
	why := Trigger(s)
	if !s.GoesOn() {
		return text.Newf("%v, from %v on. New attacks get cards of their own again since %v", why, s.Began, s.Ended)
	}
	return text.Newf("%v, since %v. New attacks get cards of their own again when fewer have come for %v: %v at the earliest",
		why, s.Began, text.Duration(s.EndsAfter), s.Exceeded.Add(s.EndsAfter))
}

// Trigger is why it began.
func Trigger(s record.Storm) string {
	if s.CaughtUp {
		return "more than " + text.Number(s.Over) + " attacks were found going on when wafbot looked first, or again"
	}
	return "more than " + text.Number(s.Over) + " new attacks came in " + text.Duration(s.In)
}

// Cause is the one source that is in most of the storm, else the one place that most of it goes to.
func Cause(s record.Storm, policy policy.Policy) text.Text {
	all := " of " + text.Count(s.Grouped, "attack")
	switch {
	case s.Source.IsValid():
		source := apiclient.Source{IP: s.Source, Country: s.Country}
		return text.New(StormSource(source, policy), " is in ", text.Number(s.SharedBy), all)
	case s.Place != "":
		return text.Newf("No one source. %v%v go to `%v`",
			text.Number(s.SharedBy), all, text.Sanitize(s.Place, text.MaxPath))
	}
	return text.New("No one source and no one path")
}

// maxTallied is how many of a kind are named where a storm's attacks are counted.
const maxTallied = 4

// Tallies count a storm's attacks by status, type, application, and source.
func Tallies(s record.Storm, a *config.Account, policy policy.Policy, sources apiclient.Figure) text.Lines {
	of := 0 // those that are still stored and aren't marked as false positives
	for _, attacks := range s.Status {
		of += attacks
	}
	status := tally(s.Status, of, func(st apiclient.Status) any { return StatusWords[st] })
	if none := s.FalsePositives; none > 0 {
		marked := text.Newf("%v marked as %v", text.Number(none), text.Plural(int64(none), "false positive"))
		status = text.Join(text.Lines{status, marked}, " · ")
	}
	lines := text.Lines{text.Newf("*By status:* %v", status)}
	if len(s.Types) > 0 {
		lines.Addf("*By type:* %v",
			tally(s.Types, of, func(t string) any { return TypeName(text.Field(t)) }))
	}
	if len(s.Apps) > 1 {
		apps := tally(s.Apps, of, func(app int64) any { return text.Field(a.AppName(apiclient.Known(app))) })
		lines.Addf("*By application:* %v", apps)
	}
	return append(lines, text.Newf("*By source:* %v", sourcesTally(s, policy, sources)))
}

// sourcesTally counts in how many of the attacks each source is: one that is in a single attack says nothing here. An
// attack can have several, so what is left of the attacks isn't what the others are behind.
func sourcesTally(s record.Storm, policy policy.Policy, sources apiclient.Figure) text.Text {
	several := maps.Clone(s.Sources)
	maps.DeleteFunc(several, func(_ netip.Addr, n int) bool { return n < 2 })
	from := tally(several, 0, func(ip netip.Addr) any {
		country := ""
		if ip == s.Source {
			country = s.Country
		}
		return StormSource(apiclient.Source{IP: ip, Country: country}, policy)
	})
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

// StatusWords are the blocking statuses for people.
var StatusWords = map[apiclient.Status]string{
	apiclient.StatusBlocked: "blocked", apiclient.StatusPartly: "partly blocked",
	apiclient.StatusNotBlocked: "not blocked", apiclient.StatusUnknown: "blocking unknown",
}

// StormSource is one of the storm's sources, and whose it is if people named it.
func StormSource(source apiclient.Source, policy policy.Policy) text.Text {
	words := text.Newf("`%v`", source.String())
	if own, ok := policy.SourceOf(source); ok {
		words.Addf(" = %v", text.Field(own.Name))
	}
	if source.Country != "" {
		words.Addf(" %v", text.Sanitize(source.Country, 20))
	}
	return words
}

// tally is what was counted, the most frequent first, and how many of all are none of what is named.
func tally[K comparable](counts map[K]int, all int, name func(K) any) text.Text {
	type row struct {
		n    int
		name text.Text
	}
	var most []row
	for key, n := range counts {
		most = append(most, row{n, text.New(name(key))})
	}
	slices.SortFunc(most, func(x, y row) int {
		return cmp.Or(y.n-x.n, cmp.Compare(x.name.String(), y.name.String()))
	})
	var named text.Lines
	for _, one := range most[:min(maxTallied, len(most))] {
		named.Addf("%v %v", text.Number(one.n), one.name)
		all -= one.n
	}
	if all > 0 && len(named) > 0 {
		named.Addf("%v others", text.Number(all))
	}
	return text.Join(named, " · ")
}
