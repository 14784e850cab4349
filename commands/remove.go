package commands

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

func remove() *Command {
	return &Command{
		Name: "remove", Aliases: []string{"unblock", "unban"}, Role: Responder,
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

func planRemove(ctx context.Context, c *Call) ([]Plan, error) {
	entries, err := collect(c.Account.API.IPRules(ctx, apiclient.IPRuleFilter{List: c.Line.Keys["list"]}))
	if err != nil {
		return nil, err
	}
	typed := c.Line.Words[0]
	matches, err := entriesTyped(entries, typed)
	if err != nil {
		return nil, about(err, "entry", "")
	}
	switch {
	case len(matches) == 0:
		return nil, about(nothing(Say(Code(typed), " is on no list", coverNote(entries, typed), ". Nothing was sent")), "entry", "")
	case len(matches) > 1:
		var where []string
		for _, e := range matches {
			where = append(where, fmt.Sprintf("%d (%s, %s)", e.ID, listName(e.List), c.Account.appsText(e.Apps)))
		}
		return nil, about(usage(Say(Code(typed), " stands there ", len(matches), " times: name the entry by its number: ", strings.Join(where, "; "))), "entry", "")
	}
	e := matches[0]
	p := Plan{
		Line: c.about(Line{Name: "remove", Words: []string{strconv.FormatInt(e.ID, 10)}}),
		Does: fmt.Sprintf("Take %s off the %s", names(e), listName(e.List)), When: entryWorks, Steps: []Step{{Kind: DeleteEntry, Entry: &e}},
	}
	theirs, ok := c.foreign(e)
	if !ok {
		return []Plan{p}, nil
	}
	p.Role = Admin
	text := Say("wafbot did not make this entry", byText(theirs), untilText(theirs.Expires), "; an automatic one can come back by itself")
	if made, ours := c.madeBy(e); ours {
		text = Say("this entry took the place of one that wafbot did not make", byText(theirs), untilText(theirs.Expires), ": ", Code("undo "+made.ID), " brings that back")
	}
	p.Warnings = append(p.Warnings, Warning{Text: text})
	return []Plan{p}, nil
}

// madeBy is the change that made an entry, if wafbot remembers one. What an undo has put back is whose it was before.
func (c *Call) madeBy(e apiclient.IPRule) (Change, bool) {
	i := slices.IndexFunc(c.Known, func(ch Change) bool {
		return ch.Amends() == "" && slices.ContainsFunc(ch.Steps, func(s Step) bool { return s.Kind == AddEntry && s.Done && ours(e, ch, s) })
	})
	if i < 0 {
		return Change{}, false
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
	t, err := parseTarget(typed)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if ts := targetsOf(e); len(ts) == 1 && ts[0].covers(t) && t.covers(ts[0]) {
			matches = append(matches, e)
		}
	}
	return matches, nil
}

// coverNote names a wider entry that holds for what was typed.
func coverNote(entries []apiclient.IPRule, typed string) Text {
	t, err := parseTarget(typed)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if slices.ContainsFunc(targetsOf(e), func(have Target) bool { return have.covers(t) }) {
			return Say(" itself, but ", Code(names(e)), " on the ", listName(e.List), " covers it: entry ", Code(fmt.Sprint(e.ID)))
		}
	}
	return nil
}
