package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
)

// NewEpoch is a name for a memory that begins: the version of its form, and what no other has.
func NewEpoch() string { return fmt.Sprint(stateVersion, " ", rand.Text()) }

// Epoch names an account's memory; "" when there is none: it was never begun, or was emptied. Then nothing is told and nothing is changed
// before Restore.
func (s *Store) Epoch(ctx context.Context, account string) (string, error) {
	epoch, err := s.rdb.Get(ctx, keyEpoch(account)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read epoch of %s: %w", account, err)
	}
	return epoch, nil
}

// Recalled is what an account's memory begins with. All zero at a first start.
type Recalled struct {
	Epoch   string
	At      time.Time                     // of the recall; zero at a first start, whose poll tells so
	Began   time.Time                     // when the first start was told; zero: not known
	Shown   map[string]record.AttackState // by the service's id
	Cards   []Card
	Changes []record.Change
	Events  []record.Event
}

// Card is where an attack's card is.
type Card struct{ Attack, Channel, TS string }

// Restore begins an account's memory with what was read back, all of it in one step, unless another process was faster: then it does nothing,
// and begun is false. What stands there already was written since Redis was emptied, and is newer.
func (s *Store) Restore(ctx context.Context, account string, r Recalled) (begun bool, err error) {
	b, err := r.batch(account)
	if err == nil {
		_, begun, err = s.transact(ctx, condition{keyEpoch(account), nothing}, b)
	}
	if err != nil {
		return false, fmt.Errorf("restore memory of %s: %w", account, err)
	}
	return begun, nil
}

// batch writes what was read back.
func (r Recalled) batch(account string) (*batch, error) {
	b := &batch{}
	var faults []error
	for attackid, shown := range r.Shown {
		faults = append(faults, b.json("HSETNX", keyShown(account), record.AttackID(account, attackid), shown))
	}
	for _, c := range r.Changes {
		faults = append(faults, b.json("HSETNX", keyChanges(account), c.ID, c))
		if due := change.ChangeLookAt(c); !due.IsZero() {
			b.do("ZADD", keyDue(account), "NX", due.Unix(), c.ID)
		}
	}
	for _, c := range r.Cards {
		b.do("HSETNX", keyCards(account), c.Attack, c.Channel+" "+c.TS)
		b.do("SET", keyCardAt(account, c.Channel, c.TS), c.Attack, "PX", cardAtFor.Milliseconds())
	}
	if !r.At.IsZero() {
		b.do("SET", keyGood(account), r.At.UnixMilli(), "NX")
	}
	if !r.Began.IsZero() {
		b.do("SET", keyBegan(account), r.Began.UnixMilli())
	}
	faults = append(faults, b.announce(r.Events...))
	b.do("SET", keyEpoch(account), r.Epoch)
	return b, errors.Join(faults...)
}

// began is when an account's first start was told, as it was read back; zero: not known.
func (s *Store) began(ctx context.Context, account string) (time.Time, error) {
	began, err := s.rdb.Get(ctx, keyBegan(account)).Int64()
	if errors.Is(err, redis.Nil) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("load first start of %s: %w", account, err)
	}
	return time.UnixMilli(began).UTC(), nil
}
