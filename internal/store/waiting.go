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

// stream is one that is read: how long it is, and its first entry.
type stream struct {
	length *redis.IntCmd
	first  *redis.XMessageSliceCmd
}

func readStream(ctx context.Context, pipe redis.Pipeliner, key string) stream {
	return stream{pipe.XLen(ctx, key), pipe.XRangeN(ctx, key, "-", "+", 1)}
}

// waits is how many entries it has, and since when, on Redis' clock, the first waits.
func (s stream) waits() (n int, oldest time.Time) {
	for _, m := range s.first.Val() {
		oldest = addedAt(m.ID)
	}
	return int(s.length.Val()), oldest
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

// Waiting reads what waits, also in these accounts, in one round trip to each server of Redis.
func (s *Store) Waiting(ctx context.Context, accounts []string) (all Waiting, err error) {
	pipe := s.rdb.Pipeline()
	var work []stream
	for _, in := range s.shards {
		work = append(work, readStream(ctx, pipe, in.key(keyStream)))
	}
	lost, requests := map[string]*redis.StringCmd{}, map[string]*redis.MapStringStringCmd{}
	for _, a := range accounts {
		lost[a], requests[a] = pipe.Get(ctx, s.key(keyPermission, a)), pipe.HGetAll(ctx, s.key(keyApprovals, a))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return all, fmt.Errorf("read what waits: %w", err)
	}
	all = Waiting{Accounts: map[string]AccountWaiting{}}
	all.Requests = backlog(work)
	for _, a := range accounts {
		if all.Accounts[a], err = s.waitingIn(a, lost[a], requests[a]); err != nil {
			return all, err
		}
	}
	return all, nil
}

// backlog is what waits in streams together.
func backlog(streams []stream) (w Backlog) {
	for _, s := range streams {
		n, oldest := s.waits()
		w.Waiting += n
		if n > 0 && (w.Oldest.IsZero() || oldest.Before(w.Oldest)) {
			w.Oldest = oldest
		}
	}
	return w
}

// waitingIn is what waits in an account, as it was read.
func (s *client) waitingIn(account string, lost *redis.StringCmd, requests *redis.MapStringStringCmd) (w AccountWaiting, err error) {
	loss, err := value[record.PermissionLoss](s, lost, "permission loss of "+account)
	if err != nil {
		return w, err
	}
	w.PermissionLost = loss.GoesOn()
	all, err := values[record.ApprovalRequest](s, requests, "requests of "+account)
	for _, q := range all {
		if q.State != record.RequestWaiting {
			continue
		}
		if w.Approvals++; w.OldestApproval.IsZero() || q.At.Before(w.OldestApproval) {
			w.OldestApproval = q.At
		}
	}
	return w, err
}
