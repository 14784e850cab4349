package efficacy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

// LongEnough is the entry that lasts longest of those that do at least as much as one that is wanted; ok reports
// whether it lasts as long, too. If the service doesn't say an entry's end, it lasts longest: no entry may be
// shortened.
func LongEnough(want apiclient.IPRule, lists []apiclient.IPRule) (longest apiclient.IPRule, ok bool) {
	for _, e := range lists {
		longer := !ok || e.Expires.IsZero() || !LastsAsLong(longest, e)
		if longer && e.List == want.List && Covers(e, want) && call.HoldsFor(e.Apps, want.Apps) {
			longest, ok = e, true
		}
	}
	return longest, ok && LastsAsLong(longest, want)
}

// Covers reports whether an entry's sources include all of the other's.
func Covers(e, want apiclient.IPRule) bool {
	return !slices.ContainsFunc(grammar.TargetsOf(want), func(t grammar.Target) bool { return !covers(e, t) })
}

// covers reports whether an entry's sources include all of a target.
func covers(e apiclient.IPRule, t grammar.Target) bool {
	return slices.ContainsFunc(grammar.TargetsOf(e), func(have grammar.Target) bool { return have.Covers(t) })
}

// Overlaps reports whether two entries have a source in common.
func Overlaps(e, want apiclient.IPRule) bool {
	return slices.ContainsFunc(grammar.TargetsOf(want), func(t grammar.Target) bool { return overlaps(e, t) })
}

// overlaps reports whether an entry and a target have a source in common.
func overlaps(e apiclient.IPRule, t grammar.Target) bool {
	return slices.ContainsFunc(grammar.TargetsOf(e),
		func(have grammar.Target) bool { return have.Covers(t) || t.Covers(have) })
}

// names reports whether an entry is for one of the sources.
func names(e apiclient.IPRule, sources ...apiclient.Source) bool {
	return slices.ContainsFunc(grammar.TargetsOf(e),
		func(t grammar.Target) bool { return slices.ContainsFunc(sources, t.Holds) })
}

// EntryDone reports whether a step on the lists took effect, and notes the id of the entry that it made.
func EntryDone(entries []apiclient.IPRule, ch record.Change, step *record.Step) bool {
	if step.Kind == record.DeleteEntry {
		return !slices.ContainsFunc(entries, func(e apiclient.IPRule) bool { return Unchanged(e, *step.Entry) })
	}
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool {
		return ours(e, ch, *step) && (NamedBy(e, ch) || LastsAsLong(e, *step.Entry))
	})
	if i >= 0 {
		step.ID = entries[i].ID
	}
	return i >= 0
}

// RuleDone reports whether the rule of a step was deleted, or created, and notes the id that it got.
func RuleDone(rules []apiclient.Rule, step *record.Step) bool {
	if step.Kind == record.DeleteRule {
		return !slices.ContainsFunc(rules, func(r apiclient.Rule) bool { return r.ID == step.Rule.ID })
	}
	ids := EqualRules(rules, *step.Rule)
	i := slices.IndexFunc(ids, func(id int64) bool { return !slices.Contains(step.Equal, id) })
	if i >= 0 {
		step.ID = ids[i]
	}
	return i >= 0
}

// ours reports whether an entry is the one that the step made: by its reason, which begins with the change's id,
// or, of one that was put back or prolonged, is the one it had before.
func ours(e apiclient.IPRule, ch record.Change, step record.Step) bool {
	return SameSource(e, *step.Entry) && (NamedBy(e, ch) || e.Reason == step.Entry.Reason)
}

// PartOf reports whether an entry is the one that the step made, as ours does, or what is left of it for some of its
// sources.
func PartOf(e apiclient.IPRule, ch record.Change, step record.Step) bool {
	part := *step.Entry
	if part.Kind != apiclient.KindRange && len(e.Values) > 0 && Covers(part, e) {
		part.Values = e.Values
	}
	step.Entry = &part
	return ours(e, ch, step)
}

// NamedBy reports whether an entry's reason names the change.
func NamedBy(e apiclient.IPRule, ch record.Change) bool {
	return strings.HasPrefix(e.Reason, words.ReasonPrefix(ch.ID))
}

// LastsAsLong reports whether an entry ends no earlier than the other. One whose end the service does not say counts.
func LastsAsLong(e, want apiclient.IPRule) bool {
	return e.Expires.IsZero() || !e.Expires.Before(want.Expires)
}

// Unchanged reports whether an entry still is what it was, but for sources that others took from it: the service keeps
// the number of one that is overwritten.
func Unchanged(e, was apiclient.IPRule) bool {
	return e.ID == was.ID && e.List == was.List && e.Reason == was.Reason && e.Expires.Equal(was.Expires)
}

// SameSource reports whether two entries are for the same sources on the same list.
func SameSource(a, b apiclient.IPRule) bool {
	if a.List != b.List || a.Kind != b.Kind || a.Subnet != b.Subnet || len(a.Values) != len(b.Values) {
		return false
	}
	return !slices.ContainsFunc(a.Values, func(v string) bool {
		return !slices.ContainsFunc(b.Values, func(w string) bool { return strings.EqualFold(v, w) })
	})
}

// SameEntry reports whether two entries are for the same sources and applications, so that one overwrites the other.
func SameEntry(a, b apiclient.IPRule) bool { return SameSource(a, b) && SameApps(a, b) }

// SameApps reports whether two entries are for the same applications.
func SameApps(a, b apiclient.IPRule) bool {
	return call.HoldsFor(a.Apps, b.Apps) && call.HoldsFor(b.Apps, a.Apps)
}

// EqualRules are the ids of the rules that equal another.
func EqualRules(rules []apiclient.Rule, want apiclient.Rule) []int64 {
	var ids []int64
	for _, rule := range rules {
		if apiclient.SameRule(rule, want) {
			ids = append(ids, rule.ID)
		}
	}
	return ids
}

// ListedWithin is how far the service's listings may be behind its writes. What was made longer ago and isn't listed is
// gone.
const ListedWithin = 30 * time.Second

// Overlay is what stands at the service when its listings showed these entries and rules at some time: the listings
// lag, so what wafbot itself did shortly before is laid over them. What they show already stays as it is, also what
// others made of it since. The changes are the account's.
func Overlay(entries []apiclient.IPRule, rules []apiclient.Rule, changes []record.Change,
	read time.Time) ([]apiclient.IPRule, []apiclient.Rule) {
	entries, rules = slices.Clone(entries), slices.Clone(rules)
	for _, s := range doneSince(changes, read.Add(-ListedWithin)) {
		switch s.Kind {
		case record.AddEntry:
			entries = overlayAdded(entries, s, read)
		case record.DeleteEntry:
			entries = slices.DeleteFunc(entries, func(e apiclient.IPRule) bool { return Unchanged(e, *s.Entry) })
		case record.CreateRule:
			if !slices.ContainsFunc(rules, func(r apiclient.Rule) bool { return r.ID == s.ID }) {
				made := *s.Rule
				made.ID, made.Updated = s.ID, s.SentAt
				rules = slices.Insert(rules, 0, made) // the last changed comes first
			}
		case record.DeleteRule:
			rules = slices.DeleteFunc(rules, func(r apiclient.Rule) bool { return r.ID == s.Rule.ID })
		}
	}
	return entries, rules
}

// doneSince are the steps that were done after a time: what was made in that order, then what was deleted, for the
// service gives no id twice.
func doneSince(changes []record.Change, from time.Time) (steps []record.Step) {
	for _, ch := range changes {
		for _, s := range ch.Steps {
			if s.Done && s.SentAt.After(from) {
				steps = append(steps, s)
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b record.Step) int {
		later := cmp.Or(cmp.Compare(a.Kind, b.Kind), a.SentAt.Compare(b.SentAt)) // add and create sort before delete
		if later == 0 && a.Kind == record.AddEntry {
			return a.Entry.Expires.Compare(b.Entry.Expires) // an entry is overwritten only to last longer
		}
		return later
	})
	return steps
}

// overlayAdded lays an entry over a list that was added, and takes its sources from those that it overwrote.
func overlayAdded(entries []apiclient.IPRule, s record.Step, read time.Time) []apiclient.IPRule {
	made := *s.Entry
	made.ID, made.Created = s.ID, s.SentAt
	if !made.Lasts(read) {
		return entries
	}
	listed := false
	for i := range entries {
		e := &entries[i]
		overwritten := slices.ContainsFunc(s.Before, func(b apiclient.IPRule) bool { return Unchanged(*e, b) })
		same := e.ID == made.ID
		listed = listed || same
		switch {
		case overwritten && same:
			*e = made
		case overwritten:
			e.Values = slices.DeleteFunc(slices.Clone(e.Values), func(v string) bool { return slices.Contains(made.Values, v) })
		}
	}
	entries = slices.DeleteFunc(entries, func(e apiclient.IPRule) bool {
		return e.Kind != apiclient.KindRange && len(e.Values) == 0
	})
	if !listed {
		entries = append(entries, made)
	}
	return entries
}
