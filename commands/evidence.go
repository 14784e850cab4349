package commands

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Sight is what an attack looked like when it was read.
type Sight struct {
	At     time.Time        `json:"at"` // on the service's clock
	Attack apiclient.Attack `json:"attack"`
}

// Peak is the reading before which hits came faster than ever between two readings.
type Peak struct {
	Sight
	Since     time.Time `json:"since"`      // of the reading before
	PerMinute int64     `json:"per_minute"` // hits
}

// Turn is a piece of news about an attack that was more than its figures.
type Turn struct {
	At     time.Time        `json:"at"`
	What   string           `json:"what"` // one of the turns below
	Hits   apiclient.Figure `json:"hits"`
	Status apiclient.Status `json:"status"`
}

// The turns of an attack, as Turn.What has them.
const (
	turnNewIncident    = "new incident"
	turnNewAttack      = "new attack"
	turnBecameIncident = "became incident"
	turnWorsened       = "worsened"
	turnQuiet          = "quiet"
	turnResumed        = "resumed"
)

// Evidence is what an attack looked like, kept when it was seen: the service's record goes on changing.
type Evidence struct {
	First   Sight  `json:"first"`             // when wafbot saw it first
	Late    bool   `json:"late,omitempty"`    // nothing was known any more of the first sight: First is a later one
	Peak    *Peak  `json:"peak,omitempty"`    // nil: it was not read twice
	Course  []Turn `json:"course,omitempty"`  // the oldest first
	Dropped int    `json:"dropped,omitempty"` // turns left out of the middle
}

// Spell is a time in which an account could not be watched.
type Spell struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"` // zero: it goes on
	Why   string    `json:"why,omitempty"`  // for people; "": wafbot was not running, as far as is known
}

// Records are what was kept of attacks, and of the times in which nobody watched them.
type Records interface {
	// Seen is an attack as the poller last decided about it; ok tells whether that is known.
	Seen(ctx context.Context, account, attack string) (seen Sight, ok bool, err error)
	// Evidence is what is kept of an attack that was told, for 30 days after it changed last; ok tells whether anything is.
	Evidence(ctx context.Context, account, attack string) (e Evidence, ok bool, err error)
	// Blinds are the spells that ended since then, of the last 30 days, the oldest first, and the one that goes on.
	Blinds(ctx context.Context, account string, since time.Time) ([]Spell, error)
}

// seen is what the call's attack looked like when wafbot last saw it, to be kept with a change; nil if that isn't known, which keeps nobody
// from changing something.
func (r *Runner) seen(ctx context.Context, c *Call) *Sight {
	if c.Attack == nil {
		return nil
	}
	s, ok, err := r.cfg.Records.Seen(ctx, c.Account.Name, c.Attack.ID)
	switch {
	case err != nil:
		r.cfg.Log.Warn("read attack for a change", "account", c.Account.Name, "attack", c.Attack.ID, "err", err)
		return nil
	case ok:
		return &s
	case c.Attack.Attack.ID == "":
		return nil
	}
	return &Sight{c.Now, c.Attack.Brief()} // nobody remembers it: the service has just listed it
}
