package efficacy

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Superseded reports whether a change made since has taken away what this one made.
func Superseded(c record.Change, all []record.Change) bool { return supersededBy(c, all) != nil }

// supersededBy is the first change that has taken away what this one made; nil: none has. It goes by index: each card
// asks it of each change, and few delete anything.
func supersededBy(c record.Change, all []record.Change) *record.Change {
	for i := range slices.Backward(all) {
		for j := range all[i].Steps {
			s := &all[i].Steps[j]
			takes := func(made record.Step) bool {
				return made.Done && (made.Kind == record.CreateRule && s.Rule != nil && s.Rule.ID == CurrentRule(all, made.ID) ||
					made.Kind == record.AddEntry && s.Entry != nil && Ours(*s.Entry, c, made))
			}
			deletes := s.Kind == record.DeleteRule || s.Kind == record.DeleteEntry
			if deletes && s.Done && all[i].State != record.StateUndone && slices.ContainsFunc(c.Steps, takes) {
				return &all[i]
			}
		}
	}
	return nil
}

// InPlace are the changes that hold, or should have ended and have not. An extension or undo counts to the change that it is for.
func InPlace(all []record.Change, now time.Time) (held []record.Change) {
	for _, ch := range all {
		if (ch.InForce(now) || ch.Overdue(now)) && ch.Parent() == "" && !Superseded(ch, all) {
			held = append(held, ch)
		}
	}
	return held
}

// CurrentRule is the number that a rule has by now: when an undo creates it again, it gets a new one.
func CurrentRule(known []record.Change, id int64) int64 {
	for _, ch := range slices.Backward(known) {
		for _, s := range ch.Steps {
			if s.Kind == record.CreateRule && s.Done && s.Rule.ID == id {
				id = s.ID
			}
		}
	}
	return id
}
