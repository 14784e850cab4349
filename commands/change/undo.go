package change

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// UndoNeeds are the facts that the plan of an undo needs: what stands now where the change did something, and the
// attack that it was made for.
func UndoNeeds(ch record.Change) call.Needs {
	n := call.Needs{Known: ch.AttackID}
	for _, s := range ch.Steps {
		if s.Entry != nil {
			n.Entries = s.Entry.List
		} else {
			n.Rules = call.AllRules
		}
	}
	return n
}

// undoing is the undo of a change as it is planned, with what stands at the service where the change did something.
type undoing struct {
	*call.Call
	change  record.Change
	plan    call.Plan
	entries []apiclient.IPRule // of the change's list; of a change of rules none
	rules   []apiclient.Rule
}

func undoText(ch record.Change) string { return "Undo of: " + ch.Does }

// PlanUndo plans to take a change back.
func PlanUndo(c *call.Call, ch record.Change) (p call.Plan, err error) {
	switch ch.State {
	case record.StateBegun:
		return p, &refusal.InHand{Change: ch}
	case record.StateUnreadable:
		return p, refusal.Unreadable(ch.ID)
	}
	if c.Actor.Via == record.ViaClock && (ch.Until.IsZero() || c.Now.Before(ch.Until)) {
		return p, extendedMeanwhile(ch)
	}
	u := undoing{Call: c, change: ch, plan: call.Plan{
		Line: record.LineOf("", "undo", ch.ID), Does: undoText(ch), When: ch.When, Undoes: ch.ID}}
	n := UndoNeeds(ch)
	if n.Entries != "" {
		u.entries, err = c.Facts.Entries.Get()
	}
	if n.Rules != 0 && err == nil {
		u.rules, err = c.Facts.Rules.Get()
	}
	if err != nil {
		return p, err
	}
	takeAttack(c, ch)
	for _, s := range slices.Backward(ch.Steps) { // what was done last is undone first
		switch {
		case !s.Done:
		case s.Kind == record.AddEntry:
			u.undoAdd(s)
		case s.Kind == record.DeleteEntry:
			u.undoRemoval(*s.Entry)
		case s.Kind == record.CreateRule:
			u.undoCreate(s)
		default:
			u.undoDelete(s)
		}
	}
	if len(u.plan.Steps) == 0 {
		u.plan.Nothing = text.Join(append([]text.Text{text.New("Nothing of it is left to undo")}, u.plan.Notes...), "; ")
	}
	return u.plan, nil
}

// extendedMeanwhile refuses what the clock asked for a change that ends later by now.
func extendedMeanwhile(ch record.Change) error {
	return refusal.Nothing("%v was extended meanwhile", ch.Does)
}

// takeAttack makes the call one about the attack that the change was made for, unless it names another.
func takeAttack(c *call.Call, ch record.Change) {
	if c.Attack == nil && ch.AttackID != "" {
		c.Attack = &record.KnownAttack{ID: ch.AttackID}
	}
}

// ByLine is the change that the line means: the one that it names, or else the last of who asks.
func ByLine(c *call.Call) (record.Change, error) {
	if len(c.Line.Words) > 0 {
		return standing(c, c.Line.Words[0])
	}
	for _, ch := range c.Changes {
		open := ch.InForce(c.Now) || ch.State == record.StateBegun && !ch.Expired(c.Now)
		if open && ch.Undoes == "" && ch.Actor.Is(c.Actor) {
			return ch, requireStanding(ch)
		}
	}
	return record.Change{}, refusal.Nothing("nothing of yours is in force on %v", c.Account.Name)
}

// standing is the change with the id that was typed, if it can still be undone or extended.
func standing(c *call.Call, typed string) (record.Change, error) {
	ch, err := byID(c, typed)
	if err == nil {
		err = requireStanding(ch)
	}
	return ch, err
}

// byID is the change with the id that was typed.
func byID(c *call.Call, typed string) (found record.Change, err error) {
	id := text.Code(text.Field(typed))
	for _, ch := range c.Changes {
		switch {
		case !record.MatchID(ch.ID, typed):
		case found.ID != "":
			return found, refusal.Usage("Ambiguous id: %v. It fits several changes: type more of it", id)
		default:
			found = ch
		}
	}
	if found.ID == "" {
		return found, refusal.Usage("Unknown change: %v, on %v. `status` lists what is in force, `audit` what was done", id,
			c.Account.Name)
	}
	return found, nil
}

// requireStanding refuses a change that has nothing left to undo or extend.
func requireStanding(ch record.Change) error {
	switch {
	case ch.Undoes != "":
		return refusal.Usage("`%v` is an undo itself: do again what it undid", ch.ID)
	case ch.Extends != "":
		return refusal.Usage("`%v` only extends `%v`: name that one", ch.ID, ch.Extends)
	case ch.State == record.StateUndone:
		return AlreadyUndone(ch)
	case ch.State == record.StateFailed:
		return refusal.Nothing("%v was never made: %v", ch.Does, ch.Fault)
	}
	return nil
}

// AlreadyUndone is the answer for a change that was undone before.
func AlreadyUndone(ch record.Change) error {
	return refusal.Nothing("%v: undone already by %v at %v", ch.Does, ch.EndedBy.Name, ch.EndedAt)
}
