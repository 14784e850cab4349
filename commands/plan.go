package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Plan is one change as it would be made, from a look at the service just now.
type Plan struct {
	Line     Line   // canonical, of this change alone
	Does     string // "Deny 203.0.113.7 everywhere for 4 h"
	When     string // "in about 1 min"
	Steps    []Step // none: Nothing says why, or only wafbot's own memory changes
	Until    time.Time
	Nothing  Text // why there is nothing to do
	Role     Role // the least role, where only a look tells
	Warnings []Warning
	Notes    []Text    // what else the person should know afterwards
	Undoes   string    // the change that this one takes back
	Extends  string    // the change whose end this one moves
	Renews   time.Time // to when wafbot prolongs it while it knocks; zero: it doesn't
	Part     string    // what tells it from the others of its line, where their number isn't the command's own; "": its place
	// Later makes the plan itself when its turn comes, because what is done before decides about it; nil: this is it.
	Later func(ctx context.Context) (Plan, error)
}

// Warning is what a person should know before.
type Warning struct {
	Text     Text
	InDialog bool // follows from the line alone, so a button's dialog says it already
	Known    bool // the line says that its writer knows
}

func (p Plan) effect() string { return effect(p.Line) }

// effect is what makes two requests the same: the line without why and what for.
func effect(l Line) string { return l.With("reason", "").With("attack", "").String() }

// run carries out the plans one after another, each as a change of its own.
func (r *Runner) run(ctx context.Context, c *Call, plans []Plan) (Result, error) {
	res := Result{Outcome: "nothing", Account: c.Account.Name}
	if c.Attack != nil {
		res.AttackID = c.Attack.ID
	}
	var failed []error
	for i, p := range plans {
		id := c.partID(p, i)
		if err := r.turn(ctx, c, id, p, &res); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return res, half(plans, res, failed)
	}
	return res, nil
}

// runOne carries out one plan, unless the same effect is there already: then it says whose it is.
func (r *Runner) runOne(ctx context.Context, c *Call, id string, p Plan, res *Result) error {
	if i := slices.IndexFunc(c.Known, func(ch Change) bool { return ch.ID == id }); i >= 0 {
		return r.goOn(ctx, c, c.Known[i], res)
	}
	if i := slices.IndexFunc(c.Known, func(ch Change) bool { return c.sameNow(ch, p) }); i >= 0 {
		if c.Known[i].State == StateBegun {
			return r.goOn(ctx, c, c.Known[i], res)
		}
		p.Nothing = c.Known[i].doneAlready(p)
		p.Steps = nil
	}
	if len(p.Nothing) > 0 {
		res.Lines = append(res.Lines, Say(p.Nothing, ". Nothing was sent"))
		r.recordPlan(ctx, c, p, "nothing", p.Nothing.String())
		return r.closeUndone(ctx, c, p.Undoes)
	}
	ch := r.newChange(c, id, p)
	ch.Seen = r.seen(ctx, c)
	if r.cfg.Policy.Changes != ChangesOn {
		res.Outcome = "rehearsed"
		res.Lines = append(res.Lines, rehearsal(ch, p)...)
		r.recordPlan(ctx, c, p, "rehearsed", "")
		return nil
	}
	return r.finish(ctx, c, ch, p, res)
}

// listedWithin is how long a change may take to show in the service's listings.
const listedWithin = time.Minute

// sameNow reports whether a change has the plan's effect: it is in hand, or it is in force, and asked again would only last longer, or it was made
// so lately that the service's listing may not show it yet. The clock asks for nothing twice: when it prolongs by as much again, it is to last longer.
func (c *Call) sameNow(ch Change, p Plan) bool {
	age := c.Now.Sub(ch.At)
	switch {
	case ch.Effect != p.effect():
		return false
	case ch.State == StateBegun:
		return age <= stale
	}
	return ch.State == StateDone && c.Actor.Via != ViaClock && ch.InForce(c.Now) && (age < listedWithin || p.onlyProlongs(ch)) && !ch.superseded(c.Known)
}

// onlyProlongs reports whether all that the plan does is to put entries of the change in their own place, with a later end.
func (p Plan) onlyProlongs(ch Change) bool {
	return len(p.Steps) > 0 && !slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.Kind != AddEntry || len(s.Before) == 0 || slices.ContainsFunc(s.Before, func(e apiclient.IPRule) bool { return !namedBy(e, ch) })
	})
}

// doneAlready says by whom the change was made, and how it lasts longer where that is what asking again would bring.
func (c Change) doneAlready(p Plan) Text {
	text := Say(c.Does, ": done already by ", c.Actor.Name, " at ", c.At, " (", Code(c.ID), ")")
	if p.onlyProlongs(c) && !c.Until.IsZero() {
		text = Say(text, ", until ", c.Until, "; ", Code("extend "+c.ID+" for=…"), " prolongs it")
	}
	return text
}

// goOn finishes a change that was begun, by this delivery or another with the same effect.
func (r *Runner) goOn(ctx context.Context, c *Call, ch Change, res *Result) error {
	switch ch.State {
	case StateBegun:
		return r.finish(ctx, c, ch, Plan{}, res)
	case StateFailed, StateHalf:
		return notDone(ch, nil)
	case StateUndone:
		return takenBack(ch)
	}
	res.add(ch)
	return nil
}

// closeUndone ends the change that an undo found nothing left of.
func (r *Runner) closeUndone(ctx context.Context, c *Call, id string) error {
	if id == "" || r.cfg.Policy.Changes != ChangesOn {
		return nil
	}
	all := c.amended(Change{Undoes: id, Actor: c.Actor, At: c.Now})
	for i := range all {
		if all[i].ID == id { // the one that is told
			all[i].Gone = true
			all[0], all[i] = all[i], all[0]
		}
	}
	if _, err := c.save(ctx, nil, all...); err != nil {
		return Away(err)
	}
	for _, undone := range all {
		if undone.ID == id {
			r.cfg.Changed(ctx, undone)
		}
	}
	return nil
}

// add puts a finished change into the result.
func (res *Result) add(ch Change) {
	res.Outcome = "done"
	res.Changes = append(res.Changes, ch)
	line := Say(Bold(ch.Does), ": ", ch.accepted())
	if ch.Undoes == "" {
		line = Say(line, ". ", Code(cmp.Or(ch.Extends, ch.ID)), ", by ", ch.by())
		if !ch.Until.IsZero() {
			line = Say(line, ", until ", ch.Until, ch.renewal())
		}
	}
	res.Lines = append(res.Lines, line)
}

// newChange is the plan as it will be written down.
func (r *Runner) newChange(c *Call, id string, p Plan) Change {
	ch := Change{
		ID: id, Account: c.Account.Name, Line: p.Line, Effect: p.effect(), Does: p.Does, When: p.When, Actor: c.Actor, Reason: c.Line.Keys["reason"],
		At: r.cfg.Now(), Until: p.Until, State: StateBegun, Steps: p.Steps, Role: max(c.Cmd.Role, p.Role), Undoes: p.Undoes, Extends: p.Extends,
		Renew: p.Renews,
	}
	if c.Attack != nil {
		ch.AttackID = c.Attack.ID
	}
	if q := c.granted; q != nil {
		ch.Request, ch.Alone = q.ID, q.State == RequestAlone
		if ch.Alone {
			ch.Renew = time.Time{} // it is for a short time
		} else {
			ch.Approved = q.Decided
		}
	}
	for i := range ch.Steps {
		switch s := &ch.Steps[i]; {
		case s.Kind == AddEntry && s.Entry.Reason == "":
			s.Entry.Reason = entryReason(ch)
		case s.Kind == CreateRule && s.Rule.Type == apiclient.RuleRegex && ch.Undoes == "": // no other kind of rule takes a comment
			s.Rule.Comment = entryReason(ch)
		}
	}
	return ch
}

// maxReason is how many characters of a reason are sent.
const maxReason = 200

// reasonPrefix is how the reason of every entry begins that a change makes; undo and reading back know it by that.
func reasonPrefix(id string) string { return "wafbot " + id + " " }

// entryReason names the change and the person, because the service itself sees only the owner of the token.
func entryReason(ch Change) string {
	text := fmt.Sprintf("%sby %s (%s)", reasonPrefix(ch.ID), ch.Actor.Name, ch.Actor.ID)
	if ch.AttackID != "" {
		text += " for " + ch.AttackID
	}
	switch {
	case ch.Approved != nil:
		text += ": approved by " + ch.Approved.Name
	case ch.Alone:
		text += ": alone"
	}
	if ch.Reason != "" {
		text += ": " + ch.Reason
	}
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	return string(runes[:min(len(runes), maxReason)])
}

// rehearsal says what would be sent.
func rehearsal(ch Change, p Plan) []Text {
	lines := []Text{Say("Rehearsal: ", Bold(p.Does), " would be sent; nothing was. It would work ", p.When)}
	if len(ch.Steps) == 0 {
		lines = []Text{Say("Rehearsal: ", Bold(p.Does), " would be written down, with nothing to send; it was not")}
	}
	for _, s := range ch.Steps {
		lines = append(lines, Say("• ", Code(s.describe())))
	}
	return append(lines, p.Notes...)
}

// half is the error for plans of which not all were done: what was done is said beside what was not.
func half(plans []Plan, res Result, failed []error) error {
	if len(plans) == 1 {
		return failed[0]
	}
	var text Text
	for _, l := range res.Lines {
		text = Say(text, l, ".\n")
	}
	for _, err := range failed {
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			return errors.Join(failed...)
		}
		text = Say(text, refusal.Text, ".\n")
	}
	if len(failed) < len(plans) {
		text = Say(Bold("Half done. "), text)
	}
	return &Refusal{Kind: ErrService, Text: text, Cause: errors.Join(failed...)}
}

// forPeople turns an error of the service into words; a refusal stays as it is.
func forPeople(err error) error {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return err
	}
	var text Text
	switch apiclient.KindOf(err) {
	case apiclient.Unauthenticated:
		text = Say("the service doesn't accept wafbot's token any more: who manages it must renew it")
	case apiclient.Forbidden:
		text = Say("the service doesn't allow this to wafbot's token: it lacks the permission, which an admin of the service can give it")
	case apiclient.Invalid:
		text = Say("the service refused it as invalid: ", serviceWords(err))
	case apiclient.Exists:
		text = Say("the service has an entry like that already, made meanwhile or in another form: look with ", Code("lists"))
	case apiclient.NotFound:
		text = Say("the service doesn't find it: somebody else may have removed it")
	case apiclient.Locked:
		text = Say("the service has locked its rules just now: try again in some minutes")
	case apiclient.RateLimited:
		text = Say("the service takes no more requests just now: try again in a minute")
	case apiclient.Server:
		text = Say("the service answered with an error of its own: try again, or use its console")
	case apiclient.Network:
		text = Say("the service can't be reached: try again, or use its console")
	default:
		return err
	}
	return &Refusal{Kind: ErrService, Text: text, Cause: err}
}

// notBegun is forPeople of what failed before anything was sent, which it says: whoever reads of an error alone wonders.
func notBegun(err error) error {
	err = forPeople(err)
	if refusal := (*Refusal)(nil); errors.Is(err, ErrService) && errors.As(err, &refusal) {
		said := *refusal
		said.Text = Say(refusal.Text, ". Nothing was done")
		return &said
	}
	return err
}

func serviceWords(err error) string {
	var e *apiclient.Error
	if !errors.As(err, &e) {
		return "no reason given"
	}
	words := e.Message
	for _, field := range slices.Sorted(maps.Keys(e.Fields)) {
		words += fmt.Sprintf(" %s %s", field, e.Fields[field])
	}
	return cmp.Or(strings.TrimSpace(words), "no reason given")
}
