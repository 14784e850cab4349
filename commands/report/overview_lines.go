package report

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ongoingHead says how many attacks go on, or why that is unknown.
func (o Overview) ongoingHead() text.Text {
	switch {
	case o.Fault != "":
		return text.New(text.Bold(o.Account), ": what goes on is unknown: ", o.Fault)
	case len(o.Ongoing) == 0:
		return text.New(text.Bold(o.Account), ": no attack is going on (no hit in the last ", text.Duration(o.Of.OngoingFor), ")")
	}
	return text.New(text.Bold(o.Account), ": ", len(o.Ongoing), " going on")
}

// attackLine is an attack that goes on, with the way to its card.
func (o Overview) attackLine(row call.AttackRow, now time.Time) text.Text {
	return describe.AttackWithCard(o.Of, row.Attack, now, describe.CardLink(row.Card))
}

// stormRow is a storm that goes on, with the way to its card and who is on it.
func (o Overview) stormRow(row call.StormRow, now time.Time) text.Text {
	return text.New(describe.Storm(o.Of, row, now), " · ", triage(row.Triage))
}

// triage says who is on an attack or storm, and its verdict.
func triage(k record.Triage) text.Text {
	line := describe.Owner(k.Owner)
	if k.Verdict != nil {
		line = text.New(line, " · ", describe.Verdict(*k.Verdict))
	}
	return line
}

// peopleLines are what people work on: requests that wait, who is on which of the ongoing attacks, and mutes.
func (o Overview) peopleLines() (lines []text.Text) {
	for _, r := range o.Waiting {
		lines = append(lines, text.New(text.Bold("Waits for approval: "), requestLine(r)))
	}
	for _, row := range o.Ongoing {
		if said := describe.Triage(row.Triage); len(said) > 0 {
			lines = append(lines, text.New(text.Code(row.ID), " ", text.Join(said, " · ")))
		}
	}
	for _, m := range o.Muted {
		lines = append(lines, text.New("Muted, incidents excepted: ", describe.Mute(m)))
	}
	return lines
}

// requestLine is a request that waits, in one line.
func requestLine(r record.ApprovalRequest) text.Text {
	return text.New(text.Code(r.ID), " ", text.Sanitize(r.Does, text.MaxPath), " · asked by ", text.Sanitize(r.Asker.Name, text.MaxField), " ", r.At, " · until ", r.Until)
}

// troubleLines say what keeps wafbot from watching the account or from changing it.
func (o Overview) troubleLines(now time.Time) (lines []text.Text) {
	if h := o.Health; h != nil && h.Failing != "" {
		line := text.New(text.Bold("WAF API unreachable: "), h.Failing, "; last good poll ", describe.Ago(h.LastGood, now))
		if !h.Since.IsZero() {
			line = text.New(line, "; so since ", h.Since)
		}
		lines = append(lines, line)
	}
	if t := o.PermissionLoss; t != nil {
		lines = append(lines, text.New(text.Bold("WAF permission lost: "), "the service doesn't let wafbot ", t.Cannot(), ", since ", t.Since))
	}
	return lines
}

// inForceHead says how much of wafbot's is in force, or why that is unknown.
func (o Overview) inForceHead() text.Text {
	switched, _ := o.modes()
	switch {
	case o.Emptied:
		return text.New("What is in force is unknown: wafbot's store (Redis) is empty, and until it is read back from Slack nothing is changed")
	case o.NoStore:
		return text.New("What is in force is unknown: wafbot's store (Redis) can't be reached, and until it can nothing is changed")
	case len(o.InForce) == 0:
		return text.New("Nothing of wafbot's is in force")
	case len(switched) > 0:
		return text.New("In force by wafbot: ", len(o.InForce), ", of these modes that have not returned: ", len(switched))
	}
	return text.New("In force by wafbot: ", len(o.InForce))
}

// changeLine is a change in a listing of what is in force.
func (o Overview) changeLine(ch record.Change, now time.Time) text.Text {
	row := describe.ChangeRow(ch, describe.ChangeAccepted(ch))
	s := call.Situation{Account: o.Of, Efficacy: o.Efficacy, Now: now}
	if seen := efficacy.Brief(s, ch); len(seen) > 0 && ch.State == record.StateDone { // first, for rows are cut
		row = text.New(describe.ChangeID(ch), " ", seen, " · ", describe.ChangeSpan(ch))
	}
	switch {
	case ch.Overdue(now):
		return text.New(text.Bold("Should have ended, and is tried each minute: "), row)
	case ch.SwitchesMode() && !ch.Until.IsZero():
		return text.New(row, " · returns by itself")
	}
	return row
}
