package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/commands/refusal"
)

// KnowAccounts notes which accounts are configured, so that those that are configured no more can be named.
func (s *Replicas) KnowAccounts(ctx context.Context, accounts []string) error {
	if len(accounts) == 0 {
		return nil
	}
	if err := s.rdb.SAdd(ctx, s.key(keyAccounts), accounts).Err(); err != nil {
		return fmt.Errorf("note the accounts: %w", err)
	}
	return nil
}

// ForgetAccounts takes accounts off those that are known.
func (s *Replicas) ForgetAccounts(ctx context.Context, accounts []string) error {
	if len(accounts) == 0 {
		return nil
	}
	if err := s.rdb.SRem(ctx, s.key(keyAccounts), accounts).Err(); err != nil {
		return fmt.Errorf("forget accounts: %w", err)
	}
	return nil
}

// NotEnded are the known accounts other than those given that have no owner, and how many changes of each are to be ended, 0 where that isn't known. ended are those
// of which none is.
func (s *Replicas) NotEnded(ctx context.Context, but []string) (left map[string]int, ended []string, err error) {
	known, err := s.rdb.SMembers(ctx, s.key(keyAccounts)).Result()
	if err != nil {
		return nil, nil, fmt.Errorf("read the known accounts: %w", err)
	}
	left = map[string]int{}
	for _, account := range known {
		if slices.Contains(but, account) {
			continue
		}
		n, err := s.Due(ctx, account)
		if err != nil && !errors.Is(err, refusal.ErrEmptied) {
			return nil, nil, err
		}
		owned, leaseErr := s.rdb.Exists(ctx, s.key(keyLease, account)).Result()
		switch {
		case leaseErr != nil:
			return nil, nil, fmt.Errorf("read the lease: %w", leaseErr)
		case owned > 0:
		case n > 0 || err != nil:
			left[account] = n
		default:
			ended = append(ended, account)
		}
	}
	return left, ended, nil
}

// Due is how many changes of an account are to be ended, or looked at, some time. It fails with refusal.ErrEmptied as long as what Redis lost wasn't rebuilt.
func (s *Replicas) Due(ctx context.Context, account string) (int, error) {
	n, err := s.rdb.ZCard(ctx, s.key(keyDue, account)).Result()
	if err != nil {
		return 0, fmt.Errorf("count what is due: %w", err)
	}
	switch begun, err := s.rdb.Exists(ctx, s.key(keyEpoch, account)).Result(); { // after the count: one of an emptied Redis doesn't count
	case err != nil:
		return 0, fmt.Errorf("count what is due: %w", err)
	case begun == 0:
		return 0, fmt.Errorf("count what is due: %w", refusal.ErrEmptied)
	}
	return int(n), nil
}
