package change

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func undoText(ch record.Change) string { return "Undo of: " + ch.Does }

// PlanUndo plans to take a change back.
func PlanUndo(c *call.Call, ch record.Change) (call.Plan, error) {
	if c.Actor.Via == record.ViaClock && (ch.Until.IsZero() || c.Now.Before(ch.Until)) {
		return call.Plan{}, refusal.Nothing(text.New(ch.Does, " was extended meanwhile. Nothing was sent"))
	}
	ch, err := verified(c, ch)
	if err != nil {
		return call.Plan{}, err
	}
	p := call.Plan{Line: record.Line{Name: "undo", Words: []string{ch.ID}}, Does: undoText(ch), When: ch.When, Undoes: ch.ID}
	if c.Attack == nil && ch.AttackID != "" {
		c.Attack = &record.KnownAttack{ID: ch.AttackID}
	}
	// Backwards: what was done last is undone first.
	for _, s := range slices.Backward(ch.Steps) {
		if !s.Done {
			continue
		}
		if err := undoStep(c, &p, ch, s); err != nil {
			return call.Plan{}, err
		}
	}
	if len(p.Steps) == 0 {
		p.Nothing = text.New("nothing of it is left to undo")
		for _, n := range p.Notes {
			p.Nothing = text.New(p.Nothing, "; ", n)
		}
	}
	return p, nil
}

// verified is a change in which each step of unknown outcome is marked as done if it took place.
func verified(c *call.Call, ch record.Change) (record.Change, error) {
	ch.Steps = slices.Clone(ch.Steps)
	for i := range ch.Steps {
		s := &ch.Steps[i]
		if !s.Sent || s.Done {
			continue
		}
		switch s.Kind {
		case record.AddEntry, record.DeleteEntry:
			entries, err := c.Given().Entries(apiclient.IPRuleFilter{List: s.Entry.List})
			if err != nil {
				return record.Change{}, err
			}
			s.Done = efficacy.EntryStepDone(entries, ch, s)
		case record.CreateRule:
			rules, err := c.Given().Rules(apiclient.RuleFilter{})
			if err != nil {
				return record.Change{}, err
			}
			s.Done = efficacy.RuleStepDone(rules, s)
		}
	}
	return ch, nil
}

// ByLine is the change that the line means.
func ByLine(c *call.Call, changes []record.Change) (record.Change, error) {
	if len(c.Line.Words) == 0 {
		for _, ch := range changes {
			if ch.Actor.ID == c.Actor.ID && ch.Undoes == "" && ch.InForce(c.Now) {
				return ch, requireNoParent(ch)
			}
		}
		return record.Change{}, refusal.Nothing(text.New("nothing of yours is in force on ", c.Account.Name))
	}
	ch, err := byID(c, changes, c.Line.Words[0])
	if err == nil {
		err = requireStanding(ch)
	}
	if err != nil {
		return record.Change{}, err
	}
	return ch, nil
}

// byID is the change with the id that was typed.
func byID(c *call.Call, changes []record.Change, typed string) (record.Change, error) {
	var found []record.Change
	for _, ch := range changes {
		if record.MatchID(ch.ID, typed) {
			found = append(found, ch)
		}
	}
	switch {
	case len(found) == 0:
		return record.Change{}, refusal.Usage(text.New("no change ", text.Code(text.Sanitize(typed, text.MaxField)), " on ", c.Account.Name, ": ", text.Code("status"), " lists what is in force, ", text.Code("audit"), " what was done"))
	case len(found) > 1:
		return record.Change{}, refusal.Usage(text.New(text.Code(text.Sanitize(typed, text.MaxField)), " fits several changes: type more of its id"))
	}
	return found[0], nil
}

// requireStanding refuses a change of which there is nothing to undo or to prolong.
func requireStanding(ch record.Change) error {
	switch {
	case ch.Parent() != "":
		return requireNoParent(ch)
	case ch.State == record.StateUndone:
		return AlreadyUndone(ch)
	case ch.State == record.StateFailed:
		return refusal.Nothing(text.New(ch.Does, " was never made: ", ch.Fault, ". Nothing was sent"))
	}
	return nil
}

// requireNoParent refuses a change that is about another one.
func requireNoParent(ch record.Change) error {
	switch {
	case ch.Undoes != "":
		return refusal.Usage(text.New(text.Code(ch.ID), " is an undo itself: do again what it took back"))
	case ch.Extends != "":
		return refusal.Usage(text.New(text.Code(ch.ID), " only extends ", text.Code(ch.Extends), ": name that one. Nothing was done"))
	}
	return nil
}

// AlreadyUndone is the answer for a change that was undone before.
func AlreadyUndone(ch record.Change) error {
	return refusal.Nothing(text.New(ch.Does, ": undone already by ", ch.EndedBy.Name, " at ", ch.EndedAt, ". Nothing was sent"))
}

// undoStep plans the opposite of a step, of what is still ours.
func undoStep(c *call.Call, p *call.Plan, ch record.Change, s record.Step) error {
	switch s.Kind {
	case record.AddEntry:
		return undoAdd(c, p, ch, s)
	case record.DeleteEntry:
		return putBack(c, p, *s.Entry)
	case record.CreateRule:
		return undoCreate(c, p, s)
	case record.DeleteRule:
		return undoDelete(c, p, ch, s)
	}
	return fmt.Errorf("undo step %q: unknown", s.Kind)
}
