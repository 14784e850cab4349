package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// linkFor is how long a link counts as taken without being renewed: what a dead replica held is free after it.
const linkFor = 10 * time.Second

// takeLink takes or renews one of the app's links, by Redis' own clock.
// KEYS[1] the links; ARGV[1] the link, ARGV[2] how many may be taken with it, ARGV[3] how long it is taken in ms. Result: 1 if it is taken, else 0.
var takeLink = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[2]) then return 1 end
redis.call('ZREM', KEYS[1], ARGV[1])
return 0`)

// TakeLink takes a link, or keeps it for another ten seconds, if with it at most so many are taken by all replicas together.
// One that is refused is no longer held.
func (s *Links) TakeLink(ctx context.Context, id string, most int) (held bool, err error) {
	n, err := takeLink.Run(ctx, s.rdb, []string{keyLinks}, id, most, linkFor.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("take link: %w", err)
	}
	return n == 1, nil
}

// DropLink gives a link back.
func (s *Links) DropLink(ctx context.Context, id string) error {
	if err := s.rdb.ZRem(ctx, keyLinks, id).Err(); err != nil {
		return fmt.Errorf("drop link: %w", err)
	}
	return nil
}
