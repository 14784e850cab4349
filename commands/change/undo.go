package change

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
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

// FlagAll of an undo: all of an attack or a person, however long ago, and only after a question.
const FlagAll = "all"

// maxUndos is how many changes one line undoes: as many as a question can name.
const maxUndos = 20

// clocksDiffer is by how much Slack's clock may be behind: it counts whole seconds, too.
const clocksDiffer = 5 * time.Second

// UndoesMany reports whether an undo names several changes, or all of an attack or a person.
func UndoesMany(c *call.Call) bool { return len(c.Line.Words) > 1 || len(c.Line.Keys) > 0 }

// PlanUndoMany plans to undo several changes, the newest first. Each is planned when its turn comes: what stands there
// then, and what it had found before, follows from those that were undone until then.
func PlanUndoMany(c *call.Call) ([]call.Plan, error) {
	chosen, err := chosen(c)
	if err != nil {
		return nil, err
	}
	left := max(0, len(chosen)-maxUndos)
	chosen = chosen[:len(chosen)-left]
	always := c.Line.Has(FlagAll)
	asks := len(chosen) > 1 || always
	c.Line = record.Line{Name: "undo"} // what was found is what is asked about, and what a button does
	known := c.Facts.Efficacy.Value    // where the store is away, the undo itself is refused
	now := call.Situation{Account: c.Account, Policy: c.Policy, Context: c.Context, AccountChanges: c.Changes,
		Efficacy: known, Now: c.Now}
	var plans []call.Plan
	for _, ch := range chosen {
		c.Line.Words = append(c.Line.Words, ch.ID)
		p := call.Plan{Line: record.LineOf("", "undo", ch.ID), Part: ch.ID, Undoes: ch.ID, Later: true}
		if asks {
			p.Warnings = refusal.Warnings{{Text: words.Row(ch, efficacy.Brief(now, ch)), Always: always}}
		}
		plans = append(plans, p)
	}
	plans[0].Does = undoText(chosen[0])
	if len(chosen) > 1 {
		plans[0].Does = "Undo " + text.Count(len(chosen), "change") + ", the newest first"
	}
	if left > 0 {
		plans[0].Warnings = append(plans[0].Warnings, refusal.Warning{Always: always,
			Text: text.Newf("%v will be left: ask again for them", text.Count(left, "older change"))})
	}
	return plans, nil
}

// LaterNeeds are the facts that PlanLater needs.
func LaterNeeds(c *call.Call, id string) call.Needs {
	ch, _ := standing(c, id)
	return UndoNeeds(ch)
}

// PlanLater plans the undo of a change as it is stored by then.
func PlanLater(c *call.Call, id string) (p call.Plan, err error) {
	c.Attack = nil
	ch, err := standing(c, id)
	if err != nil {
		return p, err
	}
	return PlanUndo(c, ch)
}

// chosen are the changes that the line means, the newest first, never none.
func chosen(c *call.Call) ([]record.Change, error) {
	keys := c.Line.Keys
	switch {
	case len(c.Line.Words) > 0 && len(keys) > 0:
		return nil, c.Cmd.Misuse("Changes by their ids, or an attack, a person and how far back: not both")
	case len(c.Line.Words) > 0:
		return chosenByID(c)
	case keys["attack"] == "" && keys["by"] == "":
		return nil, c.Cmd.Misuse("Missing: `by=`, whose changes, or `attack=`")
	case keys["attack"] == "" && keys["since"] == "" && !c.Line.Has(FlagAll):
		return nil, c.Cmd.Misuse("Missing: `since=`, how far back")
	}
	asked, from := c.Now, time.Time{}
	if !c.Asked.IsZero() {
		asked = c.Asked.Add(clocksDiffer) // what was done since was not meant
	}
	if since := keys["since"]; since != "" {
		back, err := grammar.ParseDuration(since)
		if err != nil {
			return nil, err
		}
		if back != grammar.Never {
			from = asked.Add(-back)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(c.Changes), func(ch record.Change) bool {
		other := keys["attack"] != "" && ch.AttackID != keys["attack"]
		return other || ch.At.After(asked) || ch.At.Before(from) || !undoable(c, ch)
	})
	var err error
	if keys["by"] != "" {
		chosen, err = madeByPerson(c, chosen, keys["by"])
	}
	if err == nil && len(chosen) == 0 {
		err = refusal.Nothing("nothing like that is in force on %v", c.Account.Name)
	}
	return chosen, err
}

// undoable reports whether something of a change can be undone, or this very request has done so.
func undoable(c *call.Call, ch record.Change) bool {
	mine := record.ChangeID(c.Account.Name, c.ID, ch.ID)
	switch {
	case ch.Parent() != "":
		return false
	case ch.InForce(c.Now):
		return true
	case ch.State == record.StateBegun:
		return ch.Until.IsZero() || c.Now.Before(ch.Until)
	}
	return slices.ContainsFunc(c.Changes, func(k record.Change) bool { return k.ID == mine })
}

// chosenByID are the changes whose ids the line names. That one was undone already is answered when its turn comes.
func chosenByID(c *call.Call) ([]record.Change, error) {
	var chosen []record.Change
	for _, typed := range c.Line.Words {
		ch, err := byID(c, typed)
		if err == nil && ch.Parent() != "" {
			err = requireStanding(ch)
		}
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, ch)
	}
	slices.SortFunc(chosen, func(x, y record.Change) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(x.ID, y.ID)) })
	return slices.CompactFunc(chosen, func(x, y record.Change) bool { return x.ID == y.ID }), nil
}

// madeByPerson returns the changes that one person made. Only an admin may undo another user's all at once.
func madeByPerson(c *call.Call, changes []record.Change, by string) ([]record.Change, error) {
	user, unnamed := call.ReadUser(by, nil)
	if user == call.Me {
		user = c.Actor.ID
	}
	var who []record.Actor
	others := false
	made := slices.DeleteFunc(changes, func(ch record.Change) bool {
		a := ch.Actor
		wanted := a.Is(record.Actor{ID: user, Team: c.Actor.Team})
		if unnamed != nil {
			wanted = strings.Contains(strings.ToLower(a.Name+" "+a.ID), strings.ToLower(by))
		}
		if wanted && !slices.ContainsFunc(who, a.Is) {
			who = append(who, a)
		}
		others = others || wanted && !a.Is(c.Actor)
		return !wanted
	})
	if len(who) > 1 {
		people := text.Enumerate(who, len(who), func(a record.Actor) text.Text {
			return text.Newf("%v (`%v`)", text.Field(a.Name), text.Field(a.ID))
		})
		return nil, refusal.Usage("%v fits several people: %v", refusal.Typed(by), people)
	}
	if others {
		return made, approval.RequireRole(c, record.Admin)
	}
	return made, nil
}
