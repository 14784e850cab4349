package commands

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
)

// Ties remembers each account's last spell.
type PermissionLosses interface {
	// Tied is the account's last spell; zero when there was none.
	PermissionLoss(ctx context.Context, account string) (record.PermissionLoss, error)
}

// tie writes down that the service refuses the change because of wafbot's token, so that the account's people are told what is not done. Further
// refusals belong to the same spell.
func (r *Runner) noteRefused(ctx context.Context, c *job, fault error, what record.RefusedChange) {
	if !change.PermissionRefused(fault) || r.cfg.Policy.Changes != policy.ChangesOn {
		return
	}
	t, err := r.cfg.Permissions.PermissionLoss(ctx, c.Account.Name)
	if err != nil {
		r.cfg.Log.Error("write down a refused change", "account", c.Account.Name, "err", err)
		return
	}
	if !t.GoesOn() {
		t = record.PermissionLoss{Account: c.Account.Name, Since: c.Now}
	}
	lacks := change.NeededPermissions(what.Steps)
	e, _ := change.AsAPIError(fault)
	if e.Kind == apiclient.Unauthenticated || len(lacks) == 0 {
		lacks = []record.Permission{record.PermissionAll}
	}
	lacks = slices.DeleteFunc(lacks, t.LacksPermission)
	i := slices.IndexFunc(t.Refused, func(was record.RefusedChange) bool { return was.Line.String() == what.Line.String() })
	switch {
	case i >= 0 && what.By.Via == record.ViaClock && len(lacks) == 0:
		return // it is tried each minute
	case i >= 0:
		t.Refused[i] = what
	case len(t.Refused) < change.MaxRefused:
		t.Refused = append(t.Refused, what)
	default:
		t.More++
	}
	t.Lacks, t.Status = append(t.Lacks, lacks...), e.Status
	r.savePermissionLoss(ctx, c, t)
}

// untie ends the spell, or a part of it, when the service has taken a change.
func (r *Runner) noteGranted(ctx context.Context, c *job, ch record.Change) {
	if len(ch.Steps) == 0 {
		return
	}
	t, err := r.cfg.Permissions.PermissionLoss(ctx, ch.Account)
	if err != nil {
		r.cfg.Log.Error("look whether changes were refused", "account", ch.Account, "err", err)
		return
	}
	granted := append(change.NeededPermissions(ch.Steps), record.PermissionAll)
	left := slices.DeleteFunc(slices.Clone(t.Lacks), func(p record.Permission) bool { return slices.Contains(granted, p) })
	if !t.GoesOn() || len(left) == len(t.Lacks) {
		return
	}
	t.Lacks = left
	t.Refused = slices.DeleteFunc(t.Refused, func(was record.RefusedChange) bool { return call.Effect(was.Line) == ch.Effect })
	if len(left) == 0 {
		t.Until = r.cfg.Now()
	}
	r.savePermissionLoss(ctx, c, t)
}

// saveTied outlives the request, as what was refused or done must be told.
func (r *Runner) savePermissionLoss(ctx context.Context, c *job, t record.PermissionLoss) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	t.Revision++
	event := permissionEvent(t, c.Account.Channel)
	if err := c.lock.SavePermissionLoss(ctx, t, event); err != nil {
		r.cfg.Log.Error("write down a refused change", "account", t.Account, "err", err)
		return
	}
	r.cfg.Notifier.Notify(t.Account, []record.Event{event})
}

// tiePlan is tie for a change that could not even be planned, because the service lets wafbot read nothing: what it would have sent is what
// there is to do if nothing stands there yet.
func (r *Runner) noteUnplanned(ctx context.Context, c *job, fault error) {
	if !change.PermissionRefused(fault) {
		return
	}
	for _, what := range r.refusedChanges(c) {
		what.By, what.At = c.Actor, c.Now
		r.noteRefused(ctx, c, fault, what)
	}
}

func (r *Runner) refusedChanges(c *job) []record.RefusedChange {
	if c.Cmd.Name == "undo" {
		ch, err := change.ByLine(c.Call, c.Changes)
		if err != nil {
			return nil
		}
		return []record.RefusedChange{change.RefusedUndo(c.Call, ch.ID)}
	}
	blind := *c.Call
	blind.Loaded = call.NewFacts()
	blind.Loaded.Empty = true // what is planned then is what there is to do if nothing stands there yet
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
