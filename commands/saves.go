package commands

import (
	"context"

	"github.com/wafbot/wafbot/commands/call"
)

// saveAll writes what a command wants written, one after another. The first error ends it.
func (r *Runner) saveWrites(ctx context.Context, c *job, s call.Saves) error {
	if len(s.Triage) > 0 || s.Drill == nil && len(s.Events) > 0 {
		if err := c.lock.SaveTriage(ctx, s.Triage, s.Events...); err != nil {
			return err
		}
		r.cfg.Notifier.Redraw(c.Account.Name)
	}
	if s.Mutes != nil {
		if err := c.lock.SaveMutes(ctx, s.Mutes.All, s.Mutes.Stale...); err != nil {
			return err
		}
	}
	if s.Protected != nil {
		if err := c.lock.SaveProtected(ctx, s.Protected.All, s.Protected.Stale...); err != nil {
			return err
		}
	}
	if s.Drill != nil {
		if err := c.lock.SaveDrill(ctx, *s.Drill, s.Events...); err != nil {
			return err
		}
	}
	if len(s.OwnCards) > 0 {
		if err := r.cfg.Storms.WantCards(ctx, c.Account.Name, s.OwnCards); err != nil {
			return err
		}
	}
	if len(s.Events) > 0 {
		r.cfg.Notifier.Notify(c.Account.Name, s.Events)
	}
	return nil
}
