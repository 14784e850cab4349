package commands

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func undo() *Command {
	return &Command{
		Name: "undo", Role: record.Responder,
		Summary: "undo changes: your last one, those with these ids, or all of an attack or a person",
		Args: []Arg{
			{Name: "change", Object: true, Many: true, Help: "the change's id, as c7k2m9xw4; left out with all else: your last one", Options: changesInForce},
			{Name: "attack", Typed: true, Help: "all that was done for that attack", Options: ongoingAttacks},
			{Name: "by", Help: "all that somebody did: @me, a mention, or a part of a name or id; with since="},
			{Name: "since", Help: "only what was done in so long: 30m", Label: "How far back", Read: readDuration},
		},
		Example: "undo by=@me since=30m",
		Plan:    planUndo,
	}
}

func planUndo(c *Call) ([]Plan, error) {
	if c.undoesMany() {
		return c.planUndoes()
	}
	ch, err := c.changeTyped(c.Known)
	if err != nil {
		return nil, err
	}
	p, err := c.planUndoOf(ch)
	if len(p.Steps) > 0 && c.Actor.Via != record.ViaClock {
		p.Notes = append(p.Notes, c.neverAgain(ch)...)
	}
	return []Plan{p}, err
}

func undoOf(ch record.Change) string { return "Undo of: " + ch.Does }

// planUndoOf plans to take a change back.
func (c *Call) planUndoOf(ch record.Change) (Plan, error) {
	if c.Actor.Via == record.ViaClock && (ch.Until.IsZero() || c.Now.Before(ch.Until)) {
		return Plan{}, refusal.Nothing(text.New(ch.Does, " was extended meanwhile. Nothing was sent"))
	}
	ch, err := c.lookedAt(ch)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Line: record.Line{Name: "undo", Words: []string{ch.ID}}, Does: undoOf(ch), When: ch.When, Undoes: ch.ID}
	if c.Attack == nil && ch.AttackID != "" {
		c.Attack = &KnownAttack{ID: ch.AttackID}
	}
	// Backwards: what was done last is taken back first.
	for _, s := range slices.Backward(ch.Steps) {
		if !s.Done {
			continue
		}
		if err := c.undoStep(&p, ch, s); err != nil {
			return Plan{}, err
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

// lookedAt is a change in which each step of unknown outcome is marked as done if it took place.
func (c *Call) lookedAt(ch record.Change) (record.Change, error) {
	ch.Steps = slices.Clone(ch.Steps)
	for i := range ch.Steps {
		s := &ch.Steps[i]
		if !s.Sent || s.Done {
			continue
		}
		switch s.Kind {
		case record.AddEntry, record.DeleteEntry:
			entries, err := c.given().Entries(apiclient.IPRuleFilter{List: s.Entry.List})
			if err != nil {
				return record.Change{}, err
			}
			s.Done = entryStepTookEffect(entries, ch, s)
		case record.CreateRule:
			rules, err := c.given().Rules(apiclient.RuleFilter{})
			if err != nil {
				return record.Change{}, err
			}
			s.Done = ruleStepTookEffect(rules, s)
		}
	}
	return ch, nil
}

// changeTyped is the change that the line means.
func (c *Call) changeTyped(changes []record.Change) (record.Change, error) {
	if len(c.Line.Words) == 0 {
		for _, ch := range changes {
			if ch.Actor.ID == c.Actor.ID && ch.Undoes == "" && ch.InForce(c.Now) {
				return ch, amendment(ch)
			}
		}
		return record.Change{}, refusal.Nothing(text.New("nothing of yours is in force on ", c.Account.Name))
	}
	ch, err := c.changeNamed(changes, c.Line.Words[0])
	if err == nil {
		err = stands(ch)
	}
	if err != nil {
		return record.Change{}, err
	}
	return ch, nil
}

// changeNamed is the change with the id that was typed.
func (c *Call) changeNamed(changes []record.Change, typed string) (record.Change, error) {
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

// stands refuses a change of which there is nothing to take back or to prolong.
func stands(ch record.Change) error {
	switch {
	case ch.Amends() != "":
		return amendment(ch)
	case ch.State == record.StateUndone:
		return takenBack(ch)
	case ch.State == record.StateFailed:
		return refusal.Nothing(text.New(ch.Does, " was never made: ", ch.Fault, ". Nothing was sent"))
	}
	return nil
}

// amendment refuses a change that is about another one.
func amendment(ch record.Change) error {
	switch {
	case ch.Undoes != "":
		return refusal.Usage(text.New(text.Code(ch.ID), " is an undo itself: do again what it took back"))
	case ch.Extends != "":
		return refusal.Usage(text.New(text.Code(ch.ID), " only extends ", text.Code(ch.Extends), ": name that one. Nothing was done"))
	}
	return nil
}

func takenBack(ch record.Change) error {
	return refusal.Nothing(text.New(ch.Does, ": undone already by ", ch.EndedBy.Name, " at ", ch.EndedAt, ". Nothing was sent"))
}

// undoStep plans the opposite of a step, of what is still ours.
func (c *Call) undoStep(p *Plan, ch record.Change, s record.Step) error {
	switch s.Kind {
	case record.AddEntry:
		return c.undoAdd(p, ch, s)
	case record.DeleteEntry:
		return c.putBack(p, *s.Entry)
	case record.CreateRule:
		return c.undoCreate(p, s)
	case record.DeleteRule:
		return c.undoDelete(p, ch, s)
	}
	return fmt.Errorf("undo step %q: unknown", s.Kind)
}

// undoAdd takes the entry off if it is still ours, and puts back what stood there before.
func (c *Call) undoAdd(p *Plan, ch record.Change, s record.Step) error {
	entries, err := c.given().Entries(apiclient.IPRuleFilter{List: s.Entry.List})
	if err != nil {
		return err
	}
	i, changed := c.entryLeft(entries, ch, s)
	ours := func(e apiclient.IPRule) bool { return sameSource(e, *s.Entry) }
	if changed != nil {
		p.Notes = append(p.Notes, changed)
	} else {
		p.Steps = append(p.Steps, record.Step{Kind: record.DeleteEntry, Entry: &entries[i]})
		c.bringBack(p, s.Before)
		ours = func(e apiclient.IPRule) bool {
			return e.ID == entries[i].ID || slices.ContainsFunc(s.Before, func(b apiclient.IPRule) bool { return b.ID == e.ID })
		}
	}
	notes, err := c.covering(ch, *s.Entry, slices.DeleteFunc(slices.Clone(entries), ours))
	p.Notes = append(p.Notes, notes...)
	return err
}

// bringBack plans to put back what an entry had taken the place of.
func (c *Call) bringBack(p *Plan, all []apiclient.IPRule) {
	for _, before := range all {
		if c.spared(p, before) {
			continue
		}
		if (before.Expires.IsZero() || before.Expires.After(c.Now)) && !c.takenBackSince(before) {
			p.Steps = append(p.Steps, record.Step{Kind: record.AddEntry, Entry: asBefore(before)})
			p.Notes = append(p.Notes, text.New(names(before), " is on the ", listName(before.List), untilText(before.Expires), " again, as before", byText(before)))
		}
	}
}

// entryLeft finds the entry that a step made, if it still stands as wafbot left it; otherwise it says what became of it.
func (c *Call) entryLeft(entries []apiclient.IPRule, ch record.Change, s record.Step) (int, text.Text) {
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return ours(e, ch, s) })
	if i < 0 {
		j := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return sameSource(e, *s.Entry) })
		if j < 0 {
			return -1, text.New("the entry for ", names(*s.Entry), " is gone already")
		}
		return -1, text.New("the entry for ", names(*s.Entry), " is somebody else's now", byText(entries[j]), ", left as it is")
	}
	if e := entries[i]; !sameEntry(e, *s.Entry) || !e.Expires.IsZero() && !c.gaveEnd(ch, e) {
		return -1, text.New("somebody changed the entry for ", names(*s.Entry), " since: it holds ", c.Account.appsText(e.Apps), untilText(e.Expires), ", left as it is")
	}
	return i, nil
}

// gaveEnd reports whether wafbot itself gave the entry its end: when the change was made, or prolonged.
func (c *Call) gaveEnd(ch record.Change, e apiclient.IPRule) bool {
	return slices.ContainsFunc(c.Known, func(k record.Change) bool {
		return (k.ID == ch.ID || k.Extends == ch.ID) && slices.ContainsFunc(k.Steps, func(s record.Step) bool {
			return s.Kind == record.AddEntry && s.Sent && s.Entry.Expires.Equal(e.Expires)
		})
	})
}

// takenBackSince reports whether an entry was the work of a change that has been undone.
func (c *Call) takenBackSince(e apiclient.IPRule) bool {
	return slices.ContainsFunc(c.Known, func(ch record.Change) bool {
		return ch.State == record.StateUndone && namedBy(e, ch)
	})
}

// asBefore is an entry as it was, to be added again. One without a known end gets the latest there is: never shorter than it was.
func asBefore(e apiclient.IPRule) *apiclient.IPRule {
	if e.Expires.IsZero() {
		e.Expires = apiclient.Forever
	}
	if e.Reason == "" {
		e.Reason = "put back by wafbot"
	}
	return &e
}

func (c *Call) putBack(p *Plan, e apiclient.IPRule) error {
	if !e.Expires.IsZero() && !e.Expires.After(c.Now) {
		p.Notes = append(p.Notes, text.New("the entry for ", names(e), " would have ended by now"))
		return nil
	}
	entries, err := c.given().Entries(apiclient.IPRuleFilter{List: e.List})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(entries, func(have apiclient.IPRule) bool { return sameEntry(have, e) }); i >= 0 {
		p.Notes = append(p.Notes, text.New(names(e), " is on the ", listName(e.List), " again already", byText(entries[i])))
		return nil
	}
	if !c.spared(p, e) {
		p.Steps = append(p.Steps, record.Step{Kind: record.AddEntry, Entry: asBefore(e)})
	}
	return nil
}

// spared reports whether an entry must not come back because what it is about is never denied by now, and says so.
func (c *Call) spared(p *Plan, e apiclient.IPRule) bool {
	if e.List == apiclient.ListAllow {
		return false
	}
	for _, t := range grammar.TargetsOf(e) {
		if own, ok := c.policy().never(t); ok {
			p.Notes = append(p.Notes, text.New(names(e), " is ", text.Bold(own.Name), " by now, which is never denied: its entry doesn't come back"))
			return true
		}
	}
	return false
}
