package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// neverVisitors is what nobody should forget who denies many at once.
const neverVisitors = "wafbot sees attacks, never visitors"

// joinWords puts "; " between two texts that are there.
func joinWords(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

// doesOf are plans in words, but for those of which there is nothing to do.
func doesOf(plans []Plan) (does string) {
	for _, p := range plans {
		if len(p.Nothing) == 0 {
			does = joinWords(does, p.Does)
		}
	}
	return does
}

// whySecond is why one person alone may not.
func (c *Call) whySecond() Text {
	var why string
	for _, need := range c.needs {
		why = joinWords(why, need.Why)
	}
	return Say(why)
}

// secondNote tells before the change that it needs a second person.
func (c *Call) secondNote() Text {
	if c.cfg.Policy.Changes != ChangesOn {
		return Say("A second person would be asked first: ", c.whySecond())
	}
	return Say(Bold("A second person is asked first"), ": ", c.whySecond(), ". It waits for ", HumanDuration(c.cfg.Policy.approvalFor()), ", and nothing is sent before")
}

// waitingLines answer who has asked, or asks again.
func (c *Call) waitingLines(q Request) []Text {
	if !q.Waits(c.Now) {
		return []Text{RequestLine(q, c.Now)}
	}
	lines := []Text{Say(Bold("Waits for a second person"), ": ", q.Does, ". ", Code(q.ID), ". Nothing was sent")}
	if q.ID != requestID(q.Account, c.ID) {
		lines = append(lines, Say("Asked already by ", q.Asker.Name, " at ", q.At))
	}
	for _, need := range q.Needs {
		lines = append(lines, Say("Why: ", need.Why))
	}
	lines = append(lines, q.WhoDecides(c.cfg.Policy.Approvers))
	if alone := q.AloneLine(c.cfg.Policy, c.Now); alone != nil {
		lines = append(lines, alone)
	}
	return lines
}

// DecideButtons are what a second person does about a request.
func DecideButtons(q Request) []Suggestion {
	line := func(verb string) Line { return Line{Name: verb, Words: []string{q.ID}}.With("account", q.Account) }
	return []Suggestion{
		{
			Label: "Approve", Title: "Approve it?", OK: "Approve", Line: line("approve"),
			Confirm: Visible(q.Does+". It is done at once, as asked by "+q.Asker.Name+", and you are named as the second person.", maxConfirm),
		},
		{Label: "Reject", Line: line("reject")},
	}
}

// WhoDecides says who may decide, and until when.
func (r Request) WhoDecides(approvers string) Text {
	text := Say("Another ", r.Role.String(), ", not ", Visible(r.Asker.Name, maxField), ", decides before ", r.Until, ": ", Code("approve "+r.ID), " or ", Code("reject "+r.ID))
	if approvers != "" {
		text = Say(User(approvers), ": ", text)
	}
	return text
}

// AloneLine says when and for how long the asker may do it alone; nil if never.
func (r Request) AloneLine(p Policy, now time.Time) Text {
	if r.AloneAt.IsZero() {
		return nil
	}
	line := Say("Nobody answers? ", Visible(r.Asker.Name, maxField), " may do it alone")
	if now.Before(r.AloneAt) {
		line = Say(line, " from ", r.AloneAt, " on")
	}
	return Say(line, ", for ", HumanDuration(p.Alone.longest()), " at most, with a reason: ", Code("alone "+r.ID+` reason="…"`))
}

// RequestLine is a request in one line: what, who asked, and what became of it.
func RequestLine(q Request, now time.Time) Text {
	line := Say(q.Does, " · asked by ", Visible(q.Asker.Name, maxField), " ", q.At, " · ")
	who := "somebody"
	if q.Decided != nil {
		who = Visible(q.Decided.Name, maxField)
	}
	switch {
	case q.Waits(now):
		return Say(line, Bold("waits for a second person"), " until ", q.Until, " ", Code(q.ID))
	case q.State == RequestApproved:
		return Say(line, Bold("approved"), " by ", who, " ", q.DecidedAt, q.outcome())
	case q.State == RequestRejected:
		return Say(line, Bold("rejected"), " by ", who, " ", q.DecidedAt, because(q.Why))
	case q.State == RequestAlone && q.Outcome == "failed":
		return Say(line, Bold("tried alone"), ", without a second person, ", q.DecidedAt, q.outcome())
	case q.State == RequestAlone:
		return Say(line, Bold("done alone"), ", without a second person, ", q.DecidedAt, q.outcome())
	case q.State == RequestClosed:
		return Say(line, Bold("closed"), " ", q.DecidedAt, ", nothing was done", because(q.Why))
	}
	return Say(line, Bold("nobody answered"), " before ", q.Until, ": nothing was done")
}

// because is a colon and the words, if there are any.
func because(words string) Text {
	if words == "" {
		return nil
	}
	return Say(": ", Visible(words, maxNote))
}

// outcome is what came of carrying it out.
func (r Request) outcome() Text {
	switch r.Outcome {
	case "":
		return Say(": in hand")
	case "done":
		return Say(": done")
	case "nothing":
		return Say(": there was nothing left to do")
	}
	return because(cmp.Or(r.Fault, "NOT done"))
}

// reach says whom a step hits; "" where that goes without saying.
func (a *Account) reach(s Step) string {
	switch {
	case s.Kind == AddEntry && s.Entry.Kind == apiclient.KindRange:
		return fmt.Sprintf("%s is %s, %s", names(*s.Entry), addresses(*s.Entry), a.appsText(s.Entry.Apps))
	case s.Kind == AddEntry:
		return fmt.Sprintf("%s is everybody there, %s: "+neverVisitors, names(*s.Entry), a.appsText(s.Entry.Apps))
	case s.Kind == CreateRule && s.Rule.Type == apiclient.RulePatch && s.Rule.AttackType != anyAttack:
		return "" // clean requests pass
	case s.Kind == CreateRule && s.Rule.Type == apiclient.RuleMode:
		return "it is for every request to the application"
	case s.Kind == CreateRule && len(s.Rule.Conditions) == 0:
		return "it is for every request to every host"
	case s.Kind == CreateRule:
		return "it is for every request " + scopeText(s.Rule.Conditions)
	}
	return ""
}

// addresses counts the addresses of a range.
func addresses(e apiclient.IPRule) string {
	bits := e.Subnet.Addr().BitLen() - e.Subnet.Bits()
	switch {
	case bits == 0:
		return "one address"
	case bits < 63:
		return apiclient.Known(1<<bits).String() + " addresses"
	}
	return fmt.Sprintf("2^%d addresses", bits)
}

// neverAlone says why nobody may do it alone, however long nobody answers; "" if the asker may.
func (r Request) neverAlone() string {
	needs := func(what string) bool {
		return slices.ContainsFunc(r.Needs, func(n Second) bool { return n.What == what })
	}
	switch {
	case r.Line.Name == "allow" || needs(SecondAllow):
		return "what lets a source past every protection is never done alone"
	case needs(SecondForever) || r.Line.Keys["for"] == "forever" || r.Line.Keys["patch"] == "forever":
		return "what never ends is never done alone"
	case r.Line.Keys["for"] == "" || r.Line.Name == "extend":
		return "it can't be made to end soon"
	}
	return ""
}
