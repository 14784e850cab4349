package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// CardsOf are the channel and the ts of attacks' cards, by attack; those without one are left out.
func (s *Cards) CardsOf(ctx context.Context, account string, attacks []string) (map[string][2]string, error) {
	found, err := s.rdb.HMGet(ctx, keyCards(account), attacks...).Result()
	if err != nil {
		return nil, fmt.Errorf("find cards of %s: %w", account, err)
	}
	places := map[string][2]string{}
	for i, one := range found {
		if place, ok := one.(string); ok {
			at := record.ReadPlace(place)
			places[attacks[i]] = [2]string{at.Channel, at.TS}
		}
	}
	return places, nil
}

// Card is where an attack's card is; both empty if it has none.
func (s *Cards) Card(ctx context.Context, account, attack string) (channel, ts string, err error) {
	place, err := s.rdb.HGet(ctx, keyCards(account), attack).Result()
	if errors.Is(err, redis.Nil) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("find card of %s: %w", attack, err)
	}
	at := record.ReadPlace(place)
	return at.Channel, at.TS, nil
}

// cardAtFor is how long a message in a card's thread can be related to the attack.
const cardAtFor = 30 * 24 * time.Hour

// AttackAt is the attack whose card a message is; "" if it is none.
func (s *Cards) AttackAt(ctx context.Context, account, channel, ts string) (attack string, err error) {
	attack, err = s.rdb.Get(ctx, keyCardAt(account, channel, ts)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("find attack of message %s: %w", ts, err)
	}
	return attack, nil
}
