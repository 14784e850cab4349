package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// Watched is when an account was last watched well, as far as that is remembered, and the spell of not watching that was told and has not ended;
// both zero when there is none.
func (s *Store) Watched(ctx context.Context, account string) (lastGood time.Time, blind record.Outage, err error) {
	if lastGood, err = good(s.rdb.Get(ctx, keyGood(account)), account); err != nil {
		return lastGood, blind, err
	}
	blind, err = s.blind(ctx, account)
	return lastGood, blind, err
}

// good is the last good poll; zero: there was none.
func good(asked *redis.StringCmd, account string) (time.Time, error) {
	ms, err := asked.Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, fmt.Errorf("load last poll of %s: %w", account, err)
	}
	return time.UnixMilli(ms).UTC(), nil
}

// Load is what the poller remembers of an account.
func (s *Store) Load(ctx context.Context, account string) (r poller.Remembered, err error) {
	if r.LastGood, r.Blind, err = s.Watched(ctx, account); err != nil {
		return poller.Remembered{}, err
	}
	if r.Began, err = s.began(ctx, account); err != nil {
		return poller.Remembered{}, err
	}
	texts, err := s.rdb.HGetAll(ctx, keyShown(account)).Result()
	if err != nil {
		return poller.Remembered{}, fmt.Errorf("load attacks of %s: %w", account, err)
	}
	r.Shown = make(map[string]record.AttackState, len(texts))
	for id, text := range texts {
		var one record.AttackState
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return poller.Remembered{}, fmt.Errorf("load attack %s: %w", id, err)
		}
		r.Shown[one.Attack.ID] = one
	}
	return r, nil
}

// atOnce is how many commands a step of Remember has at most: meanwhile Redis does nothing else, and leases are waiting to be renewed.
const atOnce = 500

// Remember keeps what a poll found, and the news of it: what is remembered as shown will be told. That is one step, but for very many attacks,
// of which each is remembered with its news in one step, and the poll as a good one in the last. It fails when another replica tends the account
// by now.
func (s *Store) Remember(ctx context.Context, account string, u poller.Update) error {
	under, err := s.tendedUnder(account)
	if err != nil {
		return fmt.Errorf("remember poll of %s: %w", account, err)
	}
	eventsOf := map[string][]record.Event{} // by attack
	for _, n := range u.Events {
		id := n.Attack().ID
		eventsOf[id] = append(eventsOf[id], n)
	}
	var b batch
	for attackid := range u.About() {
		var err error
		if shown, changed := u.Shown[attackid]; changed {
			err = b.json("HSET", keyShown(account), record.AttackID(account, attackid), shown)
			b.given(account, shown)
		}
		err = errors.Join(err, b.evidence(account, attackid, u), b.announce(eventsOf[attackid]...))
		if delete(eventsOf, attackid); err == nil && b.commands >= atOnce {
			_, err = s.fenced(ctx, under, &b)
			b = batch{}
		}
		if err != nil {
			return fmt.Errorf("remember poll of %s: %w", account, err)
		}
	}
	for _, attackid := range u.Forget {
		id := record.AttackID(account, attackid)
		for _, key := range []string{keyShown(account), keyCards(account), keyCases(account)} {
			b.do("HDEL", key, id)
		}
	}
	if err := errors.Join(b.blind(account, u.Blind), b.absence(account, u.Absence), b.sources(account, u.Seen), b.announce(slices.Concat(slices.Collect(maps.Values(eventsOf))...)...)); err != nil {
		return err
	}
	for _, attackid := range u.Outdated {
		b.outdated(account, record.AttackID(account, attackid), record.UrgentState)
	}
	if !u.LastGood.IsZero() {
		b.do("SET", keyGood(account), u.LastGood.UnixMilli())
	}
	if _, err := s.fenced(ctx, under, &b); err != nil {
		return fmt.Errorf("remember poll of %s: %w", account, err)
	}
	return nil
}

// announce puts news into the outbox.
func (b *batch) announce(news ...record.Event) error {
	for _, n := range news {
		if err := b.json("HSET", keyOutbox(n.Account), n.ID, n); err != nil {
			return err
		}
	}
	return nil
}

// FindAttacks are the account's remembered attacks whose id begins so, by that id.
func (s *Store) FindAttacks(ctx context.Context, account, prefix string) (map[string]apiclient.Attack, error) {
	found := map[string]apiclient.Attack{}
	if err := s.scanShown(ctx, account, literal(prefix)+"*", func(id string, one record.AttackState) { found[id] = one.Attack }); err != nil {
		return nil, err
	}
	return found, nil
}

// literal writes text so that a pattern of Redis matches it as it is.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}

// Untold are the pieces of news that have not been told, in no order.
func (s *Store) Untold(ctx context.Context, account string) ([]record.Event, error) {
	texts, err := s.rdb.HVals(ctx, keyOutbox(account)).Result()
	if err != nil {
		return nil, fmt.Errorf("read outbox of %s: %w", account, err)
	}
	all := make([]record.Event, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			return nil, fmt.Errorf("read news of %s: %w", account, err)
		}
	}
	return all, nil
}

// Announce puts news that no poll found into the outbox.
func (s *Store) Announce(ctx context.Context, n record.Event) error {
	var b batch
	err := b.announce(n)
	if err == nil {
		_, _, err = s.transact(ctx, condition{}, &b)
	}
	if err != nil {
		return fmt.Errorf("announce news of %s: %w", n.Account, err)
	}
	return nil
}

// How long an attempt to post is remembered, longer than anybody goes on trying, and where something was told, longer than anybody who was
// paused meanwhile.
const (
	triedFor = 7 * 24 * time.Hour
	toldFor  = time.Hour
)

// try writes down that a delivery is about to be posted, unless the lease under which it is to be is lost.
// KEYS[1] the delivery, KEYS[2] the lease's key, if there is one; ARGV[1] the time in Unix ms, ARGV[2] how long it is remembered in ms, ARGV[3] what
// the lease's key must hold. Result: what was written down before, empty if nothing was; nothing, if the lease is lost.
var try = redis.NewScript(`
if KEYS[2] and redis.call('GET', KEYS[2]) ~= ARGV[3] then return false end
local before = redis.call('GET', KEYS[1])
if before then return before end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ''`)

// Trying writes down that a piece of news is about to be posted, and gives the time of the first attempt; again tells that there was one before,
// so that whoever tries again looks first whether the message is there; told, that somebody has found it there, or posted it, already. It fails for
// whoever tended the account until Redis was emptied: what he told then is forgotten, and he would tell it again.
func (s *Store) Trying(ctx context.Context, account, delivery string, now time.Time) (first time.Time, again, told bool, err error) {
	keys, args := []string{keyTried(account, delivery)}, []any{now.UnixMilli(), triedFor.Milliseconds()}
	under, err := s.tendedUnder(account)
	if err == nil { // who only answers somebody doesn't tend it
		keys, args = append(keys, under.key), append(args, under.token)
	}
	before, err := s.write(ctx, try, keys, args...).Text()
	if errors.Is(err, redis.Nil) {
		err = leaseLost(under.key)
	}
	if err != nil {
		return now, true, false, fmt.Errorf("begin telling: %w", err)
	}
	if before == "" {
		return now, false, false, nil
	}
	ms, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return now, true, true, nil //nolint:nilerr // it is a place
	}
	return time.UnixMilli(ms).UTC(), true, false, nil
}

// told records where a delivery is, unless somebody was faster, and takes it off the outbox. A card whose place another takes is marked to be
// drawn once more, as what is left of it.
// KEYS[1] the outbox, KEYS[2] the delivery, KEYS[3] the cards, KEYS[4] the attack of that message, KEYS[5] the marks of outdated cards; ARGV[1] the
// delivery's id, ARGV[2] its place, ARGV[3] how long that is remembered in ms, ARGV[4] the attack whose card it is, empty if it is none, ARGV[5] how
// long it is known by its place in ms, ARGV[6] the place with what the cards hold beside it, ARGV[7] the place of the card that is gone, whose place
// alone it may take, empty if it may take any, ARGV[8] a mark, empty if nothing is left of that card.
// Result: the place that is recorded; empty if the delivery is unknown, because Redis was emptied.
var told = redis.NewScript(`
local waits = redis.call('HDEL', KEYS[1], ARGV[1])
local before = redis.call('GET', KEYS[2])
if before and not string.match(before, '^%d+$') then return before end
if waits == 0 and not before then return '' end
if ARGV[4] ~= '' then
  local was = redis.call('HGET', KEYS[3], ARGV[4])
  was = was and string.match(was, '^%S+ %S+') or ''
  if ARGV[7] ~= '' and was ~= '' and was ~= ARGV[7] then return was end
  if ARGV[8] ~= '' and was ~= '' and was ~= ARGV[2] then redis.call('HSET', KEYS[5], ARGV[4] .. ' ' .. was, ARGV[8]) end
  redis.call('HSET', KEYS[3], ARGV[4], ARGV[6])
  redis.call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5])
end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return ARGV[2]`)

// Told takes a piece of news off the outbox, and remembers where its message is, if it has one of its own; card tells that it is its attack's
// card, from now on. double tells that it was recorded at another place before, or that the card that it was posted for isn't the attack's any
// more: this one must be taken back.
func (s *Store) Told(ctx context.Context, n record.Event, channel, ts string, card bool) (double bool, err error) {
	attackid, attack, place := n.Attack().ID, "", channel+" "+ts
	at := record.Place{Channel: channel, TS: ts}
	if card {
		attack = record.AttackID(n.Account, attackid)
	}
	if n.ID != record.CardDelivery(n.Account, attackid) {
		at.Delivery = n.ID
	}
	keys := []string{keyOutbox(n.Account), keyTried(n.Account, n.ID), keyCards(n.Account), keyCardAt(n.Account, channel, ts), keyRedraw(n.Account)}
	former, _ := n.Payload.(record.CardReplaced)
	left := newMark(record.UrgentState)
	if again, stands := record.Reposted(n.ID); again && !stands {
		left = ""
	}
	recorded, err := s.write(ctx, told, keys, n.ID, place, toldFor.Milliseconds(), attack, cardAtFor.Milliseconds(), at.String(), former.Former, left).Text()
	if err != nil {
		return false, fmt.Errorf("record telling: %w", err)
	}
	return ts != "" && recorded != place && recorded != noPlace && recorded != "", nil
}

// noPlace stands for what was told by no message of its own.
const noPlace = " "

// Shown is what is remembered of an attack; ok tells whether anything is.
func (s *Store) Shown(ctx context.Context, account, attack string) (shown record.AttackState, ok bool, err error) {
	text, err := s.rdb.HGet(ctx, keyShown(account), attack).Bytes()
	if errors.Is(err, redis.Nil) {
		return shown, false, nil
	}
	if err != nil {
		return shown, false, fmt.Errorf("read attack %s: %w", attack, err)
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return shown, false, fmt.Errorf("read attack %s: %w", attack, err)
	}
	return shown, true, nil
}
