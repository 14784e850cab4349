package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// noteRefused stores that the service refuses the change because of wafbot's token, so that people are notified of what
// is not done. Further refusals belong to the same permission loss.
func noteRefused(ctx context.Context, c *job, fault error, what record.RefusedChange) {
	if !change.PermissionRefused(fault) || c.Policy.ChangesNow() != config.ChangesOn {
		return
	}
	e, _ := errors.AsType[*apiclient.Error](fault)
	savePermissionLoss(ctx, c, func(t *record.PermissionLoss) (changed bool) {
		if !t.GoesOn() {
			*t = record.PermissionLoss{Account: c.Account.Name, Since: c.Now}
		}
		lacks := change.NeededPermissions(what.Steps)
		if e.Kind == apiclient.Unauthenticated || len(lacks) == 0 {
			lacks = []record.Permission{record.PermissionAll}
		}
		lacks = slices.DeleteFunc(lacks, t.LacksPermission)
		i := slices.IndexFunc(t.Refused, func(was record.RefusedChange) bool { return was.Line.String() == what.Line.String() })
		switch {
		case i >= 0 && what.By.Via == record.ViaClock && len(lacks) == 0:
			return false // it is tried each minute
		case i >= 0:
			t.Refused = slices.Replace(slices.Clone(t.Refused), i, i+1, what)
		case len(t.Refused) < change.MaxRefused:
			t.Refused = append(slices.Clip(t.Refused), what)
		default:
			t.More++
		}
		t.Lacks, t.Status = append(slices.Clip(t.Lacks), lacks...), e.Status
		return true
	})
}

// noteGranted ends the permission loss, or a part of it, when the service has taken a change.
func noteGranted(ctx context.Context, c *job, ch record.Change) {
	if len(ch.Steps) == 0 {
		return
	}
	granted := append(change.NeededPermissions(ch.Steps), record.PermissionAll)
	savePermissionLoss(ctx, c, func(t *record.PermissionLoss) (changed bool) {
		left := slices.DeleteFunc(slices.Clone(t.Lacks), func(p record.Permission) bool { return slices.Contains(granted, p) })
		if !t.GoesOn() || len(left) == len(t.Lacks) {
			return false
		}
		t.Lacks = left
		t.Refused = slices.DeleteFunc(slices.Clone(t.Refused), func(was record.RefusedChange) bool { return call.Effect(was.Line) == ch.Effect })
		if len(left) == 0 {
			t.Until = c.serviceNow()
		}
		return true
	})
}

// savePermissionLoss stores what becomes of the account's permission loss, if anything does. It outlives the request:
// people must be notified.
func savePermissionLoss(ctx context.Context, c *job, becomes func(t *record.PermissionLoss) (changed bool)) {
	c.store(ctx, "write down a permission loss", "", func(ctx context.Context) error {
		t := c.basis.Loss
		if !becomes(&t) {
			return nil
		}
		t.Revision++
		event := c.event(fmt.Sprintf("%s-%d", t.ID(), t.Revision), record.PermissionLost, t.Since,
			record.PermissionChanged{Since: t.Since})
		event.Order = t.Revision
		if _, err := c.draft.Save(ctx, record.Saves{Loss: &t, Events: []record.Event{event}}); err != nil {
			return err
		}
		c.basis.Loss = t
		c.Notifier.Notify(t.Account, []record.Event{event})
		return nil
	})
}

// noteUnplanned is noteRefused for a change that could not even be planned, because the service lets wafbot read
// nothing: what it would have sent is what there is to do if nothing stands there yet.
func noteUnplanned(ctx context.Context, c *job, fault error) {
	if !change.PermissionRefused(fault) {
		return
	}
	if c.Cmd.Name == "undo" {
		if ch, err := change.ByLine(c.Call); err == nil {
			noteRefused(ctx, c, fault, change.RefusedUndo(c.Call, ch.ID))
		}
		return
	}
	empty := *c.Call
	empty.Facts = &call.Facts{}
	call.Ask(&empty.Facts.Entries.Fact, true)
	call.Ask(&empty.Facts.Rules.Fact, true)
	plans, err := c.Cmd.Plan(&empty)
	if err != nil || len(plans) == 0 {
		plans = []call.Plan{{Line: c.Line, Does: c.Line.String()}}
	}
	for _, p := range plans {
		noteRefused(ctx, c, fault, c.newChange("", p).Refused())
	}
}

// noteRulesLocked stores whether the service has locked its rules, as what became of a change shows.
func noteRulesLocked(ctx context.Context, c *job, ch record.Change, fault error) {
	var at time.Time
	switch {
	case apiclient.KindOf(fault) == apiclient.Locked:
		at = c.serviceNow()
	case fault != nil || !change.OfRules(ch.Steps) || c.Context.RulesLockedAt.IsZero():
		return
	}
	c.store(ctx, "write down whether rules are locked", "", func(ctx context.Context) error {
		_, err := c.draft.Save(ctx, record.Saves{Locked: &at})
		return err
	})
}
