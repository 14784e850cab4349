package commands

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Ties remembers each account's last spell.
type Ties interface {
	// Tied is the account's last spell; zero when there was none.
	Tied(ctx context.Context, account string) (record.PermissionLoss, error)
}

// maxRefused is how many refused changes a spell keeps; the others are counted.
const maxRefused = 5

// powers are what steps need.
func powers(steps []record.Step) (all []record.Permission) {
	for _, s := range steps {
		p := record.PowerRules
		switch {
		case s.Entry != nil:
			p = record.PowerLists
		case s.Rule.Type == apiclient.RuleMode:
			p = record.PowerModes
		}
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// tiesHands reports whether the service refused because of wafbot's token. Of what was perhaps done nothing is known yet.
func tiesHands(fault error) bool {
	kind := apiclient.KindOf(fault)
	return (kind == apiclient.Unauthenticated || kind == apiclient.Forbidden) && !errors.Is(fault, errUnknown)
}

// tie writes down that the service refuses the change because of wafbot's token, so that the account's people are told what is not done. Further
// refusals belong to the same spell.
func (r *Runner) tie(ctx context.Context, c *job, fault error, what record.RefusedChange) {
	if !tiesHands(fault) || r.cfg.Policy.Changes != ChangesOn {
		return
	}
	t, err := r.cfg.Ties.Tied(ctx, c.Account.Name)
	if err != nil {
		r.cfg.Log.Error("write down a refused change", "account", c.Account.Name, "err", err)
		return
	}
	if !t.GoesOn() {
		t = record.PermissionLoss{Account: c.Account.Name, Since: c.Now}
	}
	lacks := powers(what.Steps)
	e, _ := asAPI(fault)
	if e.Kind == apiclient.Unauthenticated || len(lacks) == 0 {
		lacks = []record.Permission{record.PowerAll}
	}
	lacks = slices.DeleteFunc(lacks, t.LacksPermission)
	i := slices.IndexFunc(t.Refused, func(was record.RefusedChange) bool { return was.Line.String() == what.Line.String() })
	switch {
	case i >= 0 && what.By.Via == record.ViaClock && len(lacks) == 0:
		return // it is tried each minute
	case i >= 0:
		t.Refused[i] = what
	case len(t.Refused) < maxRefused:
		t.Refused = append(t.Refused, what)
	default:
		t.More++
	}
	t.Lacks, t.Status = append(t.Lacks, lacks...), e.Status
	r.saveTied(ctx, c, t)
}

// untie ends the spell, or a part of it, when the service has taken a change.
func (r *Runner) untie(ctx context.Context, c *job, ch record.Change) {
	if len(ch.Steps) == 0 {
		return
	}
	t, err := r.cfg.Ties.Tied(ctx, ch.Account)
	if err != nil {
		r.cfg.Log.Error("look whether changes were refused", "account", ch.Account, "err", err)
		return
	}
	granted := append(powers(ch.Steps), record.PowerAll)
	left := slices.DeleteFunc(slices.Clone(t.Lacks), func(p record.Permission) bool { return slices.Contains(granted, p) })
	if !t.GoesOn() || len(left) == len(t.Lacks) {
		return
	}
	t.Lacks = left
	t.Refused = slices.DeleteFunc(t.Refused, func(was record.RefusedChange) bool { return effect(was.Line) == ch.Effect })
	if len(left) == 0 {
		t.Until = r.cfg.Now()
	}
	r.saveTied(ctx, c, t)
}

// saveTied outlives the request, as what was refused or done must be told.
func (r *Runner) saveTied(ctx context.Context, c *job, t record.PermissionLoss) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	t.Revision++
	if err := c.lock.SaveTied(ctx, t); err != nil {
		r.cfg.Log.Error("write down a refused change", "account", t.Account, "err", err)
	}
}

// tiePlan is tie for a change that could not even be planned, because the service lets wafbot read nothing: what it would have sent is what
// there is to do if nothing stands there yet.
func (r *Runner) tiePlan(ctx context.Context, c *job, fault error) {
	if !tiesHands(fault) {
		return
	}
	for _, what := range r.wanted(c) {
		what.By, what.At = c.Actor, c.Now
		r.tie(ctx, c, fault, what)
	}
}

func (r *Runner) wanted(c *job) []record.RefusedChange {
	if c.Cmd.Name == "undo" {
		ch, err := c.changeTyped(c.Known)
		if err != nil {
			return nil
		}
		return []record.RefusedChange{c.refusedUndo(ch.ID)}
	}
	blind := *c.Call
	blind.loaded = newFacts()
	blind.loaded.empty = true // what is planned then is what there is to do if nothing stands there yet
	plans, err := c.Cmd.Plan(&blind)
	if err != nil || len(plans) == 0 {
		return []record.RefusedChange{{Line: c.Line, Does: c.Line.String()}}
	}
	var all []record.RefusedChange
	for _, p := range plans {
		all = append(all, record.RefusedChange{Line: p.Line, Does: p.Does, Steps: r.newChange(c, "", p).Steps})
	}
	return all
}

// refusedUndo is the undo of a change that could not be planned.
func (c *Call) refusedUndo(id string) record.RefusedChange {
	what := record.RefusedChange{Line: record.Line{Name: "undo", Words: []string{id}}, Ends: id, By: c.Actor, At: c.Now}
	if i := slices.IndexFunc(c.Known, func(ch record.Change) bool { return ch.ID == id }); i >= 0 {
		what.Does, what.Steps = undoOf(c.Known[i]), backwards(c.Known[i])
	}
	return what
}

// backwards are the steps that take back what a change did, as far as wafbot knows without a look.
func backwards(ch record.Change) (steps []record.Step) {
	opposite := map[record.StepKind]record.StepKind{record.AddEntry: record.DeleteEntry, record.DeleteEntry: record.AddEntry, record.CreateRule: record.DeleteRule, record.DeleteRule: record.CreateRule}
	for _, s := range slices.Backward(ch.Steps) {
		if !s.Done {
			continue
		}
		back := record.Step{Kind: opposite[s.Kind]}
		if s.Entry != nil {
			entry := *s.Entry
			entry.ID = max(entry.ID, s.ID)
			back.Entry = &entry
		} else {
			rule := *s.Rule
			rule.ID = max(rule.ID, s.ID)
			back.Rule = &rule
		}
		steps = append(steps, back)
	}
	return steps
}
