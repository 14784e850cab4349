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

// wantedFor is how long cards of gathered attacks are wanted, if nobody watches the account meanwhile.
const wantedFor = time.Hour

// Storms are all of an account, the newest first.
func (s *Store) Storms(ctx context.Context, account string) ([]record.StormSeen, error) {
	found := []record.StormSeen{}
	err := s.scanShown(ctx, account, "s*", func(id string, one record.AttackState) {
		if one.Storm != nil {
			found = append(found, record.StormSeen{
				KnownAttack: record.KnownAttack{ID: id, Attack: one.Attack}, Storm: record.Storm(*one.Storm), SeenAt: one.SeenAt, Quiet: one.Quiet,
			})
		}
	})
	slices.SortFunc(found, func(a, b record.StormSeen) int {
		return cmp.Or(b.Storm.Began.Compare(a.Storm.Began), cmp.Compare(a.ID, b.ID))
	})
	return found, err
}

// Gathered are the attacks that a storm has gathered, the one with the latest hit first.
func (s *Store) Gathered(ctx context.Context, account, storm string) ([]record.GatheredAttack, error) {
	found := []record.GatheredAttack{}
	err := s.scanShown(ctx, account, "a*", func(id string, one record.AttackState) {
		if one.In != "" && record.AttackID(account, one.In) == storm {
			found = append(found, record.GatheredAttack{KnownAttack: record.KnownAttack{ID: id, Attack: one.Attack}, SeenAt: one.SeenAt, Own: one.Own})
		}
	})
	slices.SortFunc(found, func(a, b record.GatheredAttack) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
	})
	return found, err
}

// WantCards has gathered attacks get a card each.
func (s *Store) WantCards(ctx context.Context, account string, attacks []string) error {
	var b batch
	for _, id := range attacks {
		b.do("SADD", keyWanted(account), id)
	}
	b.do("PEXPIRE", keyWanted(account), wantedFor.Milliseconds())
	if _, _, err := s.transact(ctx, condition{}, &b); err != nil {
		return fmt.Errorf("want cards of %s: %w", account, err)
	}
	return nil
}

// Wanted are the gathered attacks that are to get a card each, by their ids as commands.AttackID makes them.
func (s *Store) Wanted(ctx context.Context, account string) (map[string]struct{}, error) {
	ids, err := s.rdb.SMembersMap(ctx, keyWanted(account)).Result()
	if err != nil {
		return nil, fmt.Errorf("read wanted cards of %s: %w", account, err)
	}
	return ids, nil
}

// given notes that an attack has a card, if it was gathered: nobody waits for it any more.
func (b *batch) given(account string, shown record.AttackState) {
	if shown.Own {
		b.do("SREM", keyWanted(account), record.AttackID(account, shown.Attack.ID))
	}
}

// scanShown goes through an account's remembered attacks whose id, as commands.AttackID makes it, fits a pattern of Redis.
func (s *Store) scanShown(ctx context.Context, account, pattern string, take func(id string, one record.AttackState)) error {
	seen := map[string]bool{} // Redis may give one twice
	scan := s.rdb.HScan(ctx, keyShown(account), 0, pattern, 1000).Iterator()
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
