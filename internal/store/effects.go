package store

import (
	"context"

	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
)

// Effects are what was seen of an account's changes, by their ids.
func (s *Store) Effects(ctx context.Context, account string) (map[string]record.Efficacy, error) {
	return values[record.Efficacy](s.rdb.HGetAll(ctx, keyEffects(account)), account, "effect")
}

// SaveEffects keeps what was seen of changes for as long as they are kept, marks the cards of their attacks as stale, and puts events into the
// outbox, all in one step. It fails when another replica owns the account by now.
func (s *Store) SaveEffects(ctx context.Context, account string, all []efficacy.Judged, events ...record.Event) error {
	var b batch
	for _, j := range all {
		if err := b.json("HSET", keyEffects(account), j.Change.ID, j.Effect); err != nil {
			return err
		}
		if j.Change.AttackID != "" {
			b.outdated(account, j.Change.AttackID, j.Urgency())
		}
	}
	if err := b.announce(events...); err != nil {
		return err
	}
	return s.tended(ctx, account, &b, "save effects of "+account)
}
