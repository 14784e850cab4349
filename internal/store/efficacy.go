package store

import (
	"context"

	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
)

// Efficacy is what was seen of an account's changes, by their ids.
func (s *Ledger) Efficacy(ctx context.Context, account string) (map[string]record.Efficacy, error) {
	return values[record.Efficacy](s.rdb.HGetAll(ctx, keyEfficacy(account)), account, "efficacy")
}

// SaveEfficacy stores what was seen of changes for as long as these are stored, marks the cards of their attacks stale, and announces
// events, all in one step. It fails when this replica doesn't own the account any more.
func (s *Ledger) SaveEfficacy(ctx context.Context, account string, all []efficacy.Judgement, events ...record.Event) error {
	var b batch
	for _, j := range all {
		if err := b.json("HSET", keyEfficacy(account), j.Change.ID, j.Efficacy); err != nil {
			return err
		}
		if j.Change.AttackID != "" {
			b.stale(account, j.Change.AttackID, j.Urgency())
		}
	}
	if err := b.announce(events...); err != nil {
		return err
	}
	return s.whileOwner(ctx, account, &b, "save efficacy of "+account)
}
