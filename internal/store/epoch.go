package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// epochVersion is the form of what is kept. A later one is written when an older replica could not read it.
const epochVersion = "1"

// NewEpoch is a name for a memory that begins: the version of its form, and what no other has.
func NewEpoch() string { return epochVersion + " " + rand.Text() }

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
	At      time.Time               // of the recall; zero at a first start, whose poll tells so
	Began   time.Time               // when the first start was told; zero: not known
	Shown   map[string]poller.Shown // by the service's id
	Cards   []Card
	Changes []commands.Change
	News    []poller.News
}

// Card is where an attack's card is.
type Card struct{ Attack, Channel, TS string }

// errBegun tells that another process has begun the memory meanwhile.
var errBegun = errors.New("memory was begun meanwhile")

// Restore begins an account's memory with what was read back, all of it in one transaction, unless another process was faster: then it
// does nothing, and begun is false. What stands there already was written since Redis was emptied, and is newer.
func (s *Store) Restore(ctx context.Context, account string, r Recalled) (begun bool, err error) {
	set, err := r.fields(account)
	if err != nil {
		return false, err
	}
	err = s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		if n, err := tx.Exists(ctx, keyEpoch(account)).Result(); err != nil || n > 0 {
			return errors.Join(err, errBegun)
		}
		there, err := tx.HKeys(ctx, keyChanges(account)).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, keyEpoch(account), r.Epoch, 0)
			for key, all := range set {
				for i := 0; i < len(all); i += 2 {
					p.HSetNX(ctx, key, fmt.Sprint(all[i]), all[i+1])
				}
			}
			r.restoreTimes(ctx, p, account, there)
			for _, c := range r.Cards {
				p.HSetNX(ctx, keyCards(account), c.Attack, c.Channel+" "+c.TS)
				p.Set(ctx, keyCardAt(account, c.Channel, c.TS), c.Attack, cardAtFor)
			}
			return nil
		})
		return err
	}, keyEpoch(account), keyChanges(account))
	if errors.Is(err, errBegun) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("restore memory of %s: %w", account, err)
	}
	return true, nil
}

// fields are those of the hashes, by key.
func (r Recalled) fields(account string) (map[string][]any, error) {
	news, changes := map[string]poller.News{}, map[string]commands.Change{}
	for _, n := range r.News {
		news[n.ID] = n
	}
	for _, c := range r.Changes {
		changes[c.ID] = c
	}
	same := func(id string) string { return id }
	shownFields, err := fields(r.Shown, func(attackid string) string { return commands.AttackID(account, attackid) })
	newsFields, newsErr := fields(news, same)
	changeFields, changesErr := fields(changes, same)
	return map[string][]any{keyShown(account): shownFields, keyOutbox(account): newsFields, keyChanges(account): changeFields}, errors.Join(err, newsErr, changesErr)
}

// restoreTimes sets when the account was last read and began, and when changes end that are not there already.
func (r Recalled) restoreTimes(ctx context.Context, p redis.Pipeliner, account string, there []string) {
	if !r.At.IsZero() {
		p.SetNX(ctx, keyGood(account), r.At.UnixMilli(), 0)
	}
	if !r.Began.IsZero() {
		p.Set(ctx, keyBegan(account), r.Began.UnixMilli(), 0)
	}
	for _, c := range r.Changes {
		if due := c.DueAt(); !due.IsZero() && !slices.Contains(there, c.ID) {
			p.ZAdd(ctx, keyDue(account), redis.Z{Score: float64(due.Unix()), Member: c.ID})
		}
	}
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
