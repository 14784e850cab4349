package verb

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

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
	matches, err := change.EntriesNamed(entries, typed)
	if err != nil {
		return nil, refusal.About(err, "entry", "")
	}
	switch {
	case len(matches) == 0:
		return nil, refusal.About(refusal.Nothing(text.New(text.Code(typed), " is on no list", change.CoveredNote(entries, typed), ". Nothing was sent")), "entry", "")
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
	theirs, ok := change.Foreign(c, e)
	if !ok {
		return []call.Plan{p}, nil
	}
	p.Role = record.Admin
	words := text.New("wafbot did not make this entry", describe.EntryAuthor(theirs), describe.Until(theirs.Expires), "; an automatic one can come back by itself")
	if made, ours := change.Maker(c, e); ours {
		words = text.New("this entry took the place of one that wafbot did not make", describe.EntryAuthor(theirs), describe.Until(theirs.Expires), ": ", text.Code("undo "+made.ID), " brings that back")
	}
	p.Warnings = append(p.Warnings, refusal.Warning{Text: words})
	return []call.Plan{p}, nil
}
