package commands

import (
	"context"

	"github.com/wafbot/wafbot/internal/record"
)

// Storms are what is remembered of attacks that came too fast for a card each.
type Storms interface {
	// Storms are all of an account, until they are forgotten with the attacks that they gathered; the newest first.
	Storms(ctx context.Context, account string) ([]record.StormSeen, error)
	// Gathered are the attacks that a storm has gathered, the one with the latest hit first; storm is its id as AttackID makes it.
	Grouped(ctx context.Context, account, storm string) ([]record.GatheredAttack, error)
	// WantCards has gathered attacks get a card each, within a second; their ids are as AttackID makes them. Those that have one are left out.
	WantCards(ctx context.Context, account string, attacks []string) error
}
