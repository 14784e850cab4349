package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// wantedFor is how long cards of grouped attacks stay wanted while the account isn't polled.
const wantedFor = time.Hour

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
func (s *Attacks) Grouped(ctx context.Context, account, storm string) ([]record.GroupedAttack, error) {
	found := []record.GroupedAttack{}
	err := s.scan(ctx, account, "a*", func(id string, one record.AttackState) {
		if one.StormID != "" && record.AttackID(account, one.StormID) == storm {
			found = append(found, record.GroupedAttack{KnownAttack: record.KnownAttack{ID: id, Attack: one.Attack}, SeenAt: one.ObservedAt, Own: one.OwnCard})
		}
	})
	slices.SortFunc(found, func(a, b record.GroupedAttack) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
	})
	return found, err
}

// WantCards has grouped attacks get a card each.
func (s *Attacks) WantCards(ctx context.Context, account string, attacks []string) error {
	b := s.batch()
	for _, id := range attacks {
		b.do("SADD", b.key(keyWantedCards, account), id)
	}
	b.do("PEXPIRE", b.key(keyWantedCards, account), wantedFor.Milliseconds())
	defer s.expireFacts(account)
	_, err := s.save(ctx, conditions{}, &b, "wanted cards of "+account)
	return err
}

// WantedCards are the grouped attacks that are to get a card each, by their ids as record.AttackID makes them. The owner of an account asks for them
// when the last renewal of its lease found some.
func (s *Attacks) WantedCards(ctx context.Context, account string) (map[string]struct{}, error) {
	if facts := s.pollFacts(account); facts != nil && facts.wanted == 0 {
		return nil, nil
	}
	ids, err := s.rdb.SMembersMap(ctx, s.key(keyWantedCards, account)).Result()
	if err != nil {
		return nil, fmt.Errorf("read wanted cards of %s: %w", account, err)
	}
	return ids, nil
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
		var one record.AttackState
		if err := json.Unmarshal([]byte(scan.Val()), &one); err != nil {
			return fmt.Errorf("read attack %s: %w", id, err)
		}
		if !seen[id] {
			seen[id] = true
			take(id, one)
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("find attacks of %s: %w", account, err)
	}
	return nil
}
