package change

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Maker is the change that made an entry, if one is stored. What an undo has put back is whose it was before.
func Maker(c *call.Call, e apiclient.IPRule) (record.Change, bool) {
	i := slices.IndexFunc(c.Changes, func(ch record.Change) bool {
		return ch.Parent() == "" && slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Kind == record.AddEntry && s.Done && efficacy.Ours(e, ch, s) })
	})
	if i < 0 {
		return record.Change{}, false
	}
	return c.Changes[i], true
}

// Foreign is the entry of another author that would be lost with an entry: this itself, or one that wafbot has overwritten and an undo brings back.
func Foreign(c *call.Call, e apiclient.IPRule) (apiclient.IPRule, bool) {
	made, ours := Maker(c, e)
	if !ours {
		return e, e.Expires.IsZero() || e.Expires.After(c.Now)
	}
	for _, s := range made.Steps {
		for _, before := range s.Before {
			if theirs, ok := Foreign(c, before); ok && efficacy.SameSource(before, e) {
				return theirs, true
			}
		}
	}
	return apiclient.IPRule{}, false
}

// EntriesNamed are the entries with that number or exactly that source.
func EntriesNamed(entries []apiclient.IPRule, typed string) ([]apiclient.IPRule, error) {
	var matches []apiclient.IPRule
	if id, err := strconv.ParseInt(typed, 10, 64); err == nil {
		for _, e := range entries {
			if e.ID == id {
				matches = append(matches, e)
			}
		}
		return matches, nil
	}
	t, err := grammar.ParseTarget(typed)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if ts := grammar.TargetsOf(e); len(ts) == 1 && ts[0].Covers(t) && t.Covers(ts[0]) {
			matches = append(matches, e)
		}
	}
	return matches, nil
}

// CoveredNote names a wider entry that holds for what was typed.
func CoveredNote(entries []apiclient.IPRule, typed string) text.Text {
	t, err := grammar.ParseTarget(typed)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if slices.ContainsFunc(grammar.TargetsOf(e), func(have grammar.Target) bool { return have.Covers(t) }) {
			return text.New(" itself, but ", text.Code(describe.EntrySources(e)), " on the ", describe.ListName(e.List), " covers it: entry ", text.Code(fmt.Sprint(e.ID)))
		}
	}
	return nil
}
