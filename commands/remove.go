package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func remove() *Command {
	return &Command{
		Name: "remove", Aliases: []string{"unblock", "unban"}, Role: record.Responder,
		Summary: "take an entry off a list",
		Args: []Arg{
			{Name: "entry", Object: true, Required: true, Help: "the entry's number as lists shows it, or its source exactly as it stands there"},
			{Name: "list", Help: "black, white or gray, where a source is on several", Read: readList, Options: listOptions},
			argAttack, argReason,
		},
		Example: "remove 203.0.113.7 list=black",
		Plan:    planRemove,
	}
}

func planRemove(c *Call) ([]Plan, error) {
	entries, err := c.given().Entries(apiclient.IPRuleFilter{List: c.Line.Keys["list"]})
	if err != nil {
		return nil, err
	}
	typed := c.Line.Words[0]
	matches, err := entriesTyped(entries, typed)
	if err != nil {
		return nil, refusal.About(err, "entry", "")
	}
	switch {
	case len(matches) == 0:
		return nil, refusal.About(refusal.Nothing(text.New(text.Code(typed), " is on no list", coverNote(entries, typed), ". Nothing was sent")), "entry", "")
	case len(matches) > 1:
		var where []string
		for _, e := range matches {
			where = append(where, fmt.Sprintf("%d (%s, %s)", e.ID, listName(e.List), c.Account.appsText(e.Apps)))
		}
		return nil, refusal.About(refusal.Usage(text.New(text.Code(typed), " stands there ", len(matches), " times: name the entry by its number: ", strings.Join(where, "; "))), "entry", "")
	}
	e := matches[0]
	p := Plan{
		Line: c.about(record.Line{Name: "remove", Words: []string{strconv.FormatInt(e.ID, 10)}}),
		Does: fmt.Sprintf("Take %s off the %s", names(e), listName(e.List)), When: entryWorks, Steps: []record.Step{{Kind: record.DeleteEntry, Entry: &e}},
	}
	theirs, ok := c.foreign(e)
	if !ok {
		return []Plan{p}, nil
	}
	p.Role = record.Admin
	words := text.New("wafbot did not make this entry", byText(theirs), untilText(theirs.Expires), "; an automatic one can come back by itself")
	if made, ours := c.madeBy(e); ours {
		words = text.New("this entry took the place of one that wafbot did not make", byText(theirs), untilText(theirs.Expires), ": ", text.Code("undo "+made.ID), " brings that back")
	}
	p.Warnings = append(p.Warnings, refusal.Warning{Text: words})
	return []Plan{p}, nil
}

// madeBy is the change that made an entry, if wafbot remembers one. What an undo has put back is whose it was before.
func (c *Call) madeBy(e apiclient.IPRule) (record.Change, bool) {
	i := slices.IndexFunc(c.Known, func(ch record.Change) bool {
		return ch.Amends() == "" && slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Kind == record.AddEntry && s.Done && ours(e, ch, s) })
	})
	if i < 0 {
		return record.Change{}, false
	}
	return c.Known[i], true
}

// foreign is the entry of another author that would be lost with an entry: this itself, or one that wafbot has overwritten and an undo brings back.
func (c *Call) foreign(e apiclient.IPRule) (apiclient.IPRule, bool) {
	made, ours := c.madeBy(e)
	if !ours {
		return e, e.Expires.IsZero() || e.Expires.After(c.Now)
	}
	for _, s := range made.Steps {
		for _, before := range s.Before {
			if theirs, ok := c.foreign(before); ok && sameSource(before, e) {
				return theirs, true
			}
		}
	}
	return apiclient.IPRule{}, false
}

// entriesTyped are the entries with that number or exactly that source.
func entriesTyped(entries []apiclient.IPRule, typed string) ([]apiclient.IPRule, error) {
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

// coverNote names a wider entry that holds for what was typed.
func coverNote(entries []apiclient.IPRule, typed string) text.Text {
	t, err := grammar.ParseTarget(typed)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if slices.ContainsFunc(grammar.TargetsOf(e), func(have grammar.Target) bool { return have.Covers(t) }) {
			return text.New(" itself, but ", text.Code(names(e)), " on the ", listName(e.List), " covers it: entry ", text.Code(fmt.Sprint(e.ID)))
		}
	}
	return nil
}
