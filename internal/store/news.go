package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// Load is what the poller remembers of an account.
func (s *Store) Load(ctx context.Context, account string) (poller.Remembered, error) {
	good, err := s.rdb.Get(ctx, keyGood(account)).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return poller.Remembered{}, fmt.Errorf("load last poll of %s: %w", account, err)
	}
	var r poller.Remembered
	if err == nil {
		r.LastGood = time.UnixMilli(good).UTC()
	}
	if r.Blind, err = s.blind(ctx, account); err != nil {
		return poller.Remembered{}, err
	}
	texts, err := s.rdb.HGetAll(ctx, keyShown(account)).Result()
	if err != nil {
		return poller.Remembered{}, fmt.Errorf("load attacks of %s: %w", account, err)
	}
	r.Shown = make(map[string]poller.Shown, len(texts))
	for id, text := range texts {
		var one poller.Shown
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return poller.Remembered{}, fmt.Errorf("load attack %s: %w", id, err)
		}
		r.Shown[one.Attack.ID] = one
	}
	return r, nil
}

// Remember keeps what a poll found, and the news of it, in one transaction: what is remembered as shown will be told.
func (s *Store) Remember(ctx context.Context, account string, u poller.Update) error {
	shown, err := fields(u.Shown, func(attackid string) string { return commands.AttackID(account, attackid) })
	if err != nil {
		return err
	}
	news := make(map[string]poller.News, len(u.News))
	for _, n := range u.News {
		news[n.ID] = n
	}
	outbox, err := fields(news, func(id string) string { return id })
	if err != nil {
		return err
	}
	_, err = s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		if !u.LastGood.IsZero() {
			p.Set(ctx, keyGood(account), u.LastGood.UnixMilli(), 0)
		}
		if len(shown) > 0 {
			p.HSet(ctx, keyShown(account), shown...)
		}
		if len(outbox) > 0 {
			p.HSet(ctx, keyOutbox(account), outbox...)
		}
		if err := setBlind(ctx, p, account, u.Blind); err != nil {
			return err
		}
		for _, attackid := range u.Forget {
			id := commands.AttackID(account, attackid)
			p.HDel(ctx, keyShown(account), id)
			p.HDel(ctx, keyCards(account), id)
			p.HDel(ctx, keyCases(account), id)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remember poll of %s: %w", account, err)
	}
	return nil
}

// fields are a map's entries as HSet takes them: name, JSON, name, JSON.
func fields[T any](m map[string]T, name func(string) string) ([]any, error) {
	all := make([]any, 0, 2*len(m))
	for key, value := range m {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", key, err)
		}
		all = append(all, name(key), text)
	}
	return all, nil
}

// FindAttacks are the account's remembered attacks whose id begins so, by that id.
func (s *Store) FindAttacks(ctx context.Context, account, prefix string) (map[string]apiclient.Attack, error) {
	found := map[string]apiclient.Attack{}
	scan := s.rdb.HScan(ctx, keyShown(account), 0, literal(prefix)+"*", 1000).Iterator()
	for scan.Next(ctx) {
		id := scan.Val()
		if !scan.Next(ctx) {
			break
		}
		var one poller.Shown
		if err := json.Unmarshal([]byte(scan.Val()), &one); err != nil {
			return nil, fmt.Errorf("read attack %s: %w", id, err)
		}
		found[id] = one.Attack
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("find attacks of %s: %w", account, err)
	}
	return found, nil
}

// literal writes text so that a pattern of Redis matches it as it is.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}

// Untold are the pieces of news that have not been told, in no order.
func (s *Store) Untold(ctx context.Context, account string) ([]poller.News, error) {
	texts, err := s.rdb.HVals(ctx, keyOutbox(account)).Result()
	if err != nil {
		return nil, fmt.Errorf("read outbox of %s: %w", account, err)
	}
	all := make([]poller.News, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			return nil, fmt.Errorf("read news of %s: %w", account, err)
		}
	}
	return all, nil
}

// Announce puts news that no poll found into the outbox.
func (s *Store) Announce(ctx context.Context, n poller.News) error {
	return s.Remember(ctx, n.Account, poller.Update{News: []poller.News{n}})
}

// triedFor is how long an attempt to post is remembered: longer than anybody goes on trying.
const triedFor = 7 * 24 * time.Hour

// Trying writes down that a piece of news is about to be posted, and gives the time of the first attempt; again tells that there was one before,
// so that whoever tries again looks first whether the message is there.
func (s *Store) Trying(ctx context.Context, account, delivery string, now time.Time) (first time.Time, again bool, err error) {
	key := keyTried(account, delivery)
	err = s.rdb.SetArgs(ctx, key, now.UnixMilli(), redis.SetArgs{Mode: "NX", TTL: triedFor}).Err()
	if err == nil {
		return now, false, nil
	}
	if !errors.Is(err, redis.Nil) {
		return now, false, fmt.Errorf("begin telling: %w", err)
	}
	ms, err := s.rdb.Get(ctx, key).Int64()
	if err != nil {
		return now, true, fmt.Errorf("begin telling: %w", err)
	}
	return time.UnixMilli(ms).UTC(), true, nil
}

// Told takes a piece of news off the outbox. With a place it also remembers where the attack's card is.
func (s *Store) Told(ctx context.Context, account string, n poller.News, channel, ts string) error {
	_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HDel(ctx, keyOutbox(account), n.ID)
		p.Del(ctx, keyTried(account, n.ID))
		if ts != "" && n.Attack.ID != "" {
			attack := commands.AttackID(account, n.Attack.ID)
			p.HSet(ctx, keyCards(account), attack, channel+" "+ts)
			p.Set(ctx, keyCardAt(account, channel, ts), attack, cardAtFor)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record telling: %w", err)
	}
	return nil
}

// Card is where an attack's card is; both empty if it has none.
func (s *Store) Card(ctx context.Context, account, attack string) (channel, ts string, err error) {
	place, err := s.rdb.HGet(ctx, keyCards(account), attack).Result()
	if errors.Is(err, redis.Nil) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("find card of %s: %w", attack, err)
	}
	channel, ts, _ = strings.Cut(place, " ")
	return channel, ts, nil
}

// cardAtFor is how long what is written in a card's thread is known to be about its attack.
const cardAtFor = 30 * 24 * time.Hour

// CardAt is the attack whose card a message is; "" if it is none.
func (s *Store) CardAt(ctx context.Context, account, channel, ts string) (attack string, err error) {
	attack, err = s.rdb.Get(ctx, keyCardAt(account, channel, ts)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("find attack of message %s: %w", ts, err)
	}
	return attack, nil
}

// Shown is what is remembered of an attack; ok tells whether anything is.
func (s *Store) Shown(ctx context.Context, account, attack string) (shown poller.Shown, ok bool, err error) {
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

// Outdated marks an attack's card to be drawn again.
func (s *Store) Outdated(ctx context.Context, account, attack string) error {
	// No mark is like an earlier one, so that who drew for an earlier one can't take it away.
	if err := s.rdb.HSet(ctx, keyRedraw(account), attack, rand.Int64()).Err(); err != nil {
		return fmt.Errorf("mark card of %s: %w", attack, err)
	}
	return nil
}

// ToRedraw are the attacks whose cards are outdated, each with the mark to give back to Redrawn.
func (s *Store) ToRedraw(ctx context.Context, account string) (map[string]int64, error) {
	marks, err := s.rdb.HGetAll(ctx, keyRedraw(account)).Result()
	if err != nil {
		return nil, fmt.Errorf("read outdated cards of %s: %w", account, err)
	}
	all := make(map[string]int64, len(marks))
	for attack, text := range marks {
		if all[attack], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, fmt.Errorf("read mark of %s: %w", attack, err)
		}
	}
	return all, nil
}

// redrawn takes a mark away unless the card became outdated again meanwhile.
// KEYS[1] the marks; ARGV[1] the attack, ARGV[2] the mark that was drawn. Result: 1 if it was taken away, else 0.
var redrawn = redis.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])`)

// Redrawn records that a card was drawn from facts read after the mark was.
func (s *Store) Redrawn(ctx context.Context, account, attack string, mark int64) error {
	if err := redrawn.Run(ctx, s.rdb, []string{keyRedraw(account)}, attack, mark).Err(); err != nil {
		return fmt.Errorf("record card of %s: %w", attack, err)
	}
	return nil
}
