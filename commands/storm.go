package commands

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// StormSeen is a storm as it was last decided about.
type StormSeen struct {
	KnownAttack // put together from those that it gathered
	Storm       record.Storm
	SeenAt      time.Time // when that was, on the service's clock
	Quiet       bool      // its attacks are over
}

// GatheredAttack is an attack that a storm has gathered.
type GatheredAttack struct {
	KnownAttack           // as it was a minute ago, or later
	SeenAt      time.Time // when that was, on the service's clock
	Own         bool      // it has a card of its own by now, or is about to
}

// StormRow is a storm with what people said about it.
type StormRow struct {
	ID      string           `json:"id"`
	Account string           `json:"account"`
	Attack  apiclient.Attack `json:"attack"` // put together from those that it gathered
	Storm   record.Storm     `json:"storm"`
	SeenAt  time.Time        `json:"seen_at"` // on the service's clock
	Case    record.Triage    `json:"case,omitzero"`
	Card    string           `json:"card,omitempty"` // where its card can be opened; "": not known
}

// row is the storm as it is shown.
func (s StormSeen) row(account string, said record.Triage) StormRow {
	return StormRow{ID: s.ID, Account: account, Attack: s.Attack, Storm: s.Storm, SeenAt: s.SeenAt, Case: said}
}

// Storms are what is remembered of attacks that came too fast for a card each.
type Storms interface {
	// Storms are all of an account, until they are forgotten with the attacks that they gathered; the newest first.
	Storms(ctx context.Context, account string) ([]StormSeen, error)
	// Gathered are the attacks that a storm has gathered, the one with the latest hit first; storm is its id as AttackID makes it.
	Grouped(ctx context.Context, account, storm string) ([]GatheredAttack, error)
	// WantCards has gathered attacks get a card each, within a second; their ids are as AttackID makes them. Those that have one are left out.
	WantCards(ctx context.Context, account string, attacks []string) error
}
