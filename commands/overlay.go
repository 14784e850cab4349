package commands

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Overlay lays what wafbot changed since over lists and rules that were read at some time, so that a card drawn right after a click shows
// what the click did. The changes are the account's, the newest first. What was changed while they were read may be in them or not:
// laying it over twice does no harm.
func Overlay(entries []apiclient.IPRule, rules []apiclient.Rule, changes []Change, read time.Time) ([]apiclient.IPRule, []apiclient.Rule) {
	entries, rules = slices.Clone(entries), slices.Clone(rules)
	for _, ch := range slices.Backward(changes) {
		if ch.At.Before(read.Add(-listedWithin)) {
			continue
		}
		for _, s := range ch.Steps {
			if s.Done {
				entries, rules = s.overlay(entries, rules)
			}
		}
	}
	return entries, rules
}

func (s Step) overlay(entries []apiclient.IPRule, rules []apiclient.Rule) ([]apiclient.IPRule, []apiclient.Rule) {
	withoutEntry := func(id int64) []apiclient.IPRule {
		return slices.DeleteFunc(entries, func(e apiclient.IPRule) bool { return e.ID == id })
	}
	withoutRule := func(id int64) []apiclient.Rule {
		return slices.DeleteFunc(rules, func(r apiclient.Rule) bool { return r.ID == id })
	}
	switch s.Kind {
	case AddEntry:
		e := *s.Entry
		e.ID = s.ID
		entries = append(withoutEntry(e.ID), e)
	case DeleteEntry:
		entries = withoutEntry(s.Entry.ID)
	case CreateRule:
		r := *s.Rule
		r.ID = s.ID
		rules = append(withoutRule(r.ID), r)
	case DeleteRule:
		rules = withoutRule(s.Rule.ID)
	}
	return entries, rules
}
