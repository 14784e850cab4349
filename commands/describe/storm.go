package describe

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// MostCards is how many grouped attacks get a card of their own at once: a channel takes about one message a second.
const MostCards = 20

// Blocking says how much of the storm gets through, as far as the service lists it: "all blocked", "4 not blocked, 2 unknown".
func Blocking(s record.Storm) string {
	through, unknown := s.Status[apiclient.StatusNotBlocked]+s.Status[apiclient.StatusPartly], s.Status[apiclient.StatusUnknown]
	words := "not blocked"
	if s.Status[apiclient.StatusPartly] > 0 {
		words = "not fully blocked"
	}
	switch {
	case countedByStatus(s) == 0:
		return "all false positives"
	case through+unknown == 0:
		return "all blocked"
	case through == 0:
		return text.Number(unknown) + " unknown whether blocked"
	case unknown > 0:
		return fmt.Sprintf("%s %s, %s unknown", text.Number(through), words, text.Number(unknown))
	}
	return text.Number(through) + " " + words
}

// Applications names the application that the storm is on, or says on how many it is.
func Applications(s record.Storm, a *call.Account) string {
	if len(s.Apps) > 1 {
		return text.Count(len(s.Apps), "application")
	}
	var only apiclient.Figure
	for app := range s.Apps {
		only = apiclient.Known(app)
	}
	return a.AppName(only)
}

// maxOutliers is how many outliers are named where a storm is shown.
const maxOutliers = 8

// Outliers are the outliers that are named where the storm is shown, and how many are not.
func Outliers(s record.Storm) (named []apiclient.Attack, left int) {
	named = s.Outliers[:min(maxOutliers, len(s.Outliers))]
	return named, s.OutlierCount - len(named)
}

// Lasted is in how long its attacks came, as it was seen then. More than Over came within In: it is never less than that.
func Lasted(s record.Storm, seen time.Time) time.Duration {
	if !s.GoesOn() {
		seen = s.Ended
	}
	lasted := max(s.In, seen.Sub(s.Began))
	if lasted > time.Minute {
		return lasted.Round(time.Minute)
	}
	return lasted.Round(time.Second)
}

// Ongoing says how many of the storm's attacks go on, and of how many only a denied source still tries; of is what they are called.
func Ongoing(s record.Storm, of string) string {
	on := text.Number(s.Ongoing) + " of " + of + " still on"
	if s.StillTrying > 0 {
		on += ", " + text.Number(s.StillTrying) + " still trying only"
	}
	return on
}

// NoOwnCards says why its attacks have no cards of their own, and until when.
func NoOwnCards(s record.Storm) text.Text {
	why := Trigger(s)
	if !s.GoesOn() {
		return text.New(why, ", from ", s.Began, " on. ", text.Bold("Over"), " since ", s.Ended, ": new attacks get cards of their own again")
	}
	return text.New(why, ", since ", s.Began, ". Ends by itself when fewer have come for ", text.Duration(s.EndsAfter), ": ", s.Exceeded.Add(s.EndsAfter), " at the earliest")
}

// Trigger is why it began.
func Trigger(s record.Storm) string {
	if s.CaughtUp {
		return "more than " + text.Number(s.Over) + " attacks were found going on when wafbot looked first, or again"
	}
	return "more than " + text.Number(s.Over) + " new attacks came in " + text.Duration(s.In)
}

// Cause is the one source that is behind most of the storm, else the one place that most of it goes to.
func Cause(s record.Storm, policy policy.Policy) text.Text {
	all := " of " + text.Count(s.Grouped, "attack")
	switch {
	case s.Source.IsValid():
		return text.New(stormSource(s, s.Source, policy), " is behind ", text.Number(s.SharedBy), all)
	case s.Place != "":
		return text.New("No one source is behind it. ", text.Number(s.SharedBy), all, " go to ", text.Code(text.Sanitize(s.Place, text.MaxPath)))
	}
	return text.New("No one source and no one path is behind it")
}

// Storm is a storm in one line, with the way to its card where nothing is ever cut.
func Storm(a *call.Account, row call.StormRow, now time.Time) text.Text {
	s := row.Storm
	line := text.New(text.Code(row.ID), " ", CardLink(row.Card), text.Bold("STORM"), " on ", text.Sanitize(Applications(s, a), text.MaxField), ": ", text.Count(s.Grouped, "attack"), ", ", text.Bold(Blocking(s)), ", ",
		text.Count(s.Incidents, "incident"), " beside it, ")
	if s.GoesOn() {
		line = text.New(line, "goes on")
	} else {
		line = text.New(line, "over since ", s.Ended, ", ", Ongoing(s, "them"))
	}
	return text.New(line, ", last hit ", Ago(row.Attack.Last, now), ". ", Cause(s, policy.Policy{}))
}

// maxTallied is how many of a kind are named where a storm's attacks are counted.
const maxTallied = 4

// Tallies count a storm's attacks by status, type, application, and source.
func Tallies(s record.Storm, a *call.Account, policy policy.Policy, sources apiclient.Figure) []text.Text {
	of := countedByStatus(s)
	status := tally(s.Status, of, func(st apiclient.Status) text.Text { return text.New(statusWords[st]) })
	if none := s.Grouped - of; none > 0 {
		status = text.Join([]text.Text{status, text.New(text.Number(none), " marked as ", text.Plural(int64(none), "false positive"))}, " · ")
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

// sourcesTally counts in how many of the attacks each source is: one that is in a single attack says nothing here. An attack can have several,
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
	names := map[K]text.Text{}
	for key := range counts {
		names[key] = name(key)
	}
	most := slices.SortedFunc(maps.Keys(counts), func(x, y K) int {
		return cmp.Or(counts[y]-counts[x], cmp.Compare(names[x].String(), names[y].String()))
	})
	var named []text.Text
	for _, key := range most[:min(maxTallied, len(most))] {
		named = append(named, text.New(text.Number(counts[key]), " ", names[key]))
		all -= counts[key]
	}
	line = text.Join(named, " · ")
	if all > 0 && line != nil {
		line = text.New(line, " · ", text.Number(all), " others")
	}
	return line
}
