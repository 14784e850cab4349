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
	length := pipe.XLen(ctx, s.key(keyStream))
	first := pipe.XRangeN(ctx, s.key(keyStream), "-", "+", 1)
	lost, requests := map[string]*redis.StringCmd{}, map[string]*redis.StringSliceCmd{}
	for _, a := range accounts {
		lost[a], requests[a] = pipe.Get(ctx, s.key(keyPermission, a)), pipe.HVals(ctx, s.key(keyApprovals, a))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return all, fmt.Errorf("read what waits: %w", err)
	}
	all = Waiting{Requests: int(length.Val()), Accounts: map[string]AccountWaiting{}}
	for _, m := range first.Val() {
		millis, _, _ := strings.Cut(m.ID, "-")
		if at, err := strconv.ParseInt(millis, 10, 64); err == nil {
			all.OldestRequest = time.UnixMilli(at)
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
