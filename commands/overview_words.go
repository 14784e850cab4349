package commands

import "time"

// burningHead says how many attacks go on, or why that is unknown.
func (o Overview) burningHead() Text {
	switch {
	case o.Fault != "":
		return Say(Bold(o.Account), ": what burns is unknown: ", o.Fault)
	case len(o.Ongoing) == 0:
		return Say(Bold(o.Account), ": no attack is going on (no hit in the last ", HumanDuration(o.Of.OngoingFor), ")")
	}
	return Say(Bold(o.Account), ": ", len(o.Ongoing), " going on")
}

// burningLine is an attack that goes on, with the way to its card.
func (o Overview) burningLine(row AttackRow, now time.Time) Text {
	return attackLine(o.Of, row.Attack, now, cardText(row.Card))
}

// stormRow is a storm that goes on, with the way to its card and who is on it.
func (o Overview) stormRow(row StormRow, now time.Time) Text {
	return Say(StormLine(o.Of, row, now), " · ", joined(append([]Text{OwnerLine(row.Case.Owner)}, caseLines(Case{Verdict: row.Case.Verdict})...), " · "))
}

// cardText opens a card; nothing where there is none.
func cardText(url string) Text {
	if url == "" {
		return nil
	}
	return Say(Link{Label: "card", URL: url}, " ")
}

// deskLines are what people have in hand: requests that wait, who is on which of the ongoing attacks, and mutes.
func (o Overview) deskLines() (lines []Text) {
	for _, r := range o.Waiting {
		lines = append(lines, Say(Bold("Waits for a second person: "), requestLine(r)))
	}
	for _, row := range o.Ongoing {
		if said := caseLines(row.Case); len(said) > 0 {
			lines = append(lines, Say(Code(row.ID), " ", joined(said, " · ")))
		}
	}
	for _, m := range o.Muted {
		lines = append(lines, Say("Muted, incidents excepted: ", MuteLine(m)))
	}
	return lines
}

// requestLine is a request that waits, in one line.
func requestLine(r Request) Text {
	return Say(Code(r.ID), " ", Visible(r.Does, maxPath), " · asked by ", Visible(r.Asker.Name, maxField), " ", r.At, " · until ", r.Until)
}

// troubleLines say what keeps wafbot from watching the account or from changing it.
func (o Overview) troubleLines(now time.Time) (lines []Text) {
	if h := o.Health; h != nil && h.Failing != "" {
		line := Say(Bold("Blind: "), h.Failing, "; last good look ", ago(h.LastGood, now))
		if !h.Since.IsZero() {
			line = Say(line, "; so since ", h.Since)
		}
		lines = append(lines, line)
	}
	if t := o.Tied; t != nil {
		lines = append(lines, Say(Bold("Hands tied: "), "the service doesn't let wafbot ", t.Cannot(), ", since ", t.Since))
	}
	return lines
}

// forceHead says how much of wafbot's is in force, or why that is unknown.
func (o Overview) forceHead() Text {
	switched, _ := o.modes()
	switch {
	case o.Emptied:
		return Say("What is in force is unknown: wafbot's memory (Redis) is empty, and until it is read back from Slack nothing is changed")
	case o.NoMemory:
		return Say("What is in force is unknown: wafbot's memory (Redis) can't be reached, and until it can nothing is changed")
	case len(o.InForce) == 0:
		return Say("Nothing of wafbot's is in force")
	case len(switched) > 0:
		return Say("In force by wafbot: ", len(o.InForce), ", of these modes that have not returned: ", len(switched))
	}
	return Say("In force by wafbot: ", len(o.InForce))
}

// forceLine is a change in a listing of what is in force.
func (o Overview) forceLine(ch Change, now time.Time) Text {
	row := changeRow(ch, ch.accepted())
	s := Situation{Account: o.Of, Effects: o.Effects, Now: now}
	if seen := s.Brief(ch); len(seen) > 0 && ch.State == StateDone { // first, for rows are cut
		row = Say(ch.shownID(), " ", seen, " · ", ch.span())
	}
	switch {
	case ch.overdue(now):
		return Say(Bold("Should have ended, and is tried each minute: "), row)
	case ch.switches() && !ch.Until.IsZero():
		return Say(row, " · returns by itself")
	}
	return row
}
