package commands

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/text"
)

// shutOut finds the attack's sources that must never be denied and are, by somebody else: customers may stand outside, which matters more than
// the attack. Each entry has a button that takes it off.
func (s Situation) shutOut() (lines []text.Text, open []Suggestion) {
	sources := s.Attack.Sources
	if top, ok := s.topSource(); ok {
		sources = append([]apiclient.Source{top}, sources...)
	}
	var seen []int64
	for _, source := range sources {
		own, named := s.Policy.SourceOf(source.IP)
		t, err := grammar.ParseTarget(source.IP.String())
		if !named || own.Deny == DenySecond || err != nil {
			continue
		}
		e, where := s.listed(apiclient.ListDeny, t)
		if e == nil || slices.Contains(seen, e.ID) {
			continue
		}
		seen = append(seen, e.ID)
		line := text.New(text.Bold(text.Sanitize(own.Name, text.MaxField)+" IS DENIED"), where, untilText(e.Expires), byText(*e), ": whoever comes through it may be shut out. ")
		if s.Policy.Changes == ChangesOff {
			lines = append(lines, text.New(line, "Take ", text.Code(names(*e)), " off the denylist in the service's console"))
			continue
		}
		lines = append(lines, text.New(line, "An admin takes it off: ", text.Code("remove "+names(*e)+" list=black")))
		open = append(open, Suggestion{
			Label: "Take " + text.Sanitize(own.Name, 15) + " off the list", Spoken: "Take " + text.Sanitize(own.Name, 30) + " off the denylist",
			Line: s.line("remove", fmt.Sprint(e.ID)),
		})
	}
	return lines, open
}
