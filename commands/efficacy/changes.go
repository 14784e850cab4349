package efficacy

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Superseded reports whether a change made since has taken away what this one made. It goes by index: each card asks it of each change, and few delete anything.
func Superseded(c record.Change, all []record.Change) bool {
	for i := range all {
		if all[i].State == record.StateUndone {
			continue
		}
		for j := range all[i].Steps {
			s := &all[i].Steps[j]
			if s.Done && (s.Kind == record.DeleteRule || s.Kind == record.DeleteEntry) &&
				slices.ContainsFunc(c.Steps, func(made record.Step) bool { return deletedBy(c, all, *s, made) }) {
				return true
			}
		}
	}
	return false
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

func deletedBy(c record.Change, all []record.Change, s, made record.Step) bool {
	switch {
	case !made.Done:
		return false
	case s.Kind == record.DeleteRule && made.Kind == record.CreateRule:
		return s.Rule.ID == CurrentRule(all, made.ID)
	case s.Kind == record.DeleteEntry && made.Kind == record.AddEntry:
		return Ours(*s.Entry, c, made)
	}
	return false
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
