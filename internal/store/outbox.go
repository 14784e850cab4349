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
func (b *batch) announce(events []record.Event) {
	for _, n := range events {
		b.needed = true
		b.do("HSET", keyOutbox, n.ID, b.json(n))
	}
}

// Waiting are the events that people have yet to be notified of, in no order.
func (s *Outbox) Waiting(ctx context.Context, account string) ([]record.Event, error) {
	all, err := hash[record.Event](ctx, s.client, keyOutbox, account)
	return slices.Collect(maps.Values(all)), err
}

// Announce puts an event into the outbox that no poll found.
func (s *Outbox) Announce(ctx context.Context, n record.Event) error {
	b := s.batch(n.Account)
	b.announce([]record.Event{n})
	return b.save(ctx)
}

// How long the time of the first attempt to post is stored, which is longer than attempts go on; and how long a
// message's place, which is longer than a replica is paused between two requests.
const (
	attemptFor  = 7 * 24 * time.Hour
	notifiedFor = time.Hour
)

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

// Notified takes an event off the outbox, and records the place of its message, if it has one of its own; card reports
// that the message is its attack's card from now on. double reports that another place is recorded, or that the card
// that it replaces isn't the attack's any more: the caller must delete this message.
func (s *Outbox) Notified(ctx context.Context, n record.Event, channel, ts string, card bool) (double bool, err error) {
	attack, place := "", channel+" "+ts
	at := record.Place{Channel: channel, TS: ts}
	if card {
		attack = record.AttackID(n.Account, n.Subject)
	}
	if n.ID != record.CardDelivery(n.Account, n.Subject) {
		at.Delivery = n.ID
	}
	keys := []string{
		s.key(keyOutbox, n.Account), s.key(keyAttempt, n.Account, n.ID), s.key(keyCards, n.Account),
		s.key(keyCardAt, n.Account, channel, ts), s.key(keyRedraw, n.Account),
		s.key(keyAttempt, n.Account, record.CardDelivery(n.Account, n.Subject)), s.key(keyAttacks, n.Account),
	}
	left := s.newMark(ctx, record.UrgentState)
	if again, stands := record.Reposted(n.ID); again && !stands {
		left = ""
	}
	recorded, err := s.write(ctx, notified, keys, n.ID, place, notifiedFor.Milliseconds(), attack,
		cardAtFor.Milliseconds(), at.String(), n.Said().Former, left).Text()
	if err != nil {
		return false, fmt.Errorf("record notification: %w", err)
	}
	return ts != "" && recorded != place && recorded != noPlace && recorded != "", nil
}

// noPlace stands for an event without a message of its own.
const noPlace = " "
