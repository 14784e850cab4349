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

// NewEpoch is a name for a state that begins: its version, and a unique id.
func NewEpoch() string { return fmt.Sprint(stateVersion, " ", rand.Text()) }

// Epoch names an account's state; "" when there is none: it never began, or Redis was emptied. Until Restore nobody is notified and nothing is
// changed.
func (s *Epochs) Epoch(ctx context.Context, account string) (string, error) {
	epoch, err := s.rdb.Get(ctx, keyEpoch(account)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read epoch of %s: %w", account, err)
	}
	return epoch, nil
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
}

// Card is where an attack's card is.
type Card struct{ Attack, Channel, TS string }

// Restore begins an account's state with what was rebuilt, all of it in one step, unless another process was faster: then it does nothing, and
// begun is false. What is stored already was written since Redis was emptied, and is newer.
func (s *Epochs) Restore(ctx context.Context, account string, r Rebuilt) (begun bool, err error) {
	b, err := r.batch(account)
	if err == nil {
		_, begun, err = s.transact(ctx, condition{keyEpoch(account), nothing}, b)
	}
	if err != nil {
		return false, fmt.Errorf("restore state of %s: %w", account, err)
	}
	return begun, nil
}

// batch writes what was rebuilt.
func (r Rebuilt) batch(account string) (*batch, error) {
	b := &batch{}
	var faults []error
	for attackid, shown := range r.Attacks {
		faults = append(faults, b.json("HSETNX", keyAttacks(account), record.AttackID(account, attackid), shown))
	}
	for _, c := range r.Changes {
		faults = append(faults, b.json("HSETNX", keyChanges(account), c.ID, c))
		if due := change.CheckAt(c); !due.IsZero() {
			b.do("ZADD", keyDue(account), "NX", due.Unix(), c.ID)
		}
	}
	for _, c := range r.Cards {
		b.do("HSETNX", keyCards(account), c.Attack, c.Channel+" "+c.TS)
		b.do("SET", keyCardAt(account, c.Channel, c.TS), c.Attack, "PX", cardAtFor.Milliseconds())
	}
	if !r.At.IsZero() {
		b.do("SET", keyLastGood(account), r.At.UnixMilli(), "NX")
	}
	if !r.FirstStart.IsZero() {
		b.do("SET", keyFirstStart(account), r.FirstStart.UnixMilli())
	}
	faults = append(faults, b.announce(r.Events...))
	b.do("SET", keyEpoch(account), r.Epoch)
	return b, errors.Join(faults...)
}

// firstStart is when people were notified of an account's first start, as it was rebuilt; zero: not known.
func (s *Attacks) firstStart(ctx context.Context, account string) (time.Time, error) {
	began, err := s.rdb.Get(ctx, keyFirstStart(account)).Int64()
	if errors.Is(err, redis.Nil) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("load first start of %s: %w", account, err)
	}
	return time.UnixMilli(began).UTC(), nil
}
