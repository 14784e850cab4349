package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// CardsOf are the places of attacks' cards, by attack; those without one are left out.
func (s *Cards) CardsOf(ctx context.Context, account string, attacks ...string) (map[string]record.Place, error) {
	found, err := s.rdb.HMGet(ctx, s.key(keyCards, account), attacks...).Result()
	places := map[string]record.Place{}
	for i, one := range found {
		if place, ok := one.(string); ok {
			places[attacks[i]] = record.ReadPlace(place)
		}
	}
	return places, wrap(err, "find cards of %s", account)
}

// Card is where an attack's card is; zero if it has none.
func (s *Cards) Card(ctx context.Context, account, attack string) (record.Place, error) {
	place, err := word(get(ctx, s.rdb, s.key(keyCards, account), attack))
	return record.ReadPlace(place), err
}

// cardAtFor is how long a message in a card's thread can be related to the attack.
const cardAtFor = 30 * 24 * time.Hour

// AttackAt is the attack whose card a message is; "" if it is none.
func (s *Cards) AttackAt(ctx context.Context, account, channel, ts string) (attack string, err error) {
	return word(s.rdb.Get(ctx, s.key(keyCardAt, account, channel, ts)))
}

// Details is what is stored about an attack, in one round trip: people wait for the card. Its state is not read where
// that is known; nil: it isn't.
func (s *Cards) Details(ctx context.Context, account, attack string,
	known *record.AttackState) (record.AttackDetails, error) {
	return s.details(ctx, s.questions(account), attack, known)
}

// BeginCard is Details of an event's attack and Outbox.BeginNotify in one round trip, or in two where replicas of Redis
// must have what counts.
func (s *Cards) BeginCard(ctx context.Context, e record.Event, now time.Time) (d record.AttackDetails, t record.Attempt,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout())
	defer cancel()
	c := s.beginning(e.Account, e.ID, now)
	server, err := s.server(ctx, c.keys[0])
	if err != nil {
		return d, t, err
	}
	q := &questions{client: s.client, account: e.Account, redis: server.Pipeline()} // of one server: a cluster's client would repeat it
	if s.copies > 0 {
		t, err = s.begun(s.write(ctx, beginNotify, c.keys, c.args...), e.Account, now)
	} else {
		answer := beginNotify.EvalSha(ctx, q.redis, c.keys, c.args...)
		q.read = append(q.read, func() (err error) {
			t, err = s.begun(answer, e.Account, now)
			return err
		})
	}
	if err == nil {
		d, err = s.details(ctx, q, record.AttackID(e.Account, e.Subject), e.Attack)
	}
	return d, t, err
}

func (s *Cards) details(ctx context.Context, q *questions, attack string,
	known *record.AttackState) (d record.AttackDetails,
	err error) {
	if known != nil {
		d.State = *known
	} else {
		ask(q, &d.State, keyAttacks, attack)
	}
	ask(q, &d.Triage, keyTriage, attack)
	ask(q, &d.Page, keyPages, attack)
	q.askContext(ctx, &d.Context)
	q.askPoll(&d.LastGood, &d.Outage)
	q.askChanges(ctx, &d.Changes)
	askAll(q, &d.Efficacy, keyEfficacy)
	card := q.get(keyCards, attack)
	err = q.send(ctx)
	d.Card = record.ReadPlace(card.Val())
	return d, err
}

// MarkStale marks an attack's card stale, so that it is redrawn.
func (s *Cards) MarkStale(ctx context.Context, account, attack string, urgency record.Urgency) error {
	b := s.batch(account)
	b.needed = true
	b.stale(ctx, urgency, attack)
	return b.save(ctx)
}

// stale marks the cards of attacks stale; "" is none.
func (b *batch) stale(ctx context.Context, urgency record.Urgency, attacks ...string) {
	for _, attack := range attacks {
		if attack != "" {
			b.do("STALE", keyRedraw, attack, int(urgency), markID(ctx))
		}
	}
}

// markID is unique; after a dot it holds the request that the mark comes of, if there is one.
func markID(ctx context.Context) string {
	id := strconv.FormatUint(rand.Uint64(), 36)
	if request := record.RequestOf(ctx); request != "" {
		id += "." + request
	}
	return id
}

// Stale are the marks of the attacks whose cards are stale. Redrawn takes them back.
func (s *Cards) Stale(ctx context.Context, account string) (map[string]record.RedrawMark, error) {
	texts, err := s.rdb.HGetAll(ctx, s.key(keyRedraw, account)).Result()
	all := make(map[string]record.RedrawMark, len(texts))
	for attack, text := range texts {
		all[attack] = readMark(text)
	}
	return all, wrap(err, "read stale cards of %s", account)
}

// newMark is a mark of now, by Redis' clock as STALE makes them.
func (s *client) newMark(ctx context.Context, urgency record.Urgency) string {
	return fmt.Sprint(int(urgency), " ", s.clocks.Now().UnixMilli(), " ", markID(ctx))
}

// readMark reads a mark. One in another form has only its ID.
func readMark(text string) record.RedrawMark {
	m := record.RedrawMark{ID: text}
	urgency, rest, _ := strings.Cut(text, " ")
	since, id, ok := strings.Cut(rest, " ")
	_, m.Request, _ = strings.Cut(id, ".")
	rank, err := strconv.Atoi(urgency)
	ms, sinceErr := strconv.ParseInt(since, 10, 64)
	if ok && err == nil && sinceErr == nil {
		m.Urgency, m.Since = record.Urgency(rank), time.UnixMilli(ms).UTC()
	}
	return m
}

// Redrawn records that a card was drawn from facts read after the mark was.
func (s *Cards) Redrawn(ctx context.Context, account, attack string, mark record.RedrawMark) error {
	return wrap(redrawn.Run(ctx, s.rdb, []string{s.key(keyRedraw, account)}, attack, mark.ID).Err(),
		"record card of %s", attack)
}
