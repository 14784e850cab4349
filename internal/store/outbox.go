package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// announce puts events into the outbox.
func (b *batch) announce(events ...record.Event) {
	for _, n := range events {
		b.needed = true
		b.do("HSET", b.key(keyOutbox, n.Account), n.ID, b.json(n))
	}
}

// Waiting are the events that people have yet to be notified of, in no order.
func (s *Outbox) Waiting(ctx context.Context, account string) ([]record.Event, error) {
	all, err := values[record.Event](s.client, s.rdb.HGetAll(ctx, s.key(keyOutbox, account)), "outbox of "+account)
	return slices.Collect(maps.Values(all)), err
}

// Announce puts an event into the outbox that no poll found.
func (s *Outbox) Announce(ctx context.Context, n record.Event) error {
	b := s.batch()
	b.announce(n)
	_, err := s.save(ctx, conditions{}, &b, "event of "+n.Account)
	return err
}

// How long the time of the first attempt to post is stored, which is longer than attempts go on; and how long a
// message's place, which is longer than a replica is paused between two requests.
const (
	attemptFor  = 7 * 24 * time.Hour
	notifiedFor = time.Hour
)

// beginNotify stores that a delivery is about to be posted, unless the lease under which it is to be posted is lost.
// KEYS[1] the delivery, KEYS[2] the lease, may be left out; ARGV[1] the time in Unix ms, ARGV[2] how long it is stored
// in ms, ARGV[3] the token that the lease must hold.
// Result: what was stored before, empty if nothing was; nothing, if the lease is lost. DEL deletes nothing, but after
// it a full Redis takes the SET, too.
var beginNotify = newScript(`
if KEYS[2] and redis.call('GET', KEYS[2]) ~= ARGV[3] then return false end
local before = redis.call('GET', KEYS[1])
if before then return before end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ''`)

// BeginNotify stores that a delivery is about to be posted.
// It returns errLeaseLost if this replica's lease predates a Redis flush; otherwise it would repost messages whose
// delivery records were lost.
func (s *Outbox) BeginNotify(ctx context.Context, account, delivery string, now time.Time) (record.Attempt, error) {
	c := s.beginning(account, delivery, now)
	return s.begun(s.write(ctx, beginNotify, c.keys, c.args...), account, now)
}

// beginning is the call of beginNotify for a delivery. A replica that only answers a request doesn't own the account,
// and holds no lease.
func (s *client) beginning(account, delivery string, now time.Time) call {
	c := call{[]string{s.key(keyAttempt, account, delivery)}, []any{now.UnixMilli(), attemptFor.Milliseconds()}}
	if under, err := s.ownerLease(account); err == nil {
		c.keys, c.args = append(c.keys, under.key), append(c.args, under.token)
	}
	return c
}

// begun reads the answer of beginNotify.
func (s *client) begun(answer *redis.Cmd, account string, now time.Time) (record.Attempt, error) {
	before, err := answer.Text()
	if errors.Is(err, redis.Nil) {
		err = leaseLost(s.key(keyLease, account))
	}
	if err != nil {
		return record.Attempt{First: now, Again: true}, fmt.Errorf("begin notification: %w", err)
	}
	if before == "" {
		return record.Attempt{First: now}, nil
	}
	ms, err := strconv.ParseInt(before, 10, 64)
	if err != nil && before != noPlace && record.ReadPlace(before) == (record.Place{}) {
		return record.Attempt{First: now, Again: true}, nil // it can't be read: perhaps it was posted
	}
	if err != nil {
		return record.Attempt{First: now, Again: true, Notified: true, At: record.ReadPlace(before)}, nil //nolint:nilerr // it is a place
	}
	return record.Attempt{First: time.UnixMilli(ms).UTC(), Again: true}, nil
}

// notified records the place of a delivery, unless another is recorded, and takes it off the outbox. A card whose place
// another takes is marked stale, to be redrawn once more as a link to its successor. A card whose attack was dropped
// since is the attack's again. An attack that isn't stored, as its event waited for so long, gets none: nobody would
// delete that.
// KEYS[1] the outbox, KEYS[2] the delivery, KEYS[3] the cards, KEYS[4] the attack of that message, KEYS[5] the redraw
// queue, KEYS[6] the delivery of the attack's first card, which has the place of the last one, KEYS[7] the attacks;
// ARGV[1] the delivery's id, ARGV[2] its place, ARGV[3] how long that is stored in ms, ARGV[4] the attack whose card it
// is, empty if it is none, ARGV[5] how long the attack is stored by place in ms, ARGV[6] the place with what the cards
// hold beside it, ARGV[7] the place of the lost card, whose place alone it may take, empty if it may take any, ARGV[8]
// a mark for the former card, empty if that is gone.
// Result: the place that is recorded; empty if the delivery is unknown, because Redis was emptied.
var notified = newScript(`
local waits = redis.call('HDEL', KEYS[1], ARGV[1])
local before = redis.call('GET', KEYS[2])
local stored = ARGV[4] ~= '' and redis.call('HEXISTS', KEYS[7], ARGV[4]) == 1
if before and (before == ' ' or string.match(before, '^%S+ %S')) then
  if stored and before ~= ' ' then redis.call('HSETNX', KEYS[3], ARGV[4], before) end
  return before
end
if waits == 0 and not before then return '' end
if ARGV[4] ~= '' then
  local was = redis.call('HGET', KEYS[3], ARGV[4])
  was = was and string.match(was, '^%S+ %S+') or ''
  if ARGV[7] ~= '' and was ~= '' and was ~= ARGV[7] then return was end
  if ARGV[8] ~= '' and was ~= '' and was ~= ARGV[2] then redis.call('HSET', KEYS[5], ARGV[4] .. ' ' .. was, ARGV[8]) end
  if stored then redis.call('HSET', KEYS[3], ARGV[4], ARGV[6]) end
  redis.call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5])
  redis.call('SET', KEYS[6], ARGV[2], 'PX', ARGV[3])
end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return ARGV[2]`)

// Notified takes an event off the outbox, and records the place of its message, if it has one of its own; card reports
// that the message is its attack's card from now on. double reports that another place is recorded, or that the card
// that it replaces isn't the attack's any more: the caller must delete this message.
func (s *Outbox) Notified(ctx context.Context, n record.Event, channel, ts string, card bool) (double bool, err error) {
	attackid, attack, place := n.Attack().ID, "", channel+" "+ts
	at := record.Place{Channel: channel, TS: ts}
	if card {
		attack = record.AttackID(n.Account, attackid)
	}
	if n.ID != record.CardDelivery(n.Account, attackid) {
		at.Delivery = n.ID
	}
	keys := []string{
		s.key(keyOutbox, n.Account), s.key(keyAttempt, n.Account, n.ID), s.key(keyCards, n.Account), s.key(keyCardAt, n.Account, channel, ts), s.key(keyRedraw, n.Account),
		s.key(keyAttempt, n.Account, record.CardDelivery(n.Account, attackid)), s.key(keyAttacks, n.Account),
	}
	former, _ := n.Payload.(record.CardReplaced)
	left := s.newMark(ctx, record.UrgentState)
	if again, stands := record.Reposted(n.ID); again && !stands {
		left = ""
	}
	recorded, err := s.write(ctx, notified, keys, n.ID, place, notifiedFor.Milliseconds(), attack, cardAtFor.Milliseconds(), at.String(), former.Former, left).Text()
	if err != nil {
		return false, fmt.Errorf("record notification: %w", err)
	}
	return ts != "" && recorded != place && recorded != noPlace && recorded != "", nil
}

// noPlace stands for an event without a message of its own.
const noPlace = " "
