package store

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// TriageOf is an attack's triage; zero when there is none.
func (s *Triage) TriageOf(ctx context.Context, account, attack string) (record.Triage, error) {
	return value[record.Triage](s.client, s.rdb.HGet(ctx, s.key(keyTriage, account), attack), "triage of "+attack)
}

// AllTriage is the triage of all attacks of an account, by attack.
func (s *Triage) AllTriage(ctx context.Context, account string) (map[string]record.Triage, error) {
	return values[record.Triage](s.client, s.rdb.HGetAll(ctx, s.key(keyTriage, account)), "triage of "+account)
}

// SaveTriage stores what people did about attacks, by their ids, until the attacks are deleted, marks their cards
// stale, and announces events, all in one step.
func (d *Draft) SaveTriage(ctx context.Context, all map[string]record.Triage, events ...record.Event) error {
	b := d.store.batch()
	for attack, triage := range all {
		b.do("HSET", b.key(keyTriage, d.account), attack, b.json(triage))
		b.stale(ctx, d.account, record.UrgentActed, attack)
	}
	b.announce(events...)
	_, err := d.save(ctx, &b, "triage of "+d.account)
	return err
}

// Mutes are an account's; some may be over.
func (s *Triage) Mutes(ctx context.Context, account string) ([]record.Mute, error) {
	return value[[]record.Mute](s.client, s.rdb.Get(ctx, s.key(keyMutes, account)), "mutes of "+account)
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

// SaveMutes replaces all mutes of the account, until the last of them is over, and marks the attacks' cards stale.
func (d *Draft) SaveMutes(ctx context.Context, all []record.Mute, attacks ...string) error {
	b := d.store.batch()
	if len(all) == 0 {
		b.do("DEL", b.key(keyMutes, d.account))
	} else {
		last := slices.MaxFunc(all, func(a, b record.Mute) int { return a.Until.Compare(b.Until) }).Until
		left := last.Sub(d.store.clocks.ServiceNow(d.account)) + time.Second
		b.do("SET", b.key(keyMutes, d.account), b.json(all), "PX", max(left, time.Second).Milliseconds())
	}
	b.stale(ctx, d.account, record.UrgentActed, attacks...)
	defer d.store.expireMutes(d.account)
	_, err := d.save(ctx, &b, "mutes of "+d.account)
	return err
}

// lockedFor is how long the service's rules count as locked, unless a change shows otherwise.
const lockedFor = 5 * time.Minute

// AccountContext is what guards and cards need to know of an account beside its attacks, in one round trip.
func (s *Triage) AccountContext(ctx context.Context, account string) (c record.AccountContext, err error) {
	q := s.questions()
	q.askContext(ctx, account, &c)
	return c, q.send(ctx, "context of "+account)
}

func (q *questions) askContext(ctx context.Context, account string, c *record.AccountContext) {
	ask(q, q.redis.Get(ctx, q.key(keyProtected, account)), &c.Protected, "protected ranges of "+account)
	ask(q, q.redis.Get(ctx, q.key(keyLocked, account)), &c.RulesLockedAt, "lock of "+account)
	ask(q, q.redis.Get(ctx, q.key(keySources, account)), &c.Sources, "sources of "+account)
	ask(q, q.redis.Get(ctx, q.key(keyMutes, account)), &c.Mutes, "mutes of "+account)
	damaged := q.redis.HKeys(ctx, q.key(keyDamaged, account))
	q.read = append(q.read, func() error {
		c.Damaged = slices.Sorted(slices.Values(damaged.Val()))
		return damaged.Err()
	})
}

// SaveProtected replaces all protected ranges of the account, and marks the attacks' cards stale.
func (d *Draft) SaveProtected(ctx context.Context, all []record.Protected, attacks ...string) error {
	b := d.store.batch()
	b.do("SET", b.key(keyProtected, d.account), b.json(all))
	b.do("HDEL", b.key(keyDamaged, d.account), b.key(keyProtected, d.account))
	b.stale(ctx, d.account, record.UrgentActed, attacks...)
	_, err := d.save(ctx, &b, "protected ranges of "+d.account)
	return err
}

// SaveLocked stores for a while when the service said that its rules are locked; zero: they are no longer.
func (d *Draft) SaveLocked(ctx context.Context, at time.Time) error {
	b := d.store.batch()
	if at.IsZero() {
		b.do("DEL", b.key(keyLocked, d.account))
	} else {
		b.do("SET", b.key(keyLocked, d.account), b.json(at), "PX", lockedFor.Milliseconds())
	}
	_, err := d.save(ctx, &b, "lock of "+d.account)
	return err
}

// Page is an attack's last page; the zero Page when its pager was never called.
func (s *Pages) Page(ctx context.Context, account, attack string) (record.Page, error) {
	return value[record.Page](s.client, s.rdb.HGet(ctx, s.key(keyPages, account), attack), "page of "+attack)
}

// Pages are all of an account, by attack: of each the last one.
func (s *Pages) Pages(ctx context.Context, account string) (map[string]record.Page, error) {
	return values[record.Page](s.client, s.rdb.HGetAll(ctx, s.key(keyPages, account)), "pages of "+account)
}

// SavePage replaces an attack's last page, marks the attack's card stale, and announces events of it, all in one step.
// It fails when this replica doesn't own the account any more: then nothing may be sent.
func (s *Pages) SavePage(ctx context.Context, account string, p record.Page, events ...record.Event) error {
	b := s.batch()
	b.needed = true
	b.do("HSET", b.key(keyPages, account), p.Attack, b.json(p))
	b.stale(ctx, account, record.UrgentState, p.Attack)
	b.announce(events...)
	return s.saveAsOwner(ctx, account, &b, "page of "+p.Attack)
}

// DropPage deletes the page of an attack that is deleted.
func (s *Pages) DropPage(ctx context.Context, account, attack string) error {
	b := s.batch()
	b.do("HDEL", b.key(keyPages, account), attack)
	return s.saveAsOwner(ctx, account, &b, "end of page of "+attack)
}
