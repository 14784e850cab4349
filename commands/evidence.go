package commands

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// Records are what was kept of attacks, and of the times in which nobody watched them.
type AttackHistory interface {
	// Seen is an attack as the poller last decided about it; ok tells whether that is known.
	LastObservation(ctx context.Context, account, attack string) (seen record.Observation, ok bool, err error)
	// Evidence is what is kept of an attack that was told, for 30 days after it changed last; ok tells whether anything is.
	Evidence(ctx context.Context, account, attack string) (e record.Evidence, ok bool, err error)
	// Blinds are the spells that ended since then, of the last 30 days, the oldest first, and the one that goes on.
	Outages(ctx context.Context, account string, since time.Time) ([]record.Outage, error)
}

// seen is what the call's attack looked like when wafbot last saw it, to be kept with a change; nil if that isn't known, which keeps nobody
// from changing something.
func (r *Runner) observed(ctx context.Context, c *call.Call) *record.Observation {
	if c.Attack == nil {
		return nil
	}
	s, ok, err := r.cfg.History.LastObservation(ctx, c.Account.Name, c.Attack.ID)
	switch {
	case err != nil:
		r.cfg.Log.Warn("read attack for a change", "account", c.Account.Name, "attack", c.Attack.ID, "err", err)
		return nil
	case ok:
		return &s
	case c.Attack.Attack.ID == "":
		return nil
	}
	return &record.Observation{At: c.Now, Attack: c.Attack.Brief()} // nobody remembers it: the service has just listed it
}
