package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// LastPoll reads when the last complete poll of an account began, on the service's clock, its outage and its cap, and
// when people were notified of its first start.
func (s *Attacks) LastPoll(ctx context.Context, account string) (r record.PollState, err error) {
	q := s.questions(account)
	q.askPoll(&r.LastGood, &r.Outage)
	q.askTime(&r.FirstStart, keyFirstStart)
	ask(q, &r.Cap, keyCap)
	return r, q.send(ctx)
}

func (q *questions) askPoll(lastGood *time.Time, outage *record.Outage) {
	q.askTime(lastGood, keyLastGood)
	ask(q, outage, keyOutage)
}

// Load is LastPoll with an account's attacks for its poller, read some at a time: they may be many.
func (s *Attacks) Load(ctx context.Context, account string) (r record.PollState, err error) {
	if r, err = s.LastPoll(ctx, account); err != nil {
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
	b := s.batch(account)
	step := func() error {
		full := b
		b = s.batch(account)
		return full.saveAsOwner(ctx)
	}
	eventsOf := map[string][]record.Event{} // by attack
	for _, n := range u.Events {
		eventsOf[n.Subject] = append(eventsOf[n.Subject], n)
	}
	for _, attackid := range u.AttackIDs() {
		b.attack(attackid, u)
		b.announce(eventsOf[attackid])
		if delete(eventsOf, attackid); b.commands >= atOnce {
			if err := step(); err != nil {
				return err
			}
		}
	}
	for some := range slices.Chunk(u.Delete, atOnce) {
		if b.deleteAttacks(some); len(some) == atOnce {
			if err := step(); err != nil {
				return err
			}
		}
	}
	b.poll(ctx, u)
	b.announce(eventsOf[""]) // in the step that stores what they are of
	return step()
}

// attack adds what an update has of one attack.
func (b *batch) attack(attackid string, u record.PollUpdate) {
	id := record.AttackID(b.account, attackid)
	if shown, changed := u.Attacks[attackid]; changed {
		b.do("HSET", keyAttacks, id, b.json(shown))
	}
	if e, ok := u.Evidence[attackid]; ok {
		b.doAt("SET", b.key(keyEvidence, b.account, id), b.json(e), "PX", evidenceFor.Milliseconds(), "NX")
	}
}

// deleteAttacks adds that attacks are deleted, with what people see and said of them, and what was said of others after
// they were deleted: who acts on an attack that isn't stored may still acknowledge it.
func (b *batch) deleteAttacks(attackids []string) {
	ids := make([]any, len(attackids))
	for i, attackid := range attackids {
		id := record.AttackID(b.account, attackid)
		b.doAt("PEXPIRE", b.key(keyEvidence, b.account, id), evidenceFor.Milliseconds())
		ids[i] = id
	}
	for _, pattern := range []string{keyAttacks, keyCards, keyRedraw} {
		b.do("HDEL", pattern, ids...)
	}
	b.do("ORPHANS", keyTriage, b.key(keyAttacks, b.account))
}

// poll adds what an update has beside attacks and events. nil leaves as it is what is stored.
func (b *batch) poll(ctx context.Context, u record.PollUpdate) {
	if u.Cap != nil {
		b.do("SET", keyCap, b.json(u.Cap))
	}
	if u.Outage != nil && u.Outage.From.IsZero() {
		b.do("DEL", keyOutage)
	} else if u.Outage != nil {
		b.do("SET", keyOutage, b.json(u.Outage))
	}
	if u.Gap != nil { // the same again is one
		b.do("ZADD", keyGaps, u.Gap.Until.UnixMilli(), b.json(u.Gap))
		b.do("ZREMRANGEBYSCORE", keyGaps, "-inf", u.Gap.Until.Add(-evidenceFor).UnixMilli())
		b.do("ZREMRANGEBYRANK", keyGaps, 0, -maxGaps-1)
		b.do("PEXPIRE", keyGaps, evidenceFor.Milliseconds())
	}
	if u.Sources != nil {
		b.do("SET", keySources, b.json(u.Sources))
	}
	for _, attackid := range u.Stale {
		b.stale(ctx, record.UrgentState, record.AttackID(b.account, attackid))
	}
	for _, j := range u.Judged { // for as long as their changes are stored
		b.do("HSET", keyEfficacy, j.Change.ID, b.json(j.Efficacy))
		b.stale(ctx, j.Urgency(), j.Change.AttackID)
	}
	if !u.LastGood.IsZero() {
		b.do("SET", keyLastGood, u.LastGood.UnixMilli())
	}
}

// Waiting is Outbox.Waiting, for the poller: it deletes no attack of which an event waits.
func (s *Attacks) Waiting(ctx context.Context, account string) ([]record.Event, error) {
	return (*Outbox)(s).Waiting(ctx, account)
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
func (s *Attacks) AttackState(ctx context.Context, account, attack string) (shown record.AttackState, ok bool,
	err error) {
	shown, err = stored[record.AttackState](ctx, s.client, keyAttacks, account, attack)
	return shown, shown.Attack.ID != "", err
}

// StatesOf are the states of those of the attacks that are stored, by their ids.
func (s *Attacks) StatesOf(ctx context.Context, account string,
	attacks []string) (map[string]record.AttackState, error) {
	states, key := map[string]record.AttackState{}, s.key(keyAttacks, account)
	for some := range slices.Chunk(attacks, atOnce) {
		stored, err := s.rdb.HMGet(ctx, key, some...).Result()
		if err != nil {
			return nil, wrap(err, "read attacks of %s", account)
		}
		for i, one := range stored {
			if words, ok := one.(string); ok { // it is stored
				if state, ok := decode[record.AttackState](s.client, words, key, some[i]); ok {
					states[some[i]] = state
				}
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

// Storms are all of an account, the newest first.
func (s *Attacks) Storms(ctx context.Context, account string) ([]record.StormSeen, error) {
	found := []record.StormSeen{}
	err := s.scan(ctx, account, "s*", func(id string, one record.AttackState) {
		if one.Storm != nil {
			found = append(found, record.StormSeen{
				KnownAttack: record.KnownAttack{ID: id, Attack: one.Attack}, Storm: *one.Storm, SeenAt: one.ObservedAt,
				Quiet: one.Quiet,
			})
		}
	})
	slices.SortFunc(found, func(a, b record.StormSeen) int {
		return cmp.Or(b.Storm.Began.Compare(a.Storm.Began), cmp.Compare(a.ID, b.ID))
	})
	return found, err
}

// Grouped are the attacks that a storm groups, the one with the latest hit first.
func (s *Attacks) Grouped(ctx context.Context, account, storm string) ([]record.StormSeen, error) {
	found := []record.StormSeen{}
	err := s.scan(ctx, account, "a*", func(id string, one record.AttackState) {
		if one.StormID != "" && record.AttackID(account, one.StormID) == storm {
			found = append(found, record.StormSeen{KnownAttack: record.KnownAttack{ID: id, Attack: one.Attack},
				SeenAt: one.ObservedAt, Own: one.OwnCard})
		}
	})
	slices.SortFunc(found, func(a, b record.StormSeen) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
	})
	return found, err
}

// scan goes through an account's stored attacks whose id, as record.AttackID makes it, matches a Redis pattern.
func (s *Attacks) scan(ctx context.Context, account, pattern string,
	take func(id string, one record.AttackState)) error {
	seen := map[string]bool{} // Redis may give one twice
	scan := s.rdb.HScan(ctx, s.key(keyAttacks, account), 0, pattern, 1000).Iterator()
	for scan.Next(ctx) {
		id := scan.Val()
		if !scan.Next(ctx) {
			break
		}
		one, ok := decode[record.AttackState](s.client, scan.Val(), s.key(keyAttacks, account), id)
		if ok && !seen[id] {
			seen[id] = true
			take(id, one)
		}
	}
	return wrap(scan.Err(), "find attacks of %s", account)
}
