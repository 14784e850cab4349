package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// Waiting is what waits in Redis for replicas and for people.
type Waiting struct {
	Requests Backlog // that were accepted and aren't carried out yet
	Accounts map[string]AccountWaiting
}

// Backlog is what waits in streams.
type Backlog struct {
	Waiting int
	Oldest  time.Time // by Redis' clock; zero: there is none
}

// AccountWaiting is what waits in an account.
type AccountWaiting struct {
	PermissionLost bool
	Approvals      int       // requests
	OldestApproval time.Time // by the service's clock; zero: there is none
}

// Waiting reads what waits, also in these accounts, in one round trip to each server of Redis.
func (s *Store) Waiting(ctx context.Context, accounts []string) (all Waiting, err error) {
	pipe := s.rdb.Pipeline()
	lengths, oldest := make([]*redis.IntCmd, len(s.shards)), make([]*redis.XMessageSliceCmd, len(s.shards))
	for i, in := range s.shards {
		lengths[i], oldest[i] = pipe.XLen(ctx, in.key(keyStream)), pipe.XRangeN(ctx, in.key(keyStream), "-", "+", 1)
	}
	lost, requests := map[string]*redis.StringCmd{}, map[string]*redis.MapStringStringCmd{}
	for _, a := range accounts {
		lost[a], requests[a] = pipe.Get(ctx, s.key(keyPermission, a)), pipe.HGetAll(ctx, s.key(keyApprovals, a))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return all, fmt.Errorf("read what waits: %w", err)
	}
	for i, length := range lengths {
		all.Requests.Waiting += int(length.Val())
		for _, first := range oldest[i].Val() {
			all.Requests.Oldest = record.Earlier(all.Requests.Oldest, addedAt(first.ID))
		}
	}
	all.Accounts = map[string]AccountWaiting{}
	for _, a := range accounts {
		if all.Accounts[a], err = s.waitingIn(lost[a], requests[a]); err != nil {
			return all, err
		}
	}
	return all, nil
}

// addedAt is when an entry of a stream was added, as its id says; zero if that says nothing.
func addedAt(id string) time.Time {
	millis, _, _ := strings.Cut(id, "-")
	at, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(at).UTC()
}

// waitingIn is what waits in an account, as it was read.
func (s *client) waitingIn(lost *redis.StringCmd, requests *redis.MapStringStringCmd) (w AccountWaiting, err error) {
	loss, err := value[record.PermissionLoss](s, lost)
	if err != nil {
		return w, err
	}
	w.PermissionLost = loss.GoesOn()
	all, err := values[record.ApprovalRequest](s, requests)
	for _, q := range all {
		if q.State == record.RequestWaiting {
			w.Approvals++
			w.OldestApproval = record.Earlier(w.OldestApproval, q.At)
		}
	}
	return w, err
}
