package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
)

const (
	ownFor     = 4 * time.Second        // how long the lease of an account lasts without being renewed
	renewEvery = time.Second            // how often it is renewed
	takeEvery  = 250 * time.Millisecond // how often a replica with too few accounts tries to take free ones
	endWithin  = 10 * time.Second       // how long work under way may take when an account is given up
)

// Pending is what there is to do for an account, besides polling it.
type Pending struct {
	Audited    int64     // the number of the last audit entry: it grows with each change
	Events     int       // in the outbox
	StaleCards int       // cards
	Due        time.Time // when the next change or approval request is due; zero: none
}

// Own does what one replica does for an account that it owns. It begins nothing new when more ends, and stops when held
// does, with the lease: from then on another replica may do it. Pending comes about once a second when there is
// anything, the newest only.
type Own func(held, more context.Context, account string, pending <-chan Pending)

// sharing is one replica's part in sharing out the accounts.
type sharing struct {
	store    *client
	accounts []string // in the order in which this replica tries to take them
	own      Own
	held     map[string]*owned
	tried    map[string]*lease // those whose answer was lost
	wake     chan struct{}
}

// Share has the replicas share the accounts out: each owns its part of them, takes free ones up to that, and gives up
// the surplus. When more ends, all are given up as soon as work under way is done; when ctx ends, at once. Beat must
// run for longer than Share.
func (s *Replicas) Share(ctx, more context.Context, accounts []string, own Own) error {
	more, stop := context.WithCancel(more)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	sh := &sharing{store: s.client, accounts: s.ordered(accounts), own: own, held: map[string]*owned{},
		tried: map[string]*lease{}, wake: make(chan struct{}, 1)}
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	for {
		changed, wait := sh.settle(ctx, more)
		if more.Err() != nil && len(sh.held) == 0 {
			return ctx.Err()
		}
		stopping := more.Done()
		if more.Err() != nil {
			stopping = nil // it is known
		}
		again := time.NewTimer(wait)
		select {
		case <-stopping:
		case <-changed:
		case <-sh.wake:
		case <-again.C:
		case <-renew.C:
			sh.renew(ctx)
		}
		again.Stop()
	}
}

// ordered begins somewhere else for each replica, so that those that start together don't try the same accounts.
func (s *Replicas) ordered(accounts []string) []string {
	if len(accounts) == 0 {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.replica))
	from := int(h.Sum32()) % len(accounts) //nolint:gosec // a mere place to begin
	return slices.Concat(accounts[from:], accounts[:from])
}

// settle lets go of what has ended, gives up the surplus and takes what is missing. It returns what may change the
// shares, and how long to wait before the next check.
func (sh *sharing) settle(ctx, more context.Context) (changed <-chan struct{}, wait time.Duration) {
	sh.letGo(ctx)
	share, changed, known := sh.store.share(len(sh.accounts))
	switch {
	case more.Err() != nil:
		sh.giveUp(0)
	case !known:
	case len(sh.held) > share:
		sh.giveUp(share)
	case len(sh.held) < share:
		sh.take(ctx, more, share)
	}
	if known && len(sh.held) < share {
		return changed, takeEvery
	}
	return changed, renewEvery
}

// letGo gives back the leases of accounts whose work has ended. One that can't be given back ends by itself.
func (sh *sharing) letGo(ctx context.Context) {
	var ended []*lease
	for account, t := range sh.held {
		select {
		case <-t.ended:
			ended = append(ended, t.lease)
			sh.store.held.Delete(account)
			delete(sh.held, account)
		default:
		}
	}
	sh.store.drop(ctx, ended...)
}

// giveUp has all accounts but so many be given up when work under way is done.
func (sh *sharing) giveUp(but int) {
	for _, account := range slices.Backward(slices.Sorted(maps.Keys(sh.held))) {
		t := sh.held[account]
		if t.giving {
			continue
		}
		if but--; but < 0 {
			t.giving = true
			t.stop()
		}
	}
}

// take takes free accounts, until the replica has its share or gets no more; it stops early where a server hangs,
// because what is held elsewhere has to be renewed.
func (sh *sharing) take(ctx, more context.Context, share int) {
	begun := time.Now()
	for had := -1; had < len(sh.held) && len(sh.held) < share && time.Since(begun) < takeEvery; {
		had = len(sh.held)
		free := sh.free(ctx)
		sh.takeFree(ctx, more, free[:min(len(free), share-had)])
	}
}

// free are the accounts that nobody owns, found in one round trip, in the order in which this replica tries to take
// them. With them are those that it took without having the answer.
func (sh *sharing) free(ctx context.Context) (free []string) {
	others := slices.DeleteFunc(slices.Clone(sh.accounts), func(account string) bool { return sh.held[account] != nil })
	asked := make([]call, len(others))
	for i, account := range others {
		asked[i] = call{keys: []string{sh.store.key(keyLease, account)}}
	}
	for i, answer := range sh.store.pipelined(ctx, leaseHolder, asked) {
		holder, err := answer.Text()
		mine := sh.tried[others[i]]
		if err == nil && (holder == "" || mine != nil && holder == mine.token) {
			free = append(free, others[i])
		}
	}
	return free
}

// takeFree takes the free ones, in one round trip.
func (sh *sharing) takeFree(ctx, more context.Context, candidates []string) {
	leases, takes := make([]*lease, len(candidates)), make([]call, len(candidates))
	for i, account := range candidates {
		if leases[i] = sh.tried[account]; leases[i] == nil {
			leases[i] = newLease(sh.store.key(keyLease, account), ownFor)
		}
		takes[i] = leases[i].take(sh.store.key(keyEpoch, account), true)
	}
	until := time.Now().Add(ownFor)
	for i, answer := range sh.store.pipelined(ctx, takeLease, takes) {
		outcome, err := answer.Text()
		if delete(sh.tried, candidates[i]); err != nil {
			sh.tried[candidates[i]] = leases[i] // perhaps it was taken: the same is tried again
		} else if outcome == leaseTaken {
			sh.begin(ctx, more, candidates[i], leases[i], until)
		}
	}
}

// begin owns an account whose lease was taken.
func (sh *sharing) begin(ctx, more context.Context, account string, l *lease, until time.Time) {
	held := l.begin(ctx, until)
	begin, stop := context.WithCancel(held)
	unlink := context.AfterFunc(more, stop)
	t := &owned{lease: l, stop: stop, pending: make(chan Pending, 1), ended: make(chan struct{})}
	sh.held[account] = t
	sh.store.held.Store(account, t)
	cutShort := context.AfterFunc(begin, func() {
		limit := time.NewTimer(endWithin)
		defer limit.Stop()
		select {
		case <-limit.C:
			l.end(fmt.Errorf("%s: not given up within %s", l.key, endWithin))
		case <-t.ended:
		}
	})
	go func() {
		defer func() {
			unlink()
			cutShort()
			stop()
			close(t.ended)
			wake(sh.wake)
		}()
		delay.Run(slog.Default(), "an account's work", func() { sh.own(held, begin, account, t.pending) })
	}()
}

// renew renews all leases in one round trip, and passes on what there is to do.
func (sh *sharing) renew(ctx context.Context) {
	accounts := slices.Sorted(maps.Keys(sh.held))
	renewals := make([]call, len(accounts))
	for i, account := range accounts {
		renewals[i] = call{[]string{
			sh.store.key(keyLease, account), sh.store.key(keyOutbox, account), sh.store.key(keyRedraw, account),
			sh.store.key(keyDue, account), sh.store.key(keyApprovalsDue, account), sh.store.key(keyAudited, account),
			sh.store.key(keyMutes, account),
		}, []any{sh.held[account].lease.token, ownFor.Milliseconds()}}
	}
	begun := time.Now()
	for i, answer := range sh.store.pipelined(ctx, renewOwned, renewals) {
		t := sh.held[accounts[i]]
		found, err := reply(answer, 0)
		switch {
		case err != nil || len(found) > 0 && len(found) < 5: // what isn't renewed runs out
		case len(found) == 0:
			t.lease.end(leaseLost(t.lease.key))
		default:
			t.lease.extend(begun.Add(ownFor))
			t.take(found, begun)
		}
	}
}
