package commands

import (
	"context"

	"github.com/wafbot/wafbot/internal/record"
)

// Saves is what a command wants written to the store. The Runner writes it, under the account's lock.
type Saves struct {
	Triage    map[string]record.Triage // by attack
	Mutes     *MutesSave
	Protected *ProtectedSave
	Drill     *record.Drill
	OwnCards  []string       // ids of grouped attacks that get a card of their own
	Events    []record.Event // stored in one step with Triage or Drill
}

// MutesSave takes the place of all the account's mutes.
type MutesSave struct {
	All   []record.Mute
	Stale []string // attacks whose cards the mutes are or were about
}

// ProtectedSave takes the place of all that is protected.
type ProtectedSave struct {
	All   []record.Protected
	Stale []string // attacks whose cards come from there
}

// saveAll writes what a command wants written, one after another. The first error ends it.
func (r *Runner) saveAll(ctx context.Context, c *Call, s Saves) error {
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
