package change

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// DeniedNow says that a range is on the denylist, which protecting it doesn't change. That the list can't be read doesn't keep it from being protected.
func DeniedNow(c *call.Call, t grammar.Target) []text.Text {
	entries, _ := c.Given().Entries(apiclient.IPRuleFilter{List: apiclient.ListDeny})
	want := apiclient.IPRule{Kind: t.Kind, Subnet: t.Prefix}
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return efficacy.OverlapsEntry(e, want) })
	if i < 0 {
		return nil
	}
	e := entries[i]
	return []text.Text{text.New("It is denied now", describe.Until(e.Expires), describe.EntryAuthor(e), ", and stays so: ", text.Code("remove "+describe.EntrySources(e)+" list=black"), " takes it off")}
}

// OfferProtect offers to protect what a change denied, to who may and to who can ask for it.
func OfferProtect(c *call.Call, ch record.Change) []text.Text {
	if ch.Line.Name != Denying.Name {
		return nil
	}
	line := record.Line{Name: "protect"}
	if len(c.Accounts) > 1 {
		line = line.With("account", ch.Account)
	}
	for _, word := range ch.Line.Words {
		if t, err := grammar.ParseRange(word); err == nil && c.Policy.Protectable(t) {
			line.Words = append(line.Words, t.String())
		}
	}
	switch {
	case len(line.Words) == 0:
		return nil
	case c.Role >= record.Admin:
		return []text.Text{text.New("Never deny it again? ", text.Code(line.String()))}
	}
	return []text.Text{text.New("If it must never be denied again, an admin can say so: ", text.Code(line.String()))}
}
