package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// KnowAccounts notes which accounts are configured, so that those that are configured no more can be named.
func (s *Replicas) KnowAccounts(ctx context.Context, accounts []string) error {
	if len(accounts) == 0 {
		return nil
	}
	return wrap(s.rdb.SAdd(ctx, s.key(keyAccounts), accounts).Err(), "note the accounts")
}

// ForgetAccounts takes accounts off those that are known.
func (s *Replicas) ForgetAccounts(ctx context.Context, accounts []string) error {
	if len(accounts) == 0 {
		return nil
	}
	return wrap(s.rdb.SRem(ctx, s.key(keyAccounts), accounts).Err(), "forget accounts")
}

// NotEnded are the known accounts other than those given that have no owner, each with its open changes; nil where
// these aren't known. ended are those that have none.
func (s *Replicas) NotEnded(ctx context.Context, but []string) (left map[string][]record.Change, ended []string,
	err error) {
	known, err := s.rdb.SMembers(ctx, s.key(keyAccounts)).Result()
	if err != nil {
		return nil, nil, fmt.Errorf("read the known accounts: %w", err)
	}
	left = map[string][]record.Change{}
	for _, account := range known {
		if slices.Contains(but, account) {
			continue
		}
		open, err := s.Open(ctx, account)
		if err != nil && !errors.Is(err, ErrEmptied) {
			return nil, nil, err
		}
		owned, leaseErr := s.rdb.Exists(ctx, s.key(keyLease, account)).Result()
		switch {
		case leaseErr != nil:
			return nil, nil, fmt.Errorf("read the lease: %w", leaseErr)
		case owned > 0:
		case len(open) > 0 || err != nil:
			left[account] = open
		default:
			ended = append(ended, account)
		}
	}
	return left, ended, nil
}

// Open are the changes of an account that are to be ended, or looked at, some time. It fails with ErrEmptied as
// long as what Redis lost wasn't rebuilt.
func (s *Replicas) Open(ctx context.Context, account string) (open []record.Change, err error) {
	q := s.questions(account)
	ids := q.redis.ZRange(ctx, s.key(keyDue, account), 0, -1)
	q.askChanges(ctx, &open)
	epoch := q.get(keyEpoch) // after what is due: that of an emptied Redis doesn't count
	if err := q.send(ctx); err != nil {
		return nil, err
	}
	if epoch.Val() == "" {
		return nil, fmt.Errorf("read what is due: %w", ErrEmptied)
	}
	return slices.DeleteFunc(open, func(c record.Change) bool { return !slices.Contains(ids.Val(), c.ID) }), nil
}

// restartWithin is how long a replica may take to restart before the next one may.
const restartWithin = 10 * time.Second

// BeginRestart reports whether a replica may restart now: one does at a time. The token ends that.
func (s *Replicas) BeginRestart(ctx context.Context, token string) (may bool, err error) {
	l := &lease{key: s.key(keyRestart), token: token, length: restartWithin}
	take := l.take(keyNone(l.key), true)
	outcome, err := takeLease.Run(ctx, s.rdb, take.keys, take.args...).Text()
	return outcome == leaseTaken, wrap(err, "ask whether another replica restarts")
}

// KeepRestart has the others wait for longer.
func (s *Replicas) KeepRestart(ctx context.Context, token string) error {
	return renewLease.Run(ctx, s.rdb, []string{s.key(keyRestart)}, token, restartWithin.Milliseconds()).Err()
}

// EndRestart lets the next replica restart. If it fails, that one waits until the token runs out.
func (s *Replicas) EndRestart(ctx context.Context, token string) error {
	return dropLease.Run(ctx, s.rdb, []string{s.key(keyRestart)}, token).Err()
}
