package efficacy

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// ListedWithin is how far the service's listings may be behind its writes. What was made longer ago and isn't listed is gone.
const ListedWithin = 30 * time.Second

// Overlay is what stands at the service when its listings showed these entries and rules at some time: the listings lag, so what wafbot itself did
// shortly before is laid over them. What they show already stays as it is, also what others made of it since. The changes are the account's.
func Overlay(entries []apiclient.IPRule, rules []apiclient.Rule, changes []record.Change, read time.Time) ([]apiclient.IPRule, []apiclient.Rule) {
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

// doneSince are the steps that were done after a time: what was made in that order, then what was deleted, for the service gives no id twice.
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
	entries = slices.DeleteFunc(entries, func(e apiclient.IPRule) bool { return e.Kind != apiclient.KindRange && len(e.Values) == 0 })
	if !listed {
		entries = append(entries, made)
	}
	return entries
}
