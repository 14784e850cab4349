package commands

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// saidTied reports whether the notice of tied hands names the change among what is due, whatever else goes wrong meanwhile.
func (r *Runner) inPermissionNotice(ctx context.Context, ch record.Change) bool {
	t, err := r.cfg.Permissions.PermissionLoss(ctx, ch.Account)
	return err == nil && t.GoesOn() && slices.ContainsFunc(change.NeededPermissions(ch.Steps), t.LacksPermission)
}

// notRenewed is what came of trying to prolong a change that knocks. What failed is tried again until its end, and people are
// asked meanwhile, unless only the memory was away for a moment; what was refused will be again.
func (r *Runner) notRenewed(ch record.Change, err error, now time.Time) change.DueDecision {
	ch = r.withinPolicy(ch)
	l, _ := r.decideDue(ch, now)
	if l.Ended || change.CheckAt(ch).IsZero() || now.Before(change.CheckAt(ch)) {
		return l
	}
	l = change.DueDecision{Change: ch, Next: ch.Until}
	needsSecond := errors.Is(err, refusal.ErrNeedsApproval)
	if !needsSecond && !errors.Is(err, refusal.ErrGuarded) && !errors.Is(err, refusal.ErrNothing) {
		l.Next = change.CheckAgainAt(ch, now)
	}
	l.Ask(needsSecond || errors.Is(err, refusal.ErrService))
	return l
}
