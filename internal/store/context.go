package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// lockedFor is how long the service's rules count as locked, unless a change shows otherwise.
const lockedFor = 5 * time.Minute

// AccountContext is what guards and cards need to know of an account beside its attacks, in one round trip.
func (s *Triage) AccountContext(ctx context.Context, account string) (c record.AccountContext, err error) {
	var asked askedContext
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		asked = askContext(ctx, p, account)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return c, fmt.Errorf("read context of %s: %w", account, err)
	}
	return asked.read(account)
}

// askedContext is an account's context that was asked for in a pipeline.
type askedContext struct{ protected, locked, sources, mutes *redis.StringCmd }

func askContext(ctx context.Context, p redis.Pipeliner, account string) askedContext {
	return askedContext{
		protected: p.Get(ctx, keyProtected(account)), locked: p.Get(ctx, keyLocked(account)), sources: p.Get(ctx, keySources(account)),
		mutes: p.Get(ctx, keyMutes(account)),
	}
}

// read reads the answers.
func (a askedContext) read(account string) (c record.AccountContext, err error) {
	var errs [4]error
	c.Protected, errs[0] = value[[]record.Protected](a.protected, "read protected ranges of "+account)
	c.RulesLockedAt, errs[1] = value[time.Time](a.locked, "read lock of "+account)
	c.Sources, errs[2] = value[map[netip.Addr]record.SourceActivity](a.sources, "read sources of "+account)
	c.Mutes, errs[3] = value[[]record.Mute](a.mutes, "read mutes of "+account)
	return c, errors.Join(errs[:]...)
}

// SaveProtected replaces all protected ranges of the account, and marks the attacks' cards stale.
func (l *Lock) SaveProtected(ctx context.Context, all []record.Protected, attacks ...string) error {
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write protected ranges of %s: %w", l.account, err)
	}
	var b batch
	b.do("SET", keyProtected(l.account), text)
	for _, attack := range attacks {
		b.stale(l.account, attack, record.UrgentActed)
	}
	_, err = l.write(ctx, &b, "save protected ranges of "+l.account)
	return err
}

// SaveLocked stores for a while when the service said that its rules are locked; zero: they are no longer.
func (l *Lock) SaveLocked(ctx context.Context, at time.Time) error {
	var b batch
	if at.IsZero() {
		b.do("DEL", keyLocked(l.account))
	} else {
		text, err := json.Marshal(at)
		if err != nil {
			return fmt.Errorf("write lock of %s: %w", l.account, err)
		}
		b.do("SET", keyLocked(l.account), text, "PX", lockedFor.Milliseconds())
	}
	_, err := l.write(ctx, &b, "save lock of "+l.account)
	return err
}

// sources stores what the poller counted; nil leaves it as it is.
func (b *batch) sources(account string, counted map[netip.Addr]record.SourceActivity) error {
	if counted == nil {
		return nil
	}
	text, err := json.Marshal(counted)
	b.do("SET", keySources(account), text)
	return err
}
