package commands

import (
	"context"

	"github.com/wafbot/wafbot/commands/call"
)

// save writes what a command wants written, one after another. The first error ends it.
func (r *Runner) saveAll(ctx context.Context, c *job, s call.Saves) error {
	for _, t := range s.Triage {
		if err := c.lock.SaveTriage(ctx, t.ID, t.Triage); err != nil {
			return err
		}
		r.cfg.Touched(ctx, Touch{Account: c.Account.Name, Attack: t.Attack, Delivery: c.ID, HandedTo: t.HandedTo, At: c.Now})
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
		if err := c.lock.SaveDrill(ctx, *s.Drill); err != nil {
			return err
		}
		r.cfg.Drilled(ctx, *s.Drill)
	}
	if len(s.OwnCards) > 0 {
		if err := r.cfg.Storms.WantCards(ctx, c.Account.Name, s.OwnCards); err != nil {
			return err
		}
	}
	if s.TakenOver != nil {
		r.cfg.TookOver(ctx, *s.TakenOver)
	}
	return nil
}
