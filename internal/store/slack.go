package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// takeSlot takes a token from a bucket that fills with time, by Redis' own clock, so that all replicas share it.
// KEYS[1] the bucket; ARGV[1] tokens a second, ARGV[2] the most it holds, ARGV[3] how many must be left. Result: 0 if one was taken, else the
// ms until there is one. After DEL a full Redis takes the HSET, too.
var takeSlot = redis.NewScript(`
local rate, burst, least = tonumber(ARGV[1]), tonumber(ARGV[2]), 1 + ARGV[3]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local b = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(burst, (tonumber(b[1]) or burst) + math.max(0, now - (tonumber(b[2]) or now)) * rate / 1000)
local wait = 0
if tokens >= least then tokens = tokens - 1 else wait = math.ceil((least - tokens) * 1000 / rate) end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst * 1000 / rate) + 1000)
return wait`)

// PostSlot takes the right to post one message to a channel, if so many more are left for others; wait is how long until there is one, 0 if it
// was given.
func (s *Pace) PostSlot(ctx context.Context, channel string, perSecond float64, burst, keep int) (wait time.Duration, err error) {
	return s.slot(ctx, s.key(keyPace, s.workspace+channel), perSecond, burst, keep)
}

// EditSlot takes the right to edit one message in a workspace, if so many more are left for others; wait is how long until there is one, 0 if
// it was given.
func (s *Pace) EditSlot(ctx context.Context, team string, perMinute, keep int) (wait time.Duration, err error) {
	// A fifth of the minute's edits may come at once, so that clicks are answered without a wait; the bucket fills with the rest in a minute, so
	// that in no minute there are more.
	atOnce := max(1, perMinute/5)
	return s.slot(ctx, s.key(keyEdits, s.workspace+team), max(float64(perMinute-atOnce), 0.5)/60, atOnce, keep)
}

func (s *Pace) slot(ctx context.Context, key string, perSecond float64, burst, keep int) (time.Duration, error) {
	burst = max(1, burst)
	ms, err := takeSlot.Run(ctx, s.rdb, []string{key}, perSecond, burst, max(0, min(keep, burst-1))).Int64()
	if err != nil {
		return 0, fmt.Errorf("take slot of %s: %w", key, err)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

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
	n, err := takeLink.Run(ctx, s.rdb, []string{s.key(keyLinks, s.workspace)}, id, most, linkFor.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("take link: %w", err)
	}
	return n == 1, nil
}

// DropLink gives a link back.
func (s *Links) DropLink(ctx context.Context, id string) error {
	if err := s.rdb.ZRem(ctx, s.key(keyLinks, s.workspace), id).Err(); err != nil {
		return fmt.Errorf("drop link: %w", err)
	}
	return nil
}

// peopleFor is how long a mark is stored: longer than what was known before it is used.
const peopleFor = 10 * time.Minute

// PeopleMark is a word that changes when what is known of a user, or of another thing of the workspace, is stale; "" when it didn't change
// lately.
func (s *People) PeopleMark(ctx context.Context, of string) (string, error) {
	return word(s.rdb.Get(ctx, s.key(keyPeople, s.workspace+of)), "mark of "+of)
}

// PeopleChanged changes that word, for all replicas.
func (s *People) PeopleChanged(ctx context.Context, of string) error {
	if err := s.rdb.Set(ctx, s.key(keyPeople, s.workspace+of), rand.Text(), peopleFor).Err(); err != nil {
		return fmt.Errorf("mark %s as changed: %w", of, err)
	}
	return nil
}
