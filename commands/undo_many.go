package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxUndos is how many changes one line takes back: as many as a question can name.
const maxUndos = 20

// clocksDiffer is by how much Slack's clock may be behind: it counts whole seconds, too.
const clocksDiffer = 5 * time.Second

// undoesMany reports whether an undo names several changes, or all of an attack or a person.
func (c *Call) undoesMany() bool { return len(c.Line.Words) > 1 || len(c.Line.Keys) > 0 }

// planUndoes plans to take back several changes, the newest first. Each is planned when its turn comes: what stands there then, and what it had
// found before, follows from those that were taken back until then.
func (c *Call) planUndoes() ([]Plan, error) {
	chosen, err := c.chosen()
	if err != nil {
		return nil, err
	}
	left := max(0, len(chosen)-maxUndos)
	chosen = chosen[:len(chosen)-left]
	line := Line{Name: "undo"}
	var plans []Plan
	for _, ch := range chosen {
		line.Words = append(line.Words, ch.ID)
		p := Plan{Line: Line{Name: "undo", Words: []string{ch.ID}}, Part: ch.ID, Undoes: ch.ID, Later: c.undoLater(ch.ID)}
		if len(chosen) > 1 {
			p.Warnings = []Warning{{Text: Say(changeWords(ch, nil), " ", Code(ch.ID))}}
		}
		plans = append(plans, p)
	}
	plans[0].Does = undoOf(chosen[0])
	if len(chosen) > 1 {
		plans[0].Does = "Take back " + count(len(chosen), "change") + ", the newest first"
	}
	if left > 0 {
		plans[0].Warnings = append(plans[0].Warnings, Warning{Text: Say(count(left, "older change"), " will be left: ask again for them")})
	}
	c.Line = line // what was found is what is asked about, and what a button does
	return plans, nil
}

// undoLater plans to take a change back as it is by then.
func (c *Call) undoLater(id string) func(context.Context) (Plan, error) {
	return func(ctx context.Context) (Plan, error) {
		c.Attack = nil
		ch, err := c.changeNamed(c.Known, id)
		if err == nil {
			err = stands(ch)
		}
		if err != nil {
			return Plan{}, err
		}
		return c.planUndoOf(ctx, ch)
	}
}

// turn carries out one plan when its turn has come.
func (r *Runner) turn(ctx context.Context, c *Call, id string, p Plan, res *Result) error {
	if p.Later == nil || slices.ContainsFunc(c.Known, func(ch Change) bool { return ch.ID == id }) {
		return r.runOne(ctx, c, id, p, res)
	}
	var err error
	if c.Known, err = r.cfg.Ledger.Changes(ctx, c.Account.Name); err != nil {
		return Away(err)
	}
	full, err := p.Later(ctx)
	switch {
	case errors.Is(err, ErrNothing):
		text, _ := ForPeople(c.Invocation, err)
		res.Lines = append(res.Lines, text)
		r.recordPlan(ctx, c, p, "nothing", text.String())
		return nil
	case err != nil:
		r.tie(ctx, c, err, c.refusedUndo(p.Undoes))
		err = notBegun(err)
		r.recordPlan(ctx, c, p, "failed", err.Error())
		return fmt.Errorf("%w: %w", errRecorded, err)
	}
	return r.runOne(ctx, c, id, full, res)
}

// chosen are the changes that the line means, the newest first, never none.
func (c *Call) chosen() ([]Change, error) {
	keys := c.Line.Keys
	switch {
	case len(c.Line.Words) > 0 && len(keys) > 0:
		return nil, c.Cmd.misuse(Say("name changes, or an attack, a person and how far back: not both"))
	case len(c.Line.Words) > 0:
		return c.chosenByID()
	case keys["attack"] == "" && keys["by"] == "":
		return nil, c.Cmd.misuse(Say("whose changes? Add ", Code("by=@me"), ", or name an attack"))
	case keys["attack"] == "" && keys["since"] == "":
		return nil, c.Cmd.misuse(Say("how far back? Add ", Code("since=30m")))
	}
	asked, from := c.Now, time.Time{}
	if !c.At.IsZero() {
		asked = c.At.Add(clocksDiffer) // what was done since was not meant
	}
	if since := keys["since"]; since != "" {
		back, err := parseDuration(since)
		if err != nil {
			return nil, err
		}
		if back != never {
			from = asked.Add(-back)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(c.Known), func(ch Change) bool {
		other := keys["attack"] != "" && ch.AttackID != keys["attack"]
		return other || ch.At.After(asked) || ch.At.Before(from) || !c.leftOf(ch)
	})
	if keys["by"] != "" {
		var err error
		if chosen, err = c.theirs(chosen, keys["by"]); err != nil {
			return nil, err
		}
	}
	if len(chosen) == 0 {
		return nil, nothing(Say("nothing like that is in force on ", c.Account.Name, ". Nothing was sent"))
	}
	return chosen, nil
}

// leftOf reports whether something of a change can be taken back, or this very request has done so.
func (c *Call) leftOf(ch Change) bool {
	mine := changeID(c.Account.Name, c.ID, ch.ID)
	switch {
	case ch.Amends() != "":
		return false
	case ch.InForce(c.Now):
		return true
	case ch.State == StateBegun:
		return ch.Until.IsZero() || c.Now.Before(ch.Until)
	}
	return slices.ContainsFunc(c.Known, func(k Change) bool { return k.ID == mine })
}

// chosenByID are the changes whose ids the line names. Those that were taken back are said to be when their turn comes.
func (c *Call) chosenByID() ([]Change, error) {
	var chosen []Change
	for _, typed := range c.Line.Words {
		ch, err := c.changeNamed(c.Known, typed)
		if err == nil {
			err = amendment(ch)
		}
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(have Change) bool { return have.ID == ch.ID }) {
			chosen = append(chosen, ch)
		}
	}
	slices.SortStableFunc(chosen, func(x, y Change) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(x.ID, y.ID)) })
	return chosen, nil
}

// theirs are those of the changes that one person made.
func (c *Call) theirs(changes []Change, by string) ([]Change, error) {
	wanted := func(a Actor) bool { return strings.Contains(strings.ToLower(a.Name+" "+a.ID), strings.ToLower(by)) }
	if user, err := readUser(by, nil); err == nil {
		if user == me {
			user = c.Actor.ID
		}
		wanted = func(a Actor) bool { return a.ID == user }
	}
	var who []Actor
	var made []Change
	for _, ch := range changes {
		if !wanted(ch.Actor) {
			continue
		}
		made = append(made, ch)
		if !slices.ContainsFunc(who, func(a Actor) bool { return a.ID == ch.Actor.ID }) {
			who = append(who, ch.Actor)
		}
	}
	if len(who) > 1 {
		text := Say(typed(by), " fits several people: ")
		for i, a := range who {
			if i > 0 {
				text = Say(text, ", ")
			}
			text = Say(text, Visible(a.Name, maxField), " (", Code(Visible(a.ID, maxField)), ")")
		}
		return nil, usage(Say(text, ". Nothing was done"))
	}
	return made, nil
}
