// Package change plans changes of the service, their undo, extension and end, and says what became of them: pure
// functions of facts.
package change

import (
	"errors"
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ErrOutcomeUnknown marks a failure after which it isn't known whether the step was done.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// Unsaved is the answer for a change that was sent and could not be stored: the same delivery, or the same line, finds
// it begun.
func Unsaved(ch record.Change, err error) error {
	return &refusal.Refusal{Kind: refusal.ErrAway, Cause: fmt.Errorf("%w: %w", refusal.ErrRecorded, err),
		Text: text.Newf("*%v*: sent to the service, but %v, so what came of it isn't written down. Ask the same again: wafbot verifies before it sends",
			ch.Does, refusal.Store(err))}
}

// NotDone is the answer for a change that failed, was done in part only, or whose outcome is unknown.
func NotDone(ch record.Change, fault error) error {
	if errors.Is(fault, refusal.ErrRecorded) {
		return fault
	}
	return &refusal.Refusal{Kind: refusal.ErrService, Text: Failure(ch), Titled: true,
		Cause: errors.Join(refusal.ErrRecorded, refusal.ErrReported, fault)}
}

// Failure says that the change failed, was done in part only, or that its outcome is unknown, and why; nothing of one
// that did not fail, or is resumed.
func Failure(c record.Change) text.Text {
	switch {
	case c.Fault == "":
		return nil
	case c.State == record.StateHalf && c.Parent() == "":
		return text.Newf("*Failed in part: %v*: %v%v. `undo %v` undoes what was done",
			c.Does, c.Fault, perSource(c), c.ID)
	case c.State == record.StateHalf:
		return text.Newf("*Failed in part: %v*: %v%v. Ask the same again: what is done already is left as it is",
			c.Does, c.Fault, perSource(c))
	case c.State == record.StateBegun:
		return text.Newf("*Failed, or perhaps done: %v*: %v. Ask the same again: wafbot verifies before it sends",
			c.Does, c.Fault)
	}
	return text.Newf("*Failed: %v*: %v", c.Does, c.Fault)
}

// perSource says for which sources a change of lists was done, and for which not, with the sentence's end before it;
// nothing of one about rules.
func perSource(c record.Change) text.Text {
	var done, left []grammar.Target
	for _, s := range c.Steps {
		switch {
		case s.Entry == nil:
		case s.Done:
			done = append(done, grammar.TargetsOf(*s.Entry)...)
		default:
			left = append(left, grammar.TargetsOf(*s.Entry)...)
		}
	}
	name := func(t grammar.Target) text.Text { return text.New(t.String()) }
	if len(done) == 0 || len(left) == 0 {
		return nil
	}
	return text.Newf(". Done for %v; not for %v", text.Enumerate(done, 20, name), text.Enumerate(left, 20, name))
}

// Affected are the changes that ch undoes or prolongs, as they are afterwards.
func Affected(c *call.Call, ch record.Change) []record.Change {
	var all []record.Change
	for _, old := range c.Changes {
		if Affect(&old, ch) {
			all = append(all, old)
		}
	}
	return all
}

// Affect brings a change into the state that it is in after ch, and reports whether ch is about it. With one that is
// undone go those that prolonged it: one that is found begun later must not bring it back.
func Affect(old *record.Change, ch record.Change) bool {
	switch {
	case ch.Undoes != "" && (old.ID == ch.Undoes || old.Extends == ch.Undoes) && old.State != record.StateFailed:
		old.State, old.EndedBy, old.EndedAt = record.StateUndone, &ch.Actor, ch.At
	case ch.Extends != "" && old.ID == ch.Extends:
		old.Prolong(ch.Until)
	default:
		return false
	}
	return true
}

// IgnoreNotFound takes "not found" as deleted: another was faster.
func IgnoreNotFound(err error) error {
	if apiclient.KindOf(err) == apiclient.NotFound {
		return nil
	}
	return err
}

// HasEffect reports whether a change has the plan's effect: it is in force, and asked again would only last longer, or
// it was made so lately that the service's listing may not show it yet. The clock asks for nothing twice: when it
// prolongs by as much again, it is to last longer.
func HasEffect(c *call.Call, ch record.Change, p call.Plan) bool {
	age := c.Now.Sub(ch.At)
	return ch.Effect == p.Effect() && ch.State == record.StateDone && c.Actor.Via != record.ViaClock &&
		ch.InForce(c.Now) && (age < efficacy.ListedWithin || onlyProlongs(p, ch)) && !efficacy.Superseded(ch, c.Changes)
}

// onlyProlongs reports whether all that the plan does is to put entries of the change in their own place, with a later
// end.
func onlyProlongs(p call.Plan, ch record.Change) bool {
	for _, s := range p.Steps {
		for _, e := range s.Before {
			if !efficacy.NamedBy(e, ch) {
				return false
			}
		}
		if s.Kind != record.AddEntry || len(s.Before) == 0 {
			return false
		}
	}
	return len(p.Steps) > 0
}

// DoneAlready says by whom the change was made, and how it lasts longer where that is what asking again would bring.
func DoneAlready(c record.Change, p call.Plan) text.Text {
	words := text.Newf("%v: done already by %v at %v (`%v`)", c.Does, c.Actor.Name, c.At, c.ID)
	if onlyProlongs(p, c) && !c.Until.IsZero() {
		words.Addf(", until %v; `extend %v for=…` extends it", c.Until, c.ID)
	}
	return words
}

// DryRun says what would be sent.
func DryRun(ch record.Change, p call.Plan) (lines text.Lines) {
	if len(ch.Steps) == 0 {
		lines.Addf("*Dry run*: %v. Nothing was changed", p.Does)
	} else {
		lines.Addf("*Dry run*: %v. Nothing was sent; it would work %v", p.Does, p.When)
	}
	for _, s := range ch.Steps {
		lines.Addf("• `%v`", words.Step(s))
	}
	return append(lines, p.Notes...)
}

// AuditEntry is the audit entry of a change that was sent.
func AuditEntry(c *call.Call, ch record.Change) record.AuditEntry {
	e := c.AuditEntry(string(ch.State))
	e.Account, e.Line, e.Change, e.Attack, e.Why = ch.Account, ch.Line.String(), ch.ID, ch.AttackID, ch.Reason
	e.Request, e.Approved = ch.Request, ch.Approved
	if ch.State == record.StateBegun {
		e.Outcome = "unknown"
	}
	if ch.Fault != "" {
		e.Why = ch.Fault
	}
	for _, s := range ch.Steps {
		for _, b := range s.Before {
			e.Before = append(e.Before, words.Step(record.Step{Kind: record.AddEntry, Entry: &b}))
		}
		if s.Sent {
			e.After = append(e.After, words.Step(s))
		}
	}
	return e
}

// inOwnBatch reports whether an entry of wafbot's for several sources holds the one that is wanted.
func inOwnBatch(e, want apiclient.IPRule) bool {
	_, ours := NamedIn(e.Reason)
	return ours && e.List == want.List && e.Kind != apiclient.KindRange && efficacy.SameApps(e, want) &&
		efficacy.Covers(e, want)
}

// batched puts the countries, proxies and data centers that no entry holds yet into one request for each kind.
// Addresses go one by one.
func batched(steps []record.Step, lists []apiclient.IPRule) (all []record.Step) {
	kinds := map[string]*apiclient.IPRule{}
	for _, s := range steps {
		held := slices.ContainsFunc(lists, func(e apiclient.IPRule) bool {
			return e.List == s.Entry.List && efficacy.Overlaps(e, *s.Entry)
		})
		one := kinds[s.Entry.Kind]
		switch {
		case s.Entry.Kind == apiclient.KindRange || held:
		case one != nil:
			one.Values = append(one.Values, s.Entry.Values...)
			continue
		default:
			kinds[s.Entry.Kind] = s.Entry
		}
		all = append(all, s)
	}
	return all
}

// MaxRefused is how many refused changes a permission loss keeps; the others are counted.
const MaxRefused = 5

// NeededPermissions are what steps need.
func NeededPermissions(steps []record.Step) (all []record.Permission) {
	for _, s := range steps {
		p := record.PermissionRules
		switch {
		case s.Entry != nil:
			p = record.PermissionLists
		case s.Rule.Type == apiclient.RuleMode:
			p = record.PermissionModes
		}
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// OfRules reports whether steps are about rules.
func OfRules(steps []record.Step) bool {
	return slices.ContainsFunc(steps, func(s record.Step) bool { return s.Rule != nil })
}

// PermissionRefused reports whether the service refused because of wafbot's token. An unknown outcome is no refusal.
func PermissionRefused(fault error) bool {
	kind := apiclient.KindOf(fault)
	return (kind == apiclient.Unauthenticated || kind == apiclient.Forbidden) && !errors.Is(fault, ErrOutcomeUnknown)
}

// RefusedUndo is the undo of a change that could not be planned.
func RefusedUndo(c *call.Call, id string) record.RefusedChange {
	what := record.RefusedChange{Line: record.LineOf("", "undo", id), Ends: id, By: c.Actor, At: c.Now}
	if i := record.IndexChange(c.Changes, id); i >= 0 {
		what.Does, what.Steps = undoText(c.Changes[i]), inverse(c.Changes[i])
	}
	return what
}

// inverse are the steps that undo what a change did, as far as is known without reading the service.
func inverse(ch record.Change) (steps []record.Step) {
	opposite := map[record.StepKind]record.StepKind{record.AddEntry: record.DeleteEntry,
		record.DeleteEntry: record.AddEntry, record.CreateRule: record.DeleteRule, record.DeleteRule: record.CreateRule}
	for _, s := range slices.Backward(ch.Steps) {
		if !s.Done {
			continue
		}
		back := record.Step{Kind: opposite[s.Kind]}
		if s.Entry != nil {
			back.Entry = new(*s.Entry)
			back.Entry.ID = max(s.Entry.ID, s.ID)
		} else {
			back.Rule = new(*s.Rule)
			back.Rule.ID = max(s.Rule.ID, s.ID)
		}
		steps = append(steps, back)
	}
	return steps
}
