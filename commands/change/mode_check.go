package change

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Two mode rules for the same requests are one too many: the service keeps the last written, or removes one silently.
// So it is verified, when the listings must show it, that a switch left one, and that it is the one that it made.

// verifyModeAt is when that is verified; zero: it was, or the change set no mode.
func verifyModeAt(c record.Change) (at time.Time) {
	if c.ModeVerified || c.State != record.StateDone {
		return at
	}
	for _, s := range c.Steps {
		if setsMode(s) && s.Done {
			at = record.Later(at, s.SentAt.Add(efficacy.ListedWithin))
		}
	}
	if !at.IsZero() && !c.Until.IsZero() && c.Parent() == "" {
		return record.Earlier(at, c.Until)
	}
	return at
}

func setsMode(s record.Step) bool {
	return s.Kind == record.CreateRule && s.Rule.Type == apiclient.RuleMode
}

// VerifiesMode reports whether the listings must show by now which rule is left of the modes that the change set.
func VerifiesMode(c record.Change, now time.Time) bool {
	at := verifyModeAt(c)
	return !at.IsZero() && !now.Before(at) && !c.Expired(now)
}

// ModeRulesLeft compares the listed rules with those that a switch of modes made. doubles are for the same requests:
// the switch made them twice or replaced them. wrong says what else isn't as planned; nil: nothing, or another change
// of wafbot's has overtaken the switch.
func ModeRulesLeft(c record.Change, all []record.Change, rules []apiclient.Rule) (doubles []apiclient.Rule, wrong text.Text) {
	if c.State != record.StateDone || efficacy.Superseded(c, all) {
		return nil, nil
	}
	for _, s := range c.Steps {
		if !setsMode(s) {
			continue
		}
		id, stands, others := efficacy.CurrentRule(all, s.ID), false, []text.Text{}
		for _, r := range rules {
			switch {
			case r.Type != apiclient.RuleMode || !apiclient.SameConditions(r.Conditions, s.Rule.Conditions):
			case r.ID == id:
				stands = apiclient.SameRule(r, *s.Rule)
			case isDouble(c, s, r) && !deletedSince(c, all, r.ID):
				doubles = append(doubles, r)
			default:
				others = append(others, text.Newf("rule `%v` (mode %v)", r.ID, text.Field(r.Mode)))
			}
		}
		if !stands {
			wrong = text.Newf("rule `%v`, which sets it, is not listed as wafbot made it: it was removed or changed", id)
		}
		if len(others) > 0 {
			beside := text.Newf("for the same requests there is %v, too, and the service goes by the last written: `delete-rule` deletes one",
				text.Enumerate(others, 5, func(t text.Text) text.Text { return t }))
			wrong = text.Join([]text.Text{wrong, beside}, "; ")
		}
	}
	return doubles, wrong
}

// isDouble reports whether a rule is one that a step made twice, or that its change was to delete.
func isDouble(c record.Change, made record.Step, r apiclient.Rule) bool {
	if r.System {
		return false
	}
	twice := apiclient.SameRule(r, *made.Rule) && !slices.Contains(made.Equal, r.ID)
	return twice || slices.ContainsFunc(c.Steps, func(s record.Step) bool { return s.Kind == record.DeleteRule && s.Rule.ID == r.ID })
}

// deletedSince reports whether wafbot deleted a rule once more since the change: then it doesn't go.
func deletedSince(c record.Change, all []record.Change, id int64) bool {
	return slices.ContainsFunc(all, func(later record.Change) bool {
		return later.ID != c.ID && later.At.After(c.At) &&
			slices.ContainsFunc(later.Did(record.DeleteRule), func(s record.Step) bool { return s.Rule.ID == id })
	})
}

// ModeVerified is the outcome of verifying a mode switch.
func ModeVerified(c record.Change, wrong text.Text) record.DueDecision {
	c.ModeVerified = true
	if len(wrong) > 0 {
		c.Fault = wrong.String()
	}
	return record.DueDecision{Change: c, Next: CheckAt(c), Listed: len(wrong) > 0, Seen: true}
}
