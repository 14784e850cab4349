package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/wafbot/wafbot/internal/record"
)

// Storms are all of an account, the newest first.
func (s *Attacks) Storms(ctx context.Context, account string) ([]record.StormSeen, error) {
	found := []record.StormSeen{}
	err := s.scan(ctx, account, "s*", func(id string, one record.AttackState) {
		if one.Storm != nil {
			found = append(found, record.StormSeen{
				KnownAttack: record.KnownAttack{ID: id, Attack: one.Attack}, Storm: *one.Storm, SeenAt: one.ObservedAt, Quiet: one.Quiet,
			})
		}
	})
	slices.SortFunc(found, func(a, b record.StormSeen) int {
		return cmp.Or(b.Storm.Began.Compare(a.Storm.Began), cmp.Compare(a.ID, b.ID))
	})
	return found, err
}

// Grouped are the attacks that a storm groups, the one with the latest hit first.
func (s *Attacks) Grouped(ctx context.Context, account, storm string) ([]record.StormSeen, error) {
	found := []record.StormSeen{}
	err := s.scan(ctx, account, "a*", func(id string, one record.AttackState) {
		if one.StormID != "" && record.AttackID(account, one.StormID) == storm {
			found = append(found, record.StormSeen{KnownAttack: record.KnownAttack{ID: id, Attack: one.Attack}, SeenAt: one.ObservedAt, Own: one.OwnCard})
		}
	})
	slices.SortFunc(found, func(a, b record.StormSeen) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
	})
	return found, err
}

// scan goes through an account's stored attacks whose id, as record.AttackID makes it, matches a Redis pattern.
func (s *Attacks) scan(ctx context.Context, account, pattern string, take func(id string, one record.AttackState)) error {
	seen := map[string]bool{} // Redis may give one twice
	scan := s.rdb.HScan(ctx, s.key(keyAttacks, account), 0, pattern, 1000).Iterator()
	for scan.Next(ctx) {
		id := scan.Val()
		if !scan.Next(ctx) {
			break
		}
		one, ok := decode[record.AttackState](s.client, scan.Val(), s.key(keyAttacks, account), id)
		if ok && !seen[id] {
			seen[id] = true
			take(id, one)
		}
	}
	return wrap(scan.Err(), "find attacks of %s", account)
}
