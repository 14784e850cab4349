package change

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
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

// undoAdd takes the entry off if it is still ours, and puts back what stood there before.
func undoAdd(c *call.Call, p *call.Plan, ch record.Change, s record.Step) error {
	entries, err := c.Given().Entries(apiclient.IPRuleFilter{List: s.Entry.List})
	if err != nil {
		return err
	}
	i, changed := entryLeft(c, entries, ch, s)
	ours := func(e apiclient.IPRule) bool { return efficacy.SameSource(e, *s.Entry) }
	if changed != nil {
		p.Notes = append(p.Notes, changed)
	} else {
		p.Steps = append(p.Steps, record.Step{Kind: record.DeleteEntry, Entry: &entries[i]})
		bringBack(c, p, s.Before)
		ours = func(e apiclient.IPRule) bool {
			return e.ID == entries[i].ID || slices.ContainsFunc(s.Before, func(b apiclient.IPRule) bool { return b.ID == e.ID })
		}
	}
	notes, err := covering(c, ch, *s.Entry, slices.DeleteFunc(slices.Clone(entries), ours))
	p.Notes = append(p.Notes, notes...)
	return err
}

// bringBack plans to put back what an entry had taken the place of.
func bringBack(c *call.Call, p *call.Plan, all []apiclient.IPRule) {
	for _, before := range all {
		if neverDenied(c, p, before) {
			continue
		}
		if (before.Expires.IsZero() || before.Expires.After(c.Now)) && !undoneSince(c, before) {
			p.Steps = append(p.Steps, record.Step{Kind: record.AddEntry, Entry: asBefore(before)})
			p.Notes = append(p.Notes, text.New(describe.EntrySources(before), " is on the ", describe.ListName(before.List), describe.Until(before.Expires), " again, as before", describe.EntryAuthor(before)))
		}
	}
}

// entryLeft finds the entry that a step made, if it still stands as wafbot left it; otherwise it says what became of it.
func entryLeft(c *call.Call, entries []apiclient.IPRule, ch record.Change, s record.Step) (int, text.Text) {
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return efficacy.Ours(e, ch, s) })
	if i < 0 {
		j := slices.IndexFunc(entries, func(e apiclient.IPRule) bool { return efficacy.SameSource(e, *s.Entry) })
		if j < 0 {
			return -1, text.New("the entry for ", describe.EntrySources(*s.Entry), " is gone already")
		}
		return -1, text.New("the entry for ", describe.EntrySources(*s.Entry), " is somebody else's now", describe.EntryAuthor(entries[j]), ", left as it is")
	}
	if e := entries[i]; !efficacy.SameEntry(e, *s.Entry) || !e.Expires.IsZero() && !gaveEnd(c, ch, e) {
		return -1, text.New("somebody changed the entry for ", describe.EntrySources(*s.Entry), " since: it holds ", c.Account.AppsText(e.Apps), describe.Until(e.Expires), ", left as it is")
	}
	return i, nil
}

// gaveEnd reports whether wafbot itself gave the entry its end: when the change was made, or prolonged.
func gaveEnd(c *call.Call, ch record.Change, e apiclient.IPRule) bool {
	return slices.ContainsFunc(c.Changes, func(k record.Change) bool {
		return (k.ID == ch.ID || k.Extends == ch.ID) && slices.ContainsFunc(k.Steps, func(s record.Step) bool {
			return s.Kind == record.AddEntry && s.Sent && s.Entry.Expires.Equal(e.Expires)
		})
	})
}

// undoneSince reports whether an entry was the work of a change that has been undone.
func undoneSince(c *call.Call, e apiclient.IPRule) bool {
	return slices.ContainsFunc(c.Changes, func(ch record.Change) bool {
		return ch.State == record.StateUndone && efficacy.NamedBy(e, ch)
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

func putBack(c *call.Call, p *call.Plan, e apiclient.IPRule) error {
	if !e.Expires.IsZero() && !e.Expires.After(c.Now) {
		p.Notes = append(p.Notes, text.New("the entry for ", describe.EntrySources(e), " would have ended by now"))
		return nil
	}
	entries, err := c.Given().Entries(apiclient.IPRuleFilter{List: e.List})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(entries, func(have apiclient.IPRule) bool { return efficacy.SameEntry(have, e) }); i >= 0 {
		p.Notes = append(p.Notes, text.New(describe.EntrySources(e), " is on the ", describe.ListName(e.List), " again already", describe.EntryAuthor(entries[i])))
		return nil
	}
	if !neverDenied(c, p, e) {
		p.Steps = append(p.Steps, record.Step{Kind: record.AddEntry, Entry: asBefore(e)})
	}
	return nil
}

// neverDenied reports whether an entry must not come back because what it is about is never denied by now, and says so.
func neverDenied(c *call.Call, p *call.Plan, e apiclient.IPRule) bool {
	if e.List == apiclient.ListAllow {
		return false
	}
	for _, t := range grammar.TargetsOf(e) {
		if own, ok := c.PolicyNow().Never(t); ok {
			p.Notes = append(p.Notes, text.New(describe.EntrySources(e), " is ", text.Bold(own.Name), " by now, which is never denied: its entry doesn't come back"))
			return true
		}
	}
	return false
}
