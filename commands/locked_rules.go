package commands

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Scenes remembers the scenes of accounts.
type AccountContexts interface {
	AccountContext(ctx context.Context, account string) (record.AccountContext, error)
}

// noteLocked remembers whether the service has locked its rules, as what became of a change tells.
func (r *Runner) noteRulesLocked(ctx context.Context, c *job, ch record.Change, fault error) {
	rules := slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Rule != nil })
	var at time.Time
	switch {
	case apiclient.KindOf(fault) == apiclient.Locked:
		at = r.cfg.Now()
	case fault != nil || !rules || c.Context.RulesLockedAt.IsZero():
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.lock.SaveLocked(ctx, at); err != nil {
		r.cfg.Log.Warn("write down whether rules are locked", "account", ch.Account, "err", err)
	}
}
