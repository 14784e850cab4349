package store

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// deliveryFor is how long a delivery is stored. Slack's signatures are refused after five minutes. Anybody in a channel
// makes deliveries: Slack hands over 30,000 an hour at most.
const deliveryFor = time.Hour

// group is each stream's consumer group. Each replica is a consumer of it.
const group = "workers"

// maxWaiting is how many lines may wait in a lane behind the one whose turn it is. Nobody types as many on purpose.
const maxWaiting = 64

// keys are those of accept.
func (s *Inbox) keys(in *shard, lane record.Lane, names []string) []string {
	keys := []string{in.key(keyStream), in.laneKey(lane)}
	for _, name := range names {
		keys = append(keys, in.key(keyDelivery, name))
	}
	return keys
}

// Accept stores work under the names of its delivery, in one step, so that a delivery that comes again is no new work.
// Work of one lane is handed over in the order in which it was accepted; this replica takes it in hand at once, if it
// works. If the lane is full, nothing is stored but the names, and waiting is how many wait in it; else it is 0. After
// an error the outcome is unknown: the work may be stored.
func (s *Inbox) Accept(ctx context.Context, work []byte, lane record.Lane, names ...string) (fresh bool, waiting int,
	err error) {
	in := s.shardOf(lane.User)
	keys := s.keys(in, lane, names)
	n, err := in.taking(func(taker string) *redis.Cmd {
		return s.write(ctx, accept, keys, deliveryFor.Milliseconds(), work, maxWaiting, group, taker)
	})
	if err != nil {
		return false, 0, fmt.Errorf("accept work: %w", err)
	}
	return n == 1, max(0, -n), nil
}

// First reports whether a user's delivery that changes nothing comes for the first time.
func (s *Inbox) First(ctx context.Context, user string, names ...string) (bool, error) {
	in := s.shardOf(user)
	answer, err := reply(accept.Run(ctx, s.rdb, s.keys(in, record.Lane{User: user}, names), deliveryFor.Milliseconds()), 1)
	if err != nil {
		return false, fmt.Errorf("note delivery: %w", err)
	}
	return answer[0] == int64(1), nil
}

// Work hands over what was accepted, each lane's oldest first, until the context ends. Each piece is one replica's at a
// time: what a replica has in hand when it dies is another's within five seconds. Nothing is handed over without Beat.
// A shard whose server fails holds up no other.
func (s *Inbox) Work(ctx context.Context, handle func(*Piece)) error {
	var one sync.Mutex
	var all sync.WaitGroup
	for _, in := range s.shards {
		all.Go(func() {
			delay.RunAgain(ctx, slog.Default(), "work", func() {
				in.work(ctx, func(p *Piece) {
					one.Lock()
					defer one.Unlock()
					if ctx.Err() == nil {
						handle(p)
					}
				})
			})
		})
	}
	s.holdNow()
	all.Wait()
	return ctx.Err()
}

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
