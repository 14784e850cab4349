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
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Plan is one change as it would be made, from a look at the service just now.
type Plan struct {
	Line     record.Line   // canonical, of this change alone
	Does     string        // "Deny 203.0.113.7 everywhere for 4 h"
	When     string        // "in about 1 min"
	Steps    []record.Step // none: Nothing says why, or only wafbot's own memory changes
	Until    time.Time
	Nothing  text.Text   // why there is nothing to do
	Role     record.Role // the least role, where only a look tells
	Warnings []refusal.Warning
	Notes    []text.Text // what else the person should know afterwards
	Undoes   string      // the change that this one takes back
	Extends  string      // the change whose end this one moves
	Renews   time.Time   // to when wafbot prolongs it while it knocks; zero: it doesn't
	Part     string      // what tells it from the others of its line, where their number isn't the command's own; "": its place
	// Later makes the plan itself when its turn comes, because what is done before decides about it; nil: this is it.
	Later func(c *Call) (Plan, error)
}

func (p Plan) effect() string { return effect(p.Line) }

// effect is what makes two requests the same: the line without why and what for.
func effect(l record.Line) string { return l.With("reason", "").With("attack", "").String() }

// run carries out the plans one after another, each as a change of its own.
func (r *Runner) run(ctx context.Context, c *job, plans []Plan) (Result, error) {
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
func (r *Runner) runOne(ctx context.Context, c *job, id string, p Plan, res *Result) error {
	if i := slices.IndexFunc(c.Known, func(ch record.Change) bool { return ch.ID == id }); i >= 0 {
		return r.goOn(ctx, c, c.Known[i], res)
	}
	if i := slices.IndexFunc(c.Known, func(ch record.Change) bool { return c.sameNow(ch, p) }); i >= 0 {
		if c.Known[i].State == record.StateBegun {
			return r.goOn(ctx, c, c.Known[i], res)
		}
		p.Nothing = changeDoneAlready(c.Known[i], p)
		p.Steps = nil
	}
	if len(p.Nothing) > 0 {
		res.Lines = append(res.Lines, text.New(p.Nothing, ". Nothing was sent"))
		r.recordPlan(ctx, c.Call, p, "nothing", p.Nothing.String())
		return r.closeUndone(ctx, c, p.Undoes)
	}
	ch := r.newChange(c, id, p)
	ch.Seen = r.seen(ctx, c.Call)
	if r.cfg.Policy.Changes != ChangesOn {
		res.Outcome = "rehearsed"
		res.Lines = append(res.Lines, rehearsal(ch, p)...)
		r.recordPlan(ctx, c.Call, p, "rehearsed", "")
		return nil
	}
	return r.finish(ctx, c, ch, p, res)
}

// listedWithin is how long a change may take to show in the service's listings.
const listedWithin = time.Minute

// sameNow reports whether a change has the plan's effect: it is in hand, or it is in force, and asked again would only last longer, or it was made
// so lately that the service's listing may not show it yet. The clock asks for nothing twice: when it prolongs by as much again, it is to last longer.
func (c *Call) sameNow(ch record.Change, p Plan) bool {
	age := c.Now.Sub(ch.At)
	switch {
	case ch.Effect != p.effect():
		return false
	case ch.State == record.StateBegun:
		return age <= stale
	}
	return ch.State == record.StateDone && c.Actor.Via != record.ViaClock && ch.InForce(c.Now) && (age < listedWithin || p.onlyProlongs(ch)) && !changeSuperseded(ch, c.Known)
}

// onlyProlongs reports whether all that the plan does is to put entries of the change in their own place, with a later end.
func (p Plan) onlyProlongs(ch record.Change) bool {
	return len(p.Steps) > 0 && !slices.ContainsFunc(p.Steps, func(s record.Step) bool {
		return s.Kind != record.AddEntry || len(s.Before) == 0 || slices.ContainsFunc(s.Before, func(e apiclient.IPRule) bool { return !namedBy(e, ch) })
	})
}

// doneAlready says by whom the change was made, and how it lasts longer where that is what asking again would bring.
func changeDoneAlready(c record.Change, p Plan) text.Text {
	words := text.New(c.Does, ": done already by ", c.Actor.Name, " at ", c.At, " (", text.Code(c.ID), ")")
	if p.onlyProlongs(c) && !c.Until.IsZero() {
		words = text.New(words, ", until ", c.Until, "; ", text.Code("extend "+c.ID+" for=…"), " extends it")
	}
	return words
}

// goOn finishes a change that was begun, by this delivery or another with the same effect.
func (r *Runner) goOn(ctx context.Context, c *job, ch record.Change, res *Result) error {
	switch ch.State {
	case record.StateBegun:
		return r.finish(ctx, c, ch, Plan{}, res)
	case record.StateFailed, record.StateHalf:
		return notDone(ch, nil)
	case record.StateUndone:
		return takenBack(ch)
	}
	res.add(ch)
	return nil
}

// closeUndone ends the change that an undo found nothing left of.
func (r *Runner) closeUndone(ctx context.Context, c *job, id string) error {
	if id == "" || r.cfg.Policy.Changes != ChangesOn {
		return nil
	}
	all := c.amended(record.Change{Undoes: id, Actor: c.Actor, At: c.Now})
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
func (res *Result) add(ch record.Change) {
	res.Outcome = "done"
	res.Changes = append(res.Changes, ch)
	line := text.New(text.Bold(ch.Does), ": ", changeAccepted(ch))
	if ch.Undoes == "" {
		line = text.New(line, ". ", text.Code(cmp.Or(ch.Extends, ch.ID)), ", by ", changeBy(ch))
		if !ch.Until.IsZero() {
			line = text.New(line, ", until ", ch.Until, changeRenewal(ch))
		}
	}
	res.Lines = append(res.Lines, line)
}

// newChange is the plan as it will be written down.
func (r *Runner) newChange(c *job, id string, p Plan) record.Change {
	ch := record.Change{
		ID: id, Account: c.Account.Name, Line: p.Line, Effect: p.effect(), Does: p.Does, When: p.When, Actor: c.Actor, Reason: c.Line.Keys["reason"],
		At: r.cfg.Now(), Until: p.Until, State: record.StateBegun, Steps: p.Steps, Role: max(c.Cmd.Role, p.Role), Undoes: p.Undoes, Extends: p.Extends,
		Renew: p.Renews,
	}
	if c.Attack != nil {
		ch.AttackID = c.Attack.ID
	}
	if q := c.granted; q != nil {
		ch.Request, ch.Alone = q.ID, q.State == record.RequestAlone
		if ch.Alone {
			ch.Renew = time.Time{} // it is for a short time
		} else {
			ch.Approved = q.Decided
		}
	}
	for i := range ch.Steps {
		switch s := &ch.Steps[i]; {
		case s.Kind == record.AddEntry && s.Entry.Reason == "":
			s.Entry.Reason = entryReason(ch)
		case s.Kind == record.CreateRule && s.Rule.Type == apiclient.RuleRegex && ch.Undoes == "": // no other kind of rule takes a comment
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
func entryReason(ch record.Change) string {
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
func rehearsal(ch record.Change, p Plan) []text.Text {
	lines := []text.Text{text.New("Dry run: ", text.Bold(p.Does), " would be sent; nothing was. It would work ", p.When)}
	if len(ch.Steps) == 0 {
		lines = []text.Text{text.New("Dry run: ", text.Bold(p.Does), " would be written down, with nothing to send; it was not")}
	}
	for _, s := range ch.Steps {
		lines = append(lines, text.New("• ", text.Code(stepDescribe(s))))
	}
	return append(lines, p.Notes...)
}

// half is the error for plans of which not all were done: what was done is said beside what was not.
func half(plans []Plan, res Result, failed []error) error {
	if len(plans) == 1 {
		return failed[0]
	}
	var words text.Text
	for _, l := range res.Lines {
		words = text.New(words, l, ".\n")
	}
	for _, err := range failed {
		var refusal *refusal.Refusal
		if !errors.As(err, &refusal) {
			return errors.Join(failed...)
		}
		words = text.New(words, refusal.Text, ".\n")
	}
	if len(failed) < len(plans) {
		words = text.New(text.Bold("Half done. "), words)
	}
	return &refusal.Refusal{Kind: refusal.ErrService, Text: words, Cause: errors.Join(failed...)}
}

// forPeople turns an error of the service into words; a refusal stays as it is.
func forPeople(err error) error {
	var refused *refusal.Refusal
	if errors.As(err, &refused) {
		return err
	}
	var words text.Text
	switch apiclient.KindOf(err) {
	case apiclient.Unauthenticated:
		words = text.New("the service doesn't accept wafbot's token any more: who manages it must renew it")
	case apiclient.Forbidden:
		words = text.New("the service doesn't allow this to wafbot's token: it lacks the permission, which an admin of the service can give it")
	case apiclient.Invalid:
		words = text.New("the service refused it as invalid: ", serviceWords(err))
	case apiclient.Exists:
		words = text.New("the service has an entry like that already, made meanwhile or in another form: look with ", text.Code("lists"))
	case apiclient.NotFound:
		words = text.New("the service doesn't find it: somebody else may have removed it")
	case apiclient.Locked:
		words = text.New("the service has locked its rules just now: try again in some minutes")
	case apiclient.RateLimited:
		words = text.New("the service takes no more requests just now: try again in a minute")
	case apiclient.Server:
		words = text.New("the service answered with an error of its own: try again, or use its console")
	case apiclient.Network:
		words = text.New("the service can't be reached: try again, or use its console")
	default:
		return err
	}
	return &refusal.Refusal{Kind: refusal.ErrService, Text: words, Cause: err}
}

// notBegun is forPeople of what failed before anything was sent, which it says: whoever reads of an error alone wonders.
func notBegun(err error) error {
	err = forPeople(err)
	if refused := (*refusal.Refusal)(nil); errors.Is(err, refusal.ErrService) && errors.As(err, &refused) {
		said := *refused
		said.Text = text.New(refused.Text, ". Nothing was done")
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
