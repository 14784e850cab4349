package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// NewEpoch is a name for a state that begins: its version, and a unique id.
func NewEpoch() string { return fmt.Sprint(stateVersion, " ", rand.Text()) }

// Epoch names an account's state; "" when there is none: it never began, or Redis was emptied. Until Restore no user is
// notified and nothing is changed.
func (s *Ledger) Epoch(ctx context.Context, account string) (string, error) {
	return word(s.rdb.Get(ctx, s.key(keyEpoch, account)))
}

// Rebuilt is what an account's state begins with. All zero at a first start.
type Rebuilt struct {
	Epoch      string
	At         time.Time                     // when it was rebuilt; zero at a first start, of which the first poll notifies
	FirstStart time.Time                     // when people were notified of the first start; zero: not known
	Attacks    map[string]record.AttackState // by the service's id
	Cards      []Card
	Changes    []record.Change
	Events     []record.Event
	Delivered  map[string]record.Place // messages that aren't posted again, by delivery
}

// Card is where an attack's card is.
type Card struct{ Attack, Channel, TS string }

// Restore begins an account's state with what was rebuilt, all of it in one step, unless another process was faster:
// then it does nothing, and begun is false. What is stored already was written since Redis was emptied, and is newer.
// Without an epoch the state hasn't begun yet: what is restored is enough to watch the account and to post, and nothing
// is changed.
func (s *Ledger) Restore(ctx context.Context, account string, r Rebuilt) (begun bool, err error) {
	b := s.batch(account)
	b.only(b.key(keyEpoch, account), nothing)
	b.rebuilt(r)
	err = b.save(ctx)
	if errors.Is(err, errUnmet) {
		return false, nil
	}
	return err == nil, err
}

// rebuilt writes what was rebuilt.
func (b *batch) rebuilt(r Rebuilt) {
	for attackid, shown := range r.Attacks {
		b.do("HSETNX", keyAttacks, record.AttackID(b.account, attackid), b.json(shown))
	}
	for _, c := range r.Changes {
		b.do("HSETNX", keyChanges, c.ID, b.json(c))
		if !c.CheckAt.IsZero() {
			b.do("ZADD", keyDue, "NX", c.CheckAt.Unix(), c.ID)
		}
	}
	for _, c := range r.Cards {
		b.do("HSETNX", keyCards, c.Attack, c.Channel+" "+c.TS)
		b.doAt("SET", b.key(keyCardAt, b.account, c.Channel, c.TS), c.Attack, "PX", cardAtFor.Milliseconds())
	}
	if !r.At.IsZero() {
		b.do("SET", keyLastGood, r.At.UnixMilli(), "NX")
	}
	if !r.FirstStart.IsZero() {
		b.do("SET", keyFirstStart, r.FirstStart.UnixMilli())
	}
	for delivery, at := range r.Delivered {
		b.doAt("SET", b.key(keyAttempt, b.account, delivery), at.Message(), "NX", "PX", notifiedFor.Milliseconds())
	}
	b.announce(r.Events)
	if r.Epoch != "" {
		b.do("SET", keyEpoch, r.Epoch)
	}
}
