package store

import (
	"context"
	"strconv"
	"strings"
	"time"

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
	q := s.questions("")
	for _, in := range s.shards {
		length, oldest := q.redis.XLen(ctx, in.key(keyStream)), q.redis.XRangeN(ctx, in.key(keyStream), "-", "+", 1)
		q.read = append(q.read, func() error {
			all.Requests.Waiting += int(length.Val())
			for _, first := range oldest.Val() {
				all.Requests.Oldest = record.Earlier(all.Requests.Oldest, addedAt(first.ID))
			}
			return nil
		})
	}
	all.Accounts = map[string]AccountWaiting{}
	for _, account := range accounts {
		var loss record.PermissionLoss
		var requests map[string]record.ApprovalRequest
		q.account = account
		ask(q, &loss, keyPermission)
		askAll(q, &requests, keyApprovals)
		q.read = append(q.read, func() error {
			w := AccountWaiting{PermissionLost: loss.GoesOn()}
			for _, r := range requests {
				if r.State == record.RequestWaiting {
					w.Approvals++
					w.OldestApproval = record.Earlier(w.OldestApproval, r.At)
				}
			}
			all.Accounts[account] = w
			return nil
		})
	}
	q.account = "all accounts"
	err = q.send(ctx)
	return all, err
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
