package store

import (
	"context"
	"fmt"
	"strings"
)

// CardsOf are the channel and the ts of attacks' cards, by attack; those without one are left out.
func (s *Store) CardsOf(ctx context.Context, account string, attacks []string) (map[string][2]string, error) {
	found, err := s.rdb.HMGet(ctx, keyCards(account), attacks...).Result()
	if err != nil {
		return nil, fmt.Errorf("find cards of %s: %w", account, err)
	}
	places := map[string][2]string{}
	for i, one := range found {
		if place, ok := one.(string); ok {
			channel, ts, _ := strings.Cut(place, " ")
			places[attacks[i]] = [2]string{channel, ts}
		}
	}
	return places, nil
}
