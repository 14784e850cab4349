package verb

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/text"
)

// listTyped is the list that the line names, and what it says beside.
func listTyped(c *call.Call) (list string, words []string, err error) {
	if words = c.Line.Words; len(words) == 0 {
		return call.AllLists, nil, nil
	}
	switch list, err = call.ReadList(words[0], nil); {
	case err == nil:
		return list, words[1:], nil
	case len(words) > 1:
		return "", nil, err
	}
	return call.AllLists, words, nil
}

func readLists(c *call.Call) (res call.Result, err error) {
	_, typed, err := listTyped(c)
	if err != nil {
		return res, err
	}
	entries, err := c.Facts.Entries.Get()
	if err != nil {
		return res, refusal.FromService(err)
	}
	var with text.Text
	if len(typed) > 0 {
		with = text.New(" with ", refusal.Typed(typed[0]))
		entries = slices.DeleteFunc(entries, func(e apiclient.IPRule) bool { return !mentions(e, typed[0]) })
	}
	return listing(c, counted(c, len(entries), "entry", with),
		[]string{"ID", "LIST", "SOURCE", "WHERE", "UNTIL", "WHY, BY"}, entries, func(e apiclient.IPRule) text.Text {
			return text.Newf("`%v`| |%v|: |`%v`| |%v||%v||%v",
				e.ID, words.ListName(e.List), words.Sources(e), call.AppsText(c.Account, e.Apps), words.Until(e.Expires),
				words.Author(e))
		})
}

// mentions reports whether an entry holds for the address that was typed, or has the text in its sources, reason or
// author.
func mentions(e apiclient.IPRule, text string) bool {
	if t, err := grammar.ParseTarget(text); err == nil {
		return slices.ContainsFunc(grammar.TargetsOf(e),
			func(have grammar.Target) bool { return have.Covers(t) || t.Covers(have) })
	}
	all := strings.ToLower(words.Sources(e) + " " + e.Reason + " " + e.Author + " " + e.EventType)
	return strings.Contains(all, strings.ToLower(text))
}

func listNeeds(c *call.Call) (n call.Needs) {
	n.Entries, _, _ = listTyped(c)
	return n
}
