package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// takeLease takes a lease that nobody holds. Its holder may take it again, not knowing that it did because the answer was lost.
// KEYS[1] the lease, ARGV[1] the holder's token, ARGV[2] its length in ms. Result: 1 if it is held now, else 0.
var takeLease = redis.NewScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

// renewLease sets a lease's end anew if it is still held.
// KEYS[1] the lease, ARGV[1] the holder's token, ARGV[2] its length in ms. Result: 1 if held, else 0.
var renewLease = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// dropLease gives a lease back if it is still held.
// KEYS[1] the lease, ARGV[1] the holder's token. Result: 1 if it was held, else 0.
var dropLease = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`)

var errLeaseLost = errors.New("lease lost")

// lease is the right to do something that only one may do at a time.
type lease struct {
	store  *Store
	key    string
	length time.Duration
	token  string
}

func (s *Store) newLease(key string, length time.Duration) lease {
	return lease{store: s, key: key, length: length, token: rand.Text()}
}

// set takes or renews the lease once. It gives the time until which it is surely held, zero if somebody else holds it. That counts from
// before the request was sent, so it is never later than Redis' own.
func (l lease) set(ctx context.Context, script *redis.Script) (until time.Time, err error) {
	until = time.Now().Add(l.length)
	held, err := script.Run(ctx, l.store.rdb, []string{l.key}, l.token, l.length.Milliseconds()).Int()
	if err != nil || held == 0 {
		return time.Time{}, err
	}
	return until, nil
}

// hold renews the lease until stop is called, and ends the context it returns when the lease is lost.
func (l lease) hold(ctx context.Context, until time.Time) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		cancel(l.renew(held, until))
	}()
	return held, func() {
		cancel(context.Canceled)
		<-done
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), opTimeout)
		defer cancel()
		// A lease that can't be given back ends by itself.
		_ = dropLease.Run(ctx, l.store.rdb, []string{l.key}, l.token).Err()
	}
}

// renew keeps the lease until the context ends, or the lease: because somebody else holds it, or it may have run out.
func (l lease) renew(ctx context.Context, until time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(l.length/4, time.Until(until))):
		}
		try, cancel := context.WithDeadline(ctx, until)
		renewed, err := l.set(try, renewLease)
		cancel()
		switch {
		case err == nil && !renewed.IsZero():
			until = renewed
		case err == nil, !time.Now().Before(until):
			return fmt.Errorf("%s: %w", l.key, errLeaseLost)
		}
	}
}

// How long leases last without being renewed.
const (
	leaderLease  = 4 * time.Second
	accountLease = 10 * time.Second
)

// Lead waits until this replica is the one that polls and works, runs the function, and gives the lead back when it returns.
// The function's context ends when the lead is lost; then Lead waits for it again. It returns when its own context ends,
// or with the function's error.
func (s *Store) Lead(ctx context.Context, run func(ctx context.Context) error) error {
	for {
		l := s.newLease(keyLeader, leaderLease)
		until, err := l.await(ctx, leaderLease/8)
		if err != nil {
			return err
		}
		held, stop := l.hold(ctx, until)
		err = run(held)
		stop()
		if ctx.Err() != nil || !errors.Is(context.Cause(held), errLeaseLost) {
			return err
		}
	}
}

// await takes the lease, trying again and again until the context ends; Redis being away is waited out, and said.
func (l lease) await(ctx context.Context, every time.Duration) (until time.Time, err error) {
	away := false
	for {
		until, err := l.set(ctx, takeLease)
		if gone := err != nil; gone != away && ctx.Err() == nil {
			away = gone
			l.store.away(err)
		}
		if err == nil && !until.IsZero() {
			return until, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-time.After(every):
		}
	}
}

// Lock makes changes to one account run one after another, over all processes. It waits while another changes the account,
// and fails at once when Redis can't be reached. The context it returns ends when the lock is lost.
func (s *Store) Lock(ctx context.Context, account string) (held context.Context, unlock func(), err error) {
	l := s.newLease(keyLock(account), accountLease)
	for {
		until, err := l.set(ctx, takeLease)
		if err != nil {
			return nil, nil, fmt.Errorf("lock account %s: %w", account, err)
		}
		if !until.IsZero() {
			held, unlock = l.hold(ctx, until)
			return held, unlock, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("lock account %s: %w", account, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
