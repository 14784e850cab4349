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
			{Name: "list", Help: "black, white or gray, where a source is on several", Read: readList},
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
		return nil, err
	}
	switch {
	case len(matches) == 0:
		return nil, nothing(Say(Code(typed), " is on no list", coverNote(entries, typed), ". Nothing was sent"))
	case len(matches) > 1:
		var where []string
		for _, e := range matches {
			where = append(where, fmt.Sprintf("%d (%s, %s)", e.ID, listName(e.List), c.Account.appsText(e.Apps)))
		}
		return nil, usage(Say(Code(typed), " stands there ", len(matches), " times: name the entry by its number: ", strings.Join(where, "; ")))
	}
	e := matches[0]
	p := Plan{
		Line: Line{Name: "remove", Words: []string{strconv.FormatInt(e.ID, 10)}}.With("attack", c.Line.Keys["attack"]).With("reason", c.Line.Keys["reason"]),
		Does: fmt.Sprintf("Take %s off the %s", names(e), listName(e.List)), When: entryWorks, Steps: []Step{{Kind: DeleteEntry, Entry: &e}},
	}
	if !c.madeByUs(e) {
		p.Role = Admin
		p.Warnings = append(p.Warnings, Warning{Text: Say("wafbot did not make this entry", byText(e), untilText(e.Expires), "; an automatic one can come back by itself")})
	}
	return []Plan{p}, nil
}

// madeByUs reports whether an entry is the work of a change that wafbot remembers.
func (c *Call) madeByUs(e apiclient.IPRule) bool {
	return slices.ContainsFunc(c.Known, func(ch Change) bool {
		return slices.ContainsFunc(ch.Steps, func(s Step) bool { return s.Kind == AddEntry && s.Done && ours(e, ch, s) })
	})
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
