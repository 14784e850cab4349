package describe

import (
	"cmp"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func ChangeID(c record.Change) text.Code { return text.Code(cmp.Or(c.Extends, c.ID)) }

// by is who made the change, and who approved it.
func ChangeAuthor(c record.Change) text.Text {
	switch {
	case c.Approved != nil:
		return text.New(c.Actor.Name, ", approved by ", c.Approved.Name)
	case c.Overridden:
		return text.New(c.Actor.Name, ", ", text.Bold("alone"))
	}
	return text.New(c.Actor.Name)
}

// span is what the change does, who made it when, and until when it holds.
func ChangeSpan(c record.Change) text.Text {
	line := text.New(c.Does, " · ", ChangeAuthor(c), " ", c.At)
	if !c.Until.IsZero() {
		line = text.New(line, " → ", c.Until, ChangeRenewal(c))
	}
	return line
}

// accepted says how far a finished change has come: of the end of a rule only wafbot knows.
func ChangeAccepted(c record.Change) text.Text {
	switch {
	case c.Extends != "" && len(c.Steps) == 0:
		return text.New("done; the service need not know")
	case c.When == "":
		return text.New("accepted by the service")
	}
	return text.New("accepted by the service, works ", c.When)
}

// renewal says that the change lasts longer while it knocks, and how long at most; nothing where it doesn't.
func ChangeRenewal(c record.Change) text.Text {
	switch {
	case !c.Until.Before(c.Renew):
		return nil
	case len(c.Steps) > 1:
		return text.New(", longer while one of them keeps trying, ", c.Renew, " at most")
	}
	return text.New(", longer while it keeps trying, ", c.Renew, " at most")
}

// When entries reach the nodes.
const EntryWorks = "in about 1 min"

// When rules reach the nodes: they are compiled, then synchronised.
const RuleWorks = "in minutes to 1 h"
