package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// LastPoll reads when the last complete poll of an account began, on the service's clock, its outage and its cap.
func (s *Attacks) LastPoll(ctx context.Context, account string) (r record.PollState, err error) {
	q := s.questions()
	q.askPoll(ctx, account, &r.LastGood, &r.Outage)
	ask(q, q.redis.Get(ctx, s.key(keyCap, account)), &r.Cap, "cap of "+account)
	return r, q.send(ctx, "last poll of "+account)
}

func (q *questions) askPoll(ctx context.Context, account string, lastGood *time.Time, outage *record.Outage) {
	q.askTime(q.redis.Get(ctx, q.key(keyLastGood, account)), lastGood, "last poll of "+account)
	ask(q, q.redis.Get(ctx, q.key(keyOutage, account)), outage, "outage of "+account)
}

// Load reads an account's attacks for its poller, some at a time: they may be many.
func (s *Attacks) Load(ctx context.Context, account string) (r record.PollState, err error) {
	q := s.questions()
	q.askPoll(ctx, account, &r.LastGood, &r.Outage)
	q.askTime(q.redis.Get(ctx, s.key(keyFirstStart, account)), &r.FirstStart, "first start of "+account)
	ask(q, q.redis.Get(ctx, s.key(keyCap, account)), &r.Cap, "cap of "+account)
	if err := q.send(ctx, "state of "+account); err != nil {
		return record.PollState{}, err
	}
	r.Attacks = map[string]record.AttackState{}
	err = s.scan(ctx, account, "*", func(_ string, one record.AttackState) {
		r.Attacks[one.Attack.ID] = one
	})
	if err != nil {
		return record.PollState{}, err
	}
	return r, nil
}

// atOnce is how many commands a step of Save has at most: meanwhile Redis does nothing else, and leases wait to be
// renewed.
const atOnce = 500

// Save stores what a poll found, with its events. That is one step, but for very many attacks: each of these is stored
// with its events in one step, and the last step stores that the poll is complete. It fails when this replica doesn't
// own the account any more.
func (s *Attacks) Save(ctx context.Context, account string, u record.PollUpdate) error {
	under, err := s.ownerLease(account)
	if err != nil {
		return fmt.Errorf("save poll of %s: %w", account, err)
	}
	b := s.batch()
	step := func() error {
		_, err := s.save(ctx, under.held(), &b, "poll of "+account)
		b = s.batch()
		return err
	}
	eventsOf := map[string][]record.Event{} // by attack
	for _, n := range u.Events {
		eventsOf[n.Attack().ID] = append(eventsOf[n.Attack().ID], n)
	}
	for _, attackid := range u.AttackIDs() {
		b.attack(account, attackid, u)
		b.announce(eventsOf[attackid]...)
		if delete(eventsOf, attackid); b.commands >= atOnce {
			if err := step(); err != nil {
				return err
			}
		}
	}
	for some := range slices.Chunk(u.Delete, atOnce) {
		if b.deleteAttacks(account, some); len(some) == atOnce {
			if err := step(); err != nil {
				return err
			}
		}
	}
	b.poll(ctx, account, u)
	b.announce(eventsOf[""]...) // in the step that stores what they are of
	return step()
}

// attack adds what an update has of one attack.
func (b *batch) attack(account, attackid string, u record.PollUpdate) {
	id := record.AttackID(account, attackid)
	if shown, changed := u.Attacks[attackid]; changed {
		b.do("HSET", b.key(keyAttacks, account), id, b.json(shown))
	}
	if e, ok := u.Evidence[attackid]; ok {
		b.do("SET", b.key(keyEvidence, account, id), b.json(e), "PX", evidenceFor.Milliseconds(), "NX")
	}
}

// deleteAttacks adds that attacks are deleted, with what people see and said of them, and what was said of others after
// they were deleted: who acts on an attack that isn't stored may still acknowledge it.
func (b *batch) deleteAttacks(account string, attackids []string) {
	ids := make([]any, len(attackids))
	for i, attackid := range attackids {
		id := record.AttackID(account, attackid)
		b.do("PEXPIRE", b.key(keyEvidence, account, id), evidenceFor.Milliseconds())
		ids[i] = id
	}
	for _, key := range []string{b.key(keyAttacks, account), b.key(keyCards, account), b.key(keyRedraw, account)} {
		b.do("HDEL", key, ids...)
	}
	b.do("ORPHANS", b.key(keyTriage, account), b.key(keyAttacks, account))
}

// poll adds what an update has beside attacks and events. nil leaves as it is what is stored.
func (b *batch) poll(ctx context.Context, account string, u record.PollUpdate) {
	if u.Cap != nil {
		b.do("SET", b.key(keyCap, account), b.json(u.Cap))
	}
	if u.Outage != nil && u.Outage.From.IsZero() {
		b.do("DEL", b.key(keyOutage, account))
	} else if u.Outage != nil {
		b.do("SET", b.key(keyOutage, account), b.json(u.Outage))
	}
	if u.Gap != nil { // the same again is one
		key := b.key(keyGaps, account)
		b.do("ZADD", key, u.Gap.Until.UnixMilli(), b.json(u.Gap))
		b.do("ZREMRANGEBYSCORE", key, "-inf", u.Gap.Until.Add(-evidenceFor).UnixMilli())
		b.do("ZREMRANGEBYRANK", key, 0, -maxGaps-1)
		b.do("PEXPIRE", key, evidenceFor.Milliseconds())
	}
	if u.Sources != nil {
		b.do("SET", b.key(keySources, account), b.json(u.Sources))
	}
	for _, attackid := range u.Stale {
		b.stale(ctx, account, record.UrgentState, record.AttackID(account, attackid))
	}
	for _, j := range u.Judged { // for as long as their changes are stored
		b.do("HSET", b.key(keyEfficacy, account), j.Change.ID, b.json(j.Efficacy))
		b.stale(ctx, account, j.Urgency(), j.Change.AttackID)
	}
	if !u.LastGood.IsZero() {
		b.do("SET", b.key(keyLastGood, account), u.LastGood.UnixMilli())
	}
}

// FindAttacks are the account's stored attacks whose id begins so, by that id.
func (s *Attacks) FindAttacks(ctx context.Context, account, prefix string) (map[string]apiclient.Attack, error) {
	found := map[string]apiclient.Attack{}
	err := s.scan(ctx, account, literal(prefix)+"*", func(id string, one record.AttackState) { found[id] = one.Attack })
	return found, err
}

// literal writes text so that a pattern of Redis matches it as it is.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}

// AttackState is the state of an attack; ok reports whether it is stored.
func (s *Attacks) AttackState(ctx context.Context, account, attack string) (shown record.AttackState, ok bool, err error) {
	shown, err = value[record.AttackState](s.client, s.rdb.HGet(ctx, s.key(keyAttacks, account), attack), "attack "+attack)
	return shown, shown.Attack.ID != "", err
}

// StatesOf are the states of those of the attacks that are stored, by their ids.
func (s *Attacks) StatesOf(ctx context.Context, account string, attacks []string) (map[string]record.AttackState, error) {
	states := map[string]record.AttackState{}
	for some := range slices.Chunk(attacks, atOnce) {
		stored, err := s.rdb.HMGet(ctx, s.key(keyAttacks, account), some...).Result()
		if err != nil {
			return nil, fmt.Errorf("read attacks of %s: %w", account, err)
		}
		for i, one := range stored {
			words, ok := one.(string)
			if !ok {
				continue // it isn't stored
			}
			if state, ok := decode[record.AttackState](s.client, words, s.key(keyAttacks, account), some[i]); ok {
				states[some[i]] = state
			}
		}
	}
	return states, nil
}

// KnownAttack is the account's stored attack with that whole id; ok reports whether there is one.
func (s *Attacks) KnownAttack(ctx context.Context, account, id string) (attack apiclient.Attack, ok bool, err error) {
	state, ok, err := s.AttackState(ctx, account, id)
	return state.Attack, ok, err
}
