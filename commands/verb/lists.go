package verb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func lists() *call.Command {
	return &call.Command{
		Name: "lists", Role: record.Viewer, Flags: []string{"all"},
		Summary: "what is denied, allowed and graylisted, by whom and until when",
		Args: []call.Arg{
			{Name: "list", Object: true, Help: "black, white or gray; left out: all"},
			{Name: "text", Object: true, Help: "an address, or a part of the reason or author"},
			call.ArgPage,
		},
		Example: "lists black 203.0.113.0/24",
		Read:    readLists,
	}
}

func readLists(c *call.Call) (call.Result, error) {
	words := c.Line.Words
	var f apiclient.IPRuleFilter
	if len(words) > 0 {
		if list, err := call.ReadList(words[0], nil); err == nil {
			f.List, words = list, words[1:]
		} else if len(words) > 1 {
			return call.Result{}, err
		}
	}
	entries, err := c.Given().Entries(f)
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	found := text.Text(nil)
	if len(words) > 0 {
		found = text.New(" with ", refusal.Typed(words[0]))
		entries = slices.DeleteFunc(entries, func(e apiclient.IPRule) bool { return !mentions(e, words[0]) })
	}
	res := call.Result{Account: c.Account.Name, Data: append([]apiclient.IPRule{}, entries...), Lines: []text.Text{text.New(text.Bold(c.Account.Name), ": ", text.Count(len(entries), "entry"), found)}}
	pages := call.Pages(c, 1)
	res.Lines = append(res.Lines, pages.Part(len(entries), func(i int) text.Text {
		e := entries[i]
		return text.New(text.Code(fmt.Sprint(e.ID)), " ", describe.ListName(e.List), ": ", text.Code(describe.EntrySources(e)), " ", c.Account.AppsText(e.Apps), describe.Until(e.Expires), describe.EntryAuthor(e))
	})...)
	return pages.Finish(res)
}

// mentions reports whether an entry holds for the address that was typed, or has the text in its sources, reason or author.
func mentions(e apiclient.IPRule, text string) bool {
	if t, err := grammar.ParseTarget(text); err == nil {
		return slices.ContainsFunc(grammar.TargetsOf(e), func(have grammar.Target) bool { return have.Covers(t) || t.Covers(have) })
	}
	all := strings.ToLower(describe.EntrySources(e) + " " + e.Reason + " " + e.Author + " " + e.EventType)
	return strings.Contains(all, strings.ToLower(text))
}

func remove() *call.Command {
	return &call.Command{
		Name: "remove", Aliases: []string{"unblock", "unban"}, Role: record.Responder,
		Summary: "take an entry off a list",
		Args: []call.Arg{
			{Name: "entry", Object: true, Required: true, Help: "the entry's number as lists shows it, or its source exactly as it stands there"},
			{Name: "list", Help: "black, white or gray, where a source is on several", Read: call.ReadList, Options: form.ListOptions},
			form.ArgAttack, form.ArgReason,
		},
		Example: "remove 203.0.113.7 list=black",
		Plan:    planRemove,
	}
}

func planRemove(c *call.Call) ([]call.Plan, error) {
	entries, err := c.Given().Entries(apiclient.IPRuleFilter{List: c.Line.Keys["list"]})
	if err != nil {
		return nil, err
	}
	typed := c.Line.Words[0]
	matches, err := entriesNamed(entries, typed)
	if err != nil {
		return nil, refusal.About(err, "entry", "")
	}
	switch {
	case len(matches) == 0:
		return nil, refusal.About(refusal.Nothing(text.New(text.Code(typed), " is on no list", coveredNote(entries, typed), ". Nothing was sent")), "entry", "")
	case len(matches) > 1:
		var where []string
		for _, e := range matches {
			where = append(where, fmt.Sprintf("%d (%s, %s)", e.ID, describe.ListName(e.List), c.Account.AppsText(e.Apps)))
		}
		return nil, refusal.About(refusal.Usage(text.New(text.Code(typed), " stands there ", len(matches), " times: name the entry by its number: ", strings.Join(where, "; "))), "entry", "")
	}
	e := matches[0]
	p := call.Plan{
		Line: change.About(c, record.Line{Name: "remove", Words: []string{strconv.FormatInt(e.ID, 10)}}),
		Does: fmt.Sprintf("Take %s off the %s", describe.EntrySources(e), describe.ListName(e.List)), When: describe.EntryWorks, Steps: []record.Step{{Kind: record.DeleteEntry, Entry: &e}},
	}
	theirs, ok := foreign(c, e)
	if !ok {
		return []call.Plan{p}, nil
	}
	p.Role = record.Admin
	words := text.New("wafbot did not make this entry", describe.EntryAuthor(theirs), describe.Until(theirs.Expires), "; an automatic one can come back by itself")
	if made, ours := maker(c, e); ours {
		words = text.New("this entry took the place of one that wafbot did not make", describe.EntryAuthor(theirs), describe.Until(theirs.Expires), ": ", text.Code("undo "+made.ID), " brings that back")
	}
	p.Warnings = append(p.Warnings, refusal.Warning{Text: words})
	return []call.Plan{p}, nil
}

// maker is the change that made an entry, if one is stored. What an undo has put back is whose it was before.
func maker(c *call.Call, e apiclient.IPRule) (record.Change, bool) {
	i := slices.IndexFunc(c.Changes, func(ch record.Change) bool {
		return ch.Parent() == "" && slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Kind == record.AddEntry && s.Done && efficacy.Ours(e, ch, s) })
	})
	if i < 0 {
		return record.Change{}, false
	}
	return c.Changes[i], true
}

// foreign is the entry of another author that would be lost with an entry: this itself, or one that wafbot has overwritten and an undo brings back.
func foreign(c *call.Call, e apiclient.IPRule) (apiclient.IPRule, bool) {
	made, ours := maker(c, e)
	if !ours {
		return e, e.Expires.IsZero() || e.Expires.After(c.Now)
	}
	for _, s := range made.Steps {
		for _, before := range s.Before {
			if theirs, ok := foreign(c, before); ok && efficacy.SameSource(before, e) {
				return theirs, true
			}
		}
	}
	return apiclient.IPRule{}, false
}

// entriesNamed are the entries with that number or exactly that source.
func entriesNamed(entries []apiclient.IPRule, typed string) ([]apiclient.IPRule, error) {
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

// coveredNote names a wider entry that holds for what was typed.
func coveredNote(entries []apiclient.IPRule, typed string) text.Text {
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
