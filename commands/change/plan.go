package change

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// HasEffect reports whether a change has the plan's effect: it is in hand, or it is in force, and asked again would only last longer, or it was made
// so lately that the service's listing may not show it yet. The clock asks for nothing twice: when it prolongs by as much again, it is to last longer.
func HasEffect(c *call.Call, ch record.Change, p call.Plan) bool {
	age := c.Now.Sub(ch.At)
	switch {
	case ch.Effect != p.Effect():
		return false
	case ch.State == record.StateBegun:
		return age <= approval.MaxAge
	}
	return ch.State == record.StateDone && c.Actor.Via != record.ViaClock && ch.InForce(c.Now) && (age < efficacy.ListedWithin || onlyProlongs(p, ch)) && !efficacy.Superseded(ch, c.Changes)
}

// onlyProlongs reports whether all that the plan does is to put entries of the change in their own place, with a later end.
func onlyProlongs(p call.Plan, ch record.Change) bool {
	return len(p.Steps) > 0 && !slices.ContainsFunc(p.Steps, func(s record.Step) bool {
		return s.Kind != record.AddEntry || len(s.Before) == 0 || slices.ContainsFunc(s.Before, func(e apiclient.IPRule) bool { return !efficacy.NamedBy(e, ch) })
	})
}

// DoneAlready says by whom the change was made, and how it lasts longer where that is what asking again would bring.
func DoneAlready(c record.Change, p call.Plan) text.Text {
	words := text.New(c.Does, ": done already by ", c.Actor.Name, " at ", c.At, " (", text.Code(c.ID), ")")
	if onlyProlongs(p, c) && !c.Until.IsZero() {
		words = text.New(words, ", until ", c.Until, "; ", text.Code("extend "+c.ID+" for=…"), " extends it")
	}
	return words
}

// DryRun says what would be sent.
func DryRun(ch record.Change, p call.Plan) []text.Text {
	lines := []text.Text{text.New("Dry run: ", text.Bold(p.Does), " would be sent; nothing was. It would work ", p.When)}
	if len(ch.Steps) == 0 {
		lines = []text.Text{text.New("Dry run: ", text.Bold(p.Does), " would be written down, with nothing to send; it was not")}
	}
	for _, s := range ch.Steps {
		lines = append(lines, text.New("• ", text.Code(describe.Step(s))))
	}
	return append(lines, p.Notes...)
}
