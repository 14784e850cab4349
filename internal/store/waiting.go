package store

import (
	"context"
	"encoding/json"
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
	Requests      int       // that were accepted and aren't carried out yet
	OldestRequest time.Time // by Redis' clock; zero: there is none
	Accounts      map[string]AccountWaiting
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
	lengths, firsts := make([]*redis.IntCmd, shards), make([]*redis.XMessageSliceCmd, shards)
	for i, in := range s.shards {
		lengths[i], firsts[i] = pipe.XLen(ctx, in.key(keyStream)), pipe.XRangeN(ctx, in.key(keyStream), "-", "+", 1)
	}
	lost, requests := map[string]*redis.StringCmd{}, map[string]*redis.StringSliceCmd{}
	for _, a := range accounts {
		lost[a], requests[a] = pipe.Get(ctx, s.key(keyPermission, a)), pipe.HVals(ctx, s.key(keyApprovals, a))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return all, fmt.Errorf("read what waits: %w", err)
	}
	all = Waiting{Accounts: map[string]AccountWaiting{}}
	for i := range s.shards {
		all.Requests += int(lengths[i].Val())
		for _, m := range firsts[i].Val() {
			millis, _, _ := strings.Cut(m.ID, "-")
			if ms, err := strconv.ParseInt(millis, 10, 64); err == nil && (all.OldestRequest.IsZero() || time.UnixMilli(ms).Before(all.OldestRequest)) {
				all.OldestRequest = time.UnixMilli(ms)
			}
		}
	}
	for _, a := range accounts {
		if all.Accounts[a], err = waitingIn(a, lost[a], requests[a].Val()); err != nil {
			return all, err
		}
	}
	return all, nil
}

// waitingIn is what waits in an account, as it was read.
func waitingIn(account string, lost *redis.StringCmd, requests []string) (w AccountWaiting, err error) {
	loss, err := value[record.PermissionLoss](lost, "permission loss of "+account)
	if err != nil {
		return w, err
	}
	w.PermissionLost = loss.GoesOn()
	for _, one := range requests {
		var q record.ApprovalRequest
		if err := json.Unmarshal([]byte(one), &q); err != nil {
			return w, fmt.Errorf("read requests of %s: %w", account, err)
		}
		if q.State != record.RequestWaiting {
			continue
		}
		if w.Approvals++; w.OldestApproval.IsZero() || q.At.Before(w.OldestApproval) {
			w.OldestApproval = q.At
		}
	}
	return w, nil
}
