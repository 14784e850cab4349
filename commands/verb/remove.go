package verb

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func planRemove(c *call.Call) ([]call.Plan, error) {
	entries, err := c.Facts.Entries.Get()
	if err != nil {
		return nil, err
	}
	typed := c.Line.Words[0]
	id, notNumber := strconv.ParseInt(typed, 10, 64)
	var t grammar.Target
	if notNumber != nil {
		if t, err = grammar.ParseTarget(typed); err != nil {
			return nil, refusal.About(err, "entry", "")
		}
	}
	var matches []apiclient.IPRule
	var wider text.Text // names an entry that holds for what was typed
	for _, e := range entries {
		has := grammar.TargetsOf(e)
		covers := notNumber != nil && slices.ContainsFunc(has, func(have grammar.Target) bool { return have.Covers(t) })
		switch {
		case notNumber == nil && e.ID == id, covers && len(has) == 1 && t.Covers(has[0]):
			matches = append(matches, e)
		case covers && e.Kind != apiclient.KindRange && maker(c.Changes, e) >= 0:
			matches = append(matches, e)
		case covers && wider == nil:
			wider = text.Newf(" itself, but `%v` on the %v covers it: entry `%v`",
				words.Sources(e), words.ListName(e.List), e.ID)
		}
	}
	switch {
	case len(matches) == 0:
		return nil, refusal.About(refusal.Nothing("`%v` is on no list%v", typed, wider), "entry", "")
	case len(matches) > 1:
		var where []string
		for _, e := range matches {
			where = append(where, fmt.Sprintf("%d (%s, %s)", e.ID, words.ListName(e.List), call.AppsText(c.Account, e.Apps)))
		}
		return nil, refusal.About(refusal.Usage("`%v` stands there %v times: name the entry by its number: %v", typed,
			len(matches), strings.Join(where, "; ")), "entry", "")
	}
	e := matches[0]
	p := call.Plan{
		Line: change.About(c, record.Line{Name: "remove", Words: []string{strconv.FormatInt(e.ID, 10)}}),
		Does: fmt.Sprintf("Take %s off the %s", words.Sources(e), words.ListName(e.List)), When: words.EntryWorks,
		Steps: []record.Step{{Kind: record.DeleteEntry, Entry: &e}},
	}
	if notNumber != nil && len(e.Values) > 1 {
		takeValue(&p, e, t)
	}
	theirs, ok := foreign(c.Changes, e, c.Now)
	if !ok {
		return []call.Plan{p}, nil
	}
	p.Role = record.Admin
	line := text.Newf("wafbot did not make this entry%v%v; an automatic one can come back by itself",
		words.Author(theirs), words.Until(theirs.Expires))
	if made := maker(c.Changes, e); made >= 0 {
		line = text.Newf("this entry took the place of one that wafbot did not make%v%v: `undo %v` brings that back",
			words.Author(theirs), words.Until(theirs.Expires), c.Changes[made].ID)
	}
	p.Warnings.Addf("%v", line)
	return []call.Plan{p}, nil
}

// takeValue makes the plan one that takes a source off an entry for several: what it leaves is added first, so that it
// is never off the list.
func takeValue(p *call.Plan, e apiclient.IPRule, t grammar.Target) {
	rest, taken := e, e
	rest.Values = slices.DeleteFunc(slices.Clone(e.Values), func(v string) bool { return strings.EqualFold(v, t.Value) })
	taken.Values = []string{t.Value}
	before := rest
	rest.ID = 0
	p.Line.Words = []string{t.String()}
	p.Line = p.Line.With("list", e.List)
	p.Does = fmt.Sprintf("Take %s off the %s", t, words.ListName(e.List))
	p.Steps = []record.Step{{Kind: record.AddEntry, Entry: &rest, Force: true, Before: []apiclient.IPRule{before}},
		{Kind: record.DeleteEntry, Entry: &taken}}
}

// maker is the index of the change that made an entry; -1: none is stored. An entry keeps its maker if an undo put it
// back, or if one of its sources was removed.
func maker(changes []record.Change, e apiclient.IPRule) int {
	return slices.IndexFunc(changes, func(ch record.Change) bool {
		return ch.Parent() == "" && slices.ContainsFunc(ch.Steps, func(s record.Step) bool {
			return s.Kind == record.AddEntry && s.Done && !change.KeepsRest(s) && efficacy.PartOf(e, ch, s)
		})
	})
}

// foreign is the entry of another author that would be lost with an entry: this itself, or one that wafbot has
// overwritten and an undo brings back. Changes are the newest first; what one of them has overwritten was made by an
// older one.
func foreign(changes []record.Change, e apiclient.IPRule, now time.Time) (apiclient.IPRule, bool) {
	made := maker(changes, e)
	if made < 0 {
		return e, e.Lasts(now)
	}
	for _, s := range changes[made].Steps {
		for _, before := range s.Before {
			if theirs, ok := foreign(changes[made+1:], before, now); ok && efficacy.SameSource(before, e) {
				return theirs, true
			}
		}
	}
	return apiclient.IPRule{}, false
}

func removeNeeds(c *call.Call) call.Needs {
	return call.Needs{Entries: cmp.Or(c.Line.Keys["list"], call.AllLists)}
}
