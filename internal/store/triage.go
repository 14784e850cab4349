package store

import (
	"context"
	"slices"

	"github.com/wafbot/wafbot/internal/record"
)

// TriageOf is an attack's triage; zero when there is none.
func (s *Triage) TriageOf(ctx context.Context, account, attack string) (record.Triage, error) {
	return stored[record.Triage](ctx, s.client, keyTriage, account, attack)
}

// AllTriage is the triage of all attacks of an account, by attack.
func (s *Triage) AllTriage(ctx context.Context, account string) (map[string]record.Triage, error) {
	return hash[record.Triage](ctx, s.client, keyTriage, account)
}

// Mutes are an account's; some may be over.
func (s *Triage) Mutes(ctx context.Context, account string) ([]record.Mute, error) {
	return stored[[]record.Mute](ctx, s.client, keyMutes, account)
}

// OwnedMutes are an account's, for the polls of its owner: as the last renewal of its lease found them, or this process
// saved them. Only at first that takes a round trip. Another replica's are a second late.
func (s *Triage) OwnedMutes(ctx context.Context, account string) ([]record.Mute, error) {
	if mutes := s.ownedMutes(account); mutes != nil {
		all, _ := decode[[]record.Mute](s.client, *mutes, s.key(keyMutes, account), "")
		return all, nil
	}
	return s.Mutes(ctx, account)
}

// AccountContext is what guards and cards need to know of an account beside its attacks, in one round trip.
func (s *Triage) AccountContext(ctx context.Context, account string) (c record.AccountContext, err error) {
	q := s.questions(account)
	q.askContext(ctx, &c)
	return c, q.send(ctx)
}

func (q *questions) askContext(ctx context.Context, c *record.AccountContext) {
	ask(q, &c.Protected, keyProtected)
	ask(q, &c.RulesLockedAt, keyLocked)
	ask(q, &c.Sources, keySources)
	ask(q, &c.Mutes, keyMutes)
	damaged := q.redis.HKeys(ctx, q.key(keyDamaged, q.account))
	q.read = append(q.read, func() error {
		c.Damaged = slices.Sorted(slices.Values(damaged.Val()))
		return damaged.Err()
	})
}

// Page is an attack's last page; the zero Page when its pager was never called.
func (s *Triage) Page(ctx context.Context, account, attack string) (record.Page, error) {
	return stored[record.Page](ctx, s.client, keyPages, account, attack)
}

// Pages are all of an account, by attack: of each the last one.
func (s *Triage) Pages(ctx context.Context, account string) (map[string]record.Page, error) {
	return hash[record.Page](ctx, s.client, keyPages, account)
}

// SavePage replaces an attack's last page, marks the attack's card stale, and announces events of it, all in one step.
// It fails when this replica doesn't own the account any more: then nothing may be sent.
func (s *Triage) SavePage(ctx context.Context, account string, p record.Page, events ...record.Event) error {
	b := s.batch(account)
	b.needed = true
	b.do("HSET", keyPages, p.Attack, b.json(p))
	b.stale(ctx, record.UrgentState, p.Attack)
	b.announce(events)
	return b.saveAsOwner(ctx)
}

// DropPage deletes the page of an attack that is deleted.
func (s *Triage) DropPage(ctx context.Context, account, attack string) error {
	b := s.batch(account)
	b.do("HDEL", keyPages, attack)
	return b.saveAsOwner(ctx)
}

// Drill is an account's last drill; the zero Drill when there was none lately.
func (s *Triage) Drill(ctx context.Context, account string) (record.Drill, error) {
	return stored[record.Drill](ctx, s.client, keyDrill, account)
}
