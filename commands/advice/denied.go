package advice

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/text"
)

// deniedSources finds the attack's sources that must never be denied and are, by somebody else: customers may stand outside, which matters more than
// the attack. Each entry has a button that takes it off.
func deniedSources(s call.Situation) (lines []text.Text, open []call.Suggestion) {
	sources := s.Attack.Sources
	if top, ok := topSource(s); ok {
		sources = append([]apiclient.Source{top}, sources...)
	}
	var seen []int64
	for _, source := range sources {
		own, named := s.Policy.SourceOf(source.IP)
		t, err := grammar.ParseTarget(source.IP.String())
		if !named || own.Deny == policy.DenyApproval || err != nil {
			continue
		}
		e, where := listedEntry(s, apiclient.ListDeny, t)
		if e == nil || slices.Contains(seen, e.ID) {
			continue
		}
		seen = append(seen, e.ID)
		line := text.New(text.Bold(text.Sanitize(own.Name, text.MaxField)+" IS DENIED"), where, describe.Until(e.Expires), describe.EntryAuthor(*e), ": customers who come through it may be shut out. ")
		if s.Policy.Changes == policy.ChangesOff {
			lines = append(lines, text.New(line, "Take ", text.Code(describe.EntrySources(*e)), " off the denylist in the service's console"))
			continue
		}
		lines = append(lines, text.New(line, "An admin takes it off: ", text.Code("remove "+describe.EntrySources(*e)+" list=black")))
		open = append(open, call.Suggestion{
			Label: "Take " + text.Sanitize(own.Name, 15) + " off the list", Spoken: "Take " + text.Sanitize(own.Name, 30) + " off the denylist",
			Line: lineFor(s, "remove", fmt.Sprint(e.ID)),
		})
	}
	return lines, open
}
