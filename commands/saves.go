package commands

import (
	"context"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Saves is what a command wants written to the store. The Runner writes it, under the account's lock.
type Saves struct {
	Triage    []TriageSave
	Mutes     *MutesSave
	Protected *ProtectedSave
	Drill     *record.Drill
	OwnCards  []string  // ids of grouped attacks that get a card of their own
	TakenOver *TakeOver // told once all of Triage is written
}

// TriageSave is the triage of one attack.
type TriageSave struct {
	ID       string // as record.AttackID makes it
	Attack   apiclient.Attack
	Triage   record.Triage
	HandedTo string // the id of the person who was given the attack; "": no one was
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

// save writes what a command wants written, one after another. The first error ends it.
func (r *Runner) saveAll(ctx context.Context, c *job, s Saves) error {
	for _, t := range s.Triage {
		if err := c.lock.SaveCase(ctx, t.ID, t.Triage); err != nil {
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
