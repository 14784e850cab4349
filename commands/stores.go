package commands

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Cases remembers the cases of attacks, for as long as the attacks are remembered.
type Cases interface {
	// Case is an attack's; the zero Case when nothing was said about it.
	TriageOf(ctx context.Context, account, attack string) (record.Triage, error)
	// Cases are all of an account, by attack.
	AllTriage(ctx context.Context, account string) (map[string]record.Triage, error)
}

// Mutes remembers the mutes of accounts.
type Mutes interface {
	// Mutes are the account's; some may be over.
	Mutes(ctx context.Context, account string) ([]record.Mute, error)
}

// Desk is what people leave for one another beside the service: who does what, and what nobody wants to hear of for a while.
type TriageStore interface {
	Cases
	Mutes
}

// actingClaims makes whoever changed something for an attack its owner, if nobody is. That it can't be written down fails no change.
func (r *Runner) acknowledgeByActing(ctx context.Context, c *job, ch record.Change) {
	if ch.State != record.StateDone || ch.AttackID == "" || ch.Undoes != "" || ch.Actor.Via == record.ViaClock {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	k, err := r.cfg.Triage.TriageOf(ctx, ch.Account, ch.AttackID)
	if err == nil && k.Owner == nil {
		k.Owner = &record.Owner{ID: ch.Actor.ID, Name: ch.Actor.Name, Since: ch.At, By: ch.Actor}
		err = c.lock.SaveTriage(ctx, map[string]record.Triage{ch.AttackID: k})
	}
	if err != nil {
		r.cfg.Log.Error("acknowledge by acting", "account", ch.Account, "attack", ch.AttackID, "err", err)
	}
}

// Drills remembers each account's last drill.
type Drills interface {
	// Drill is the last one, with its card; the zero Drill when there was none lately.
	Drill(ctx context.Context, account string) (record.Drill, error)
	// Serving is how many replicas run that can post and take clicks.
	Serving(ctx context.Context) (int, error)
}
