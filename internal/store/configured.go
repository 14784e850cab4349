package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/refusal"
)

// Configured is which configuration a replica works with, and where it runs. The zero value is that of a process that doesn't say.
type Configured struct {
	Hash string
	Host string
}

// String is HASH HOST.
func (c Configured) String() string { return c.Hash + " " + c.Host }

func readConfigured(text string) Configured {
	hash, host, _ := strings.Cut(text, " ")
	return Configured{hash, host}
}

// differs reports whether two replicas say that they work with different configurations.
func (c Configured) differs(other Configured) bool {
	return c.Hash != "" && other.Hash != "" && c.Hash != other.Hash
}

// Differing are the hosts of living replicas whose configuration is another than this one's, as this one last heard.
func (s *Replicas) Differing() []string { return s.differing() }

func (s *client) differing() []string {
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	return slices.Clone(s.peers.differ)
}

// Configurations are those of all living replicas, for a process that doesn't beat. A replica that just died may be among them.
func (s *Replicas) Configurations(ctx context.Context) ([]Configured, error) {
	said, err := s.rdb.HVals(ctx, s.key(keyConfigs)).Result()
	if err != nil {
		return nil, fmt.Errorf("read the replicas' configurations: %w", err)
	}
	slices.Sort(said)
	var all []Configured
	for _, text := range said {
		all = append(all, readConfigured(text))
	}
	return all, nil
}

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
