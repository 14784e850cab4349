package efficacy

import (
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ChangeLine is a change in one line: what, by whom, until when, what became of it, and its id where it can be taken back.
// What was seen of its effect stands where it was accepted; nil: nothing yet.
func ChangeLine(ch record.Change, effect text.Text) text.Text {
	if ch.State == record.StateFailed || ch.State == record.StateUndone {
		return ChangeWords(ch, effect)
	}
	return text.New(ChangeWords(ch, effect), " ", describe.ChangeID(ch))
}

// changeRow is a change in a listing. Its id stands first: where a row is cut, what undo wants to know is still there.
func ChangeRow(ch record.Change, effect text.Text) text.Text {
	return text.New(describe.ChangeID(ch), " ", ChangeWords(ch, effect))
}

func ChangeWords(ch record.Change, effect text.Text) text.Text {
	line := describe.ChangeSpan(ch)
	switch ch.State {
	case record.StateBegun:
		return text.New(line, " · in hand")
	case record.StateFailed: // it holds until nothing
		return text.New(ch.Does, " · ", describe.ChangeAuthor(ch), " ", ch.At, " · ", text.Bold("NOT done"), ": ", ch.Fault)
	case record.StateHalf:
		return text.New(line, " · ", text.Bold("only partly done"), ": ", ch.Fault)
	case record.StateUndone:
		line = text.New(line, " · undone by ", ch.EndedBy.Name, " ", ch.EndedAt)
		if ch.Gone {
			line = text.New(line, ", nothing of it was left")
		}
		return line
	}
	if len(effect) > 0 {
		return text.New(line, " · ", effect)
	}
	return text.New(line, " · ", changeShouldWork(ch))
}

// shouldWork says when a change is to work, once it was accepted: which is when it can be judged at the soonest, or why it can't.
func changeShouldWork(c record.Change) text.Text {
	by := text.Text(nil)
	switch {
	case c.Extends != "":
		return describe.ChangeAccepted(c)
	case c.When == describe.EntryWorks:
		by = text.New("accepted by the service, due ", c.At.Add(entryDelays.works))
	case c.When == describe.RuleWorks:
		by = text.New("accepted by the service, compiling, due by ", c.At.Add(ruleDelays.works))
	default:
		return describe.ChangeAccepted(c)
	}
	if why := c.Unseeable(); why != "" {
		return text.New(by, "; whether it works can't be seen: ", why)
	}
	return by
}
