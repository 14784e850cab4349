package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// bucket are functions of scripts: a bucket's tokens, which fill with time by Redis' own clock, so that all replicas
// share it, and the ms of that clock; and how it is kept with other tokens. After DEL a full Redis takes the HSET, and
// what the script writes between, too.
const bucket = `
local function open(key, rate, burst)
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local b = redis.call('HMGET', key, 'tokens', 'at')
  redis.call('DEL', key)
  local tokens, at = tonumber(b[1]), tonumber(b[2])
  if not (tokens and at and tokens >= 0) then return burst, now end -- unreadable, or there is none
  return math.min(burst, tokens + math.max(0, now - at) * rate / 1000), now
end
local function keep(key, rate, burst, tokens, now)
  redis.call('HSET', key, 'tokens', tostring(tokens), 'at', tostring(now))
  redis.call('PEXPIRE', key, math.ceil(burst * 1000 / rate) + 1000)
end`

// takeSlot takes a token from a bucket.
// KEYS[1] the bucket; ARGV[1] tokens a second, ARGV[2] the most it holds, ARGV[3] how many must be left. Result: 0 if
// one was taken, else the ms until there is one.
var takeSlot = newScript(bucket + `
local rate, burst, least = tonumber(ARGV[1]), tonumber(ARGV[2]), 1 + ARGV[3]
local tokens, now = open(KEYS[1], rate, burst)
local wait = 0
if tokens >= least then tokens = tokens - 1 else wait = math.ceil((least - tokens) * 1000 / rate) end
keep(KEYS[1], rate, burst, tokens, now)
return wait`)

// PostSlot takes the right to post one message to a channel, if so many more are left for others; wait is how long
// until there is one, 0 if it was given.
func (s *Pace) PostSlot(ctx context.Context, channel string, perSecond float64, burst, keep int) (wait time.Duration, err error) {
	burst = max(1, burst)
	ms, err := takeSlot.Run(ctx, s.rdb, []string{s.key(keyPace, channel)}, perSecond, burst, kept(keep, burst)).Int64()
	if err != nil {
		return 0, fmt.Errorf("take a post of %s: %w", channel, err)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// takeEdit is takeSlot for edits, which have their turn: who asks and is refused waits, and of those that wait the one
// that is due first gets the next.
// KEYS[1] the bucket, KEYS[2] who waits by when it is due, KEYS[3] the same by when it asks again at the latest, in ms;
// ARGV[1] to ARGV[3] as of takeSlot,
// ARGV[4] who asks, ARGV[5] when it is due, ARGV[6] and ARGV[7] the most ms until it is to ask again, and how late it
// may. Result: 0 if one was taken, else the ms after which to ask again. One that doesn't ask again waits no longer:
// its replica is gone, or its card is.
var takeEdit = newScript(bucket + `
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local tokens, now = open(KEYS[1], rate, burst)
local gone = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now)
gone[#gone + 1] = ARGV[4]
for _, of in ipairs(gone) do
  redis.call('ZREM', KEYS[2], of)
  redis.call('ZREM', KEYS[3], of)
end
local least = 1 + ARGV[3] + redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. ARGV[5])
local wait = 0
if tokens >= least then
  tokens = tokens - 1
else
  wait = math.min(math.ceil((least - tokens) * 1000 / rate), tonumber(ARGV[6]))
  redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4])
  redis.call('ZADD', KEYS[3], now + wait + ARGV[7], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[6] + ARGV[7])
  redis.call('PEXPIRE', KEYS[3], ARGV[6] + ARGV[7])
end
keep(KEYS[1], rate, burst, tokens, now)
return wait`)

// How long who waits for an edit is to ask again, at most, and how late it may: until then others leave it one.
// Meanwhile something more urgent may have come that it would edit, or one that waits before it may be gone.
const (
	editAgain = 5 * time.Second
	editGrace = time.Second
)

// EditSlot takes the right to edit one message, if nothing that waits is due before it, and so many more are left for
// others; wait is how long until it is to be asked for again, 0 if it was given.
func (s *Pace) EditSlot(ctx context.Context, perMinute int, turn record.EditTurn) (wait time.Duration, err error) {
	// A fifth of the minute's edits may come at once, so that clicks are answered without a wait; the bucket fills with
	// the rest in a minute, so that in no minute there are more.
	atOnce := max(1, perMinute/5)
	keys := []string{s.key(keyEdits), s.key(keyEditsDue), s.key(keyEditsNext)}
	ms, err := takeEdit.Run(ctx, s.rdb, keys, max(float64(perMinute-atOnce), 0.5)/60, atOnce, kept(turn.Keep, atOnce), turn.Of, turn.Due.UnixMilli(),
		editAgain.Milliseconds(), editGrace.Milliseconds()).Int64()
	if err != nil {
		return 0, fmt.Errorf("take an edit: %w", err)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// kept is how many of a bucket are left for others: never all.
func kept(keep, burst int) int { return max(0, min(keep, burst-1)) }

// linkFor is how long a link counts as taken without being renewed: what a dead replica held is free after it.
const linkFor = 10 * time.Second

// takeLink takes or renews one of the app's links, by Redis' own clock.
// KEYS[1] the links; ARGV[1] the link, ARGV[2] how many may be taken with it, ARGV[3] how long it is taken in ms.
// Result: 1 if it is taken, else 0.
var takeLink = newScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[2]) then return 1 end
redis.call('ZREM', KEYS[1], ARGV[1])
return 0`)

// TakeLink takes a link, or keeps it for another ten seconds, if with it at most so many are taken by all replicas
// together. One that is refused is no longer held.
func (s *Links) TakeLink(ctx context.Context, id string, most int) (held bool, err error) {
	n, err := takeLink.Run(ctx, s.rdb, []string{s.key(keyLinks)}, id, most, linkFor.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("take link: %w", err)
	}
	return n == 1, nil
}

// DropLink gives a link back.
func (s *Links) DropLink(ctx context.Context, id string) error {
	if err := s.rdb.ZRem(ctx, s.key(keyLinks), id).Err(); err != nil {
		return fmt.Errorf("drop link: %w", err)
	}
	return nil
}

// peopleFor is how long a mark is stored: longer than what was known before it is used.
const peopleFor = 10 * time.Minute

// PeopleMark is a word that changes when what is known of a user, or of another thing of the workspace, is stale; ""
// when it didn't change lately.
func (s *People) PeopleMark(ctx context.Context, of string) (string, error) {
	return word(s.rdb.Get(ctx, s.key(keyPeople, of)), "mark of "+of)
}

// PeopleChanged changes that word, for all replicas.
func (s *People) PeopleChanged(ctx context.Context, of string) error {
	if err := s.rdb.Set(ctx, s.key(keyPeople, of), rand.Text(), peopleFor).Err(); err != nil {
		return fmt.Errorf("mark %s as changed: %w", of, err)
	}
	return nil
}
