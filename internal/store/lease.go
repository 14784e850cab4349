package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

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

// take tries to get the lease once.
func (l lease) take(ctx context.Context) (bool, error) {
	err := l.store.rdb.SetArgs(ctx, l.key, l.token, redis.SetArgs{Mode: "NX", TTL: l.length}).Err()
	if errors.Is(err, redis.Nil) {
		// The client repeats a command whose answer was lost: the lease may be ours already.
		holder, err := l.store.rdb.Get(ctx, l.key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, err
		}
		return holder == l.token, nil
	}
	return err == nil, err
}

// hold renews the lease until stop is called, and ends the context it returns when the lease is lost.
func (l lease) hold(ctx context.Context) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.renew(held, cancel)
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

var errLeaseLost = errors.New("lease lost")

// renew keeps the lease until the context ends; it ends it when somebody else holds the lease or it may have run out.
func (l lease) renew(ctx context.Context, lost context.CancelCauseFunc) {
	until := time.Now().Add(l.length)
	tick := time.NewTicker(l.length / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		begun := time.Now()
		held, err := renewLease.Run(ctx, l.store.rdb, []string{l.key}, l.token, l.length.Milliseconds()).Int()
		switch {
		case err == nil && held == 1:
			until = begun.Add(l.length)
		case err == nil, !time.Now().Before(until):
			lost(fmt.Errorf("%s: %w", l.key, errLeaseLost))
			return
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
		if err := l.await(ctx, leaderLease/8); err != nil {
			return err
		}
		held, stop := l.hold(ctx)
		err := run(held)
		stop()
		if ctx.Err() != nil || !errors.Is(context.Cause(held), errLeaseLost) {
			return err
		}
	}
}

// await takes the lease, trying again and again until the context ends; Redis being away is waited out.
func (l lease) await(ctx context.Context, every time.Duration) error {
	for {
		if taken, err := l.take(ctx); err == nil && taken {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// Lock makes changes to one account run one after another, over all processes. It waits while another changes the account,
// and fails at once when Redis can't be reached. The context it returns ends when the lock is lost.
func (s *Store) Lock(ctx context.Context, account string) (held context.Context, unlock func(), err error) {
	l := s.newLease(keyLock(account), accountLease)
	for {
		taken, err := l.take(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("lock account %s: %w", account, err)
		}
		if taken {
			held, unlock = l.hold(ctx)
			return held, unlock, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("lock account %s: %w", account, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
