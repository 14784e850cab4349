package store

import (
	"context"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// Deliveries and the work in them are spread over so many slots of a cluster. The slots of these numbers lie so that
// each of eight equal masters has one, and of two to six none has two more than another.
const (
	shards     = 8
	firstShard = 6
)

// maxOffered is how many pieces of a shard wait to be handed over before this replica leaves what is new to others.
const maxOffered = 64

// shard is a replica's part in one shard of the work.
type shard struct {
	store  *client
	number int
	wake   chan struct{} // there is something offered; holds one

	mu      sync.Mutex
	open    bool                 // work is handed over
	heldAt  time.Time            // when this replica last asked for what says that it holds its work there
	offered []*Piece             // to be handed over; they are in hand already
	known   map[string]time.Time // by id what is in hand: zero; or was lately: when that ended
}

// newShards are all shards of an installation.
func newShards(s *client) (all []*shard) {
	for n := range shards {
		all = append(all, &shard{store: s, number: firstShard + n, wake: make(chan struct{}, 1),
			known: map[string]time.Time{}})
	}
	return all
}

// shardOf is the shard of a user: each redelivery tells the same user, whatever the configuration, and all lanes of one
// are in it.
func (s *client) shardOf(user string) *shard {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user))
	return s.shards[h.Sum32()%shards]
}

func (in *shard) key(pattern string, of ...any) string {
	return in.store.key(pattern, append([]any{in.number}, of...)...)
}

func (in *shard) laneKey(l record.Lane) string { return in.key(keyLane, l.Account, l.Team, l.User) }

// holdShards holds all shards once a second, and whenever this replica begins to work, until the context ends. Then it
// gives its work up, so that the others need not wait until they miss it. What isn't held for too long others take, so
// that work has no owner only where none lives, even while another server fails.
func (s *client) holdShards(ctx context.Context) {
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		s.holdOnce(ctx, false)
		select {
		case <-ctx.Done():
		case <-s.hold:
		case <-every.C:
		}
	}
	s.holdOnce(context.WithoutCancel(ctx), true) // if that fails, the others miss it
}

// holdNow makes holdShards hold the shards at once.
func (s *client) holdNow() { wake(s.hold) }

// wake wakes who waits for a channel that holds one, also if it doesn't wait yet.
func wake(who chan<- struct{}) {
	select {
	case who <- struct{}{}:
	default:
	}
}

// holdOnce holds the work in hand, and takes what is this replica's or nobody's; or gives it up.
func (s *client) holdOnce(ctx context.Context, leaves bool) {
	calls := make([]call, len(s.shards))
	for i, in := range s.shards {
		calls[i] = call{[]string{in.key(keyStream)},
			append([]any{group, s.replica, deadAfter.Milliseconds(), leaves}, in.holds()...)}
	}
	asked := time.Now()
	for i, answer := range s.pipelined(ctx, hold, calls) {
		in := s.shards[i]
		if _, err := in.offer(asked, answer); err == nil {
			in.mu.Lock()
			in.heldAt = asked
			in.mu.Unlock()
		}
	}
}

// takes reports whether this replica takes new work: not while too much waits to be handed over. The caller holds mu.
func (in *shard) takes() bool { return in.open && len(in.offered) < maxOffered }

// holds says whether this replica takes new work, and what it has in hand. It forgets what ended long ago: answers from
// before that come too late to be handed over.
func (in *shard) holds() (words []any) {
	in.mu.Lock()
	defer in.mu.Unlock()
	words = append(words, in.takes())
	for id, ended := range in.known {
		switch {
		case ended.IsZero():
			words = append(words, id)
		case time.Since(ended) > deadAfter:
			delete(in.known, id)
		}
	}
	return words
}

// taking runs a script that gives what is new to a taker, which this replica is if it may: "" if none is. It returns
// the script's first result.
func (in *shard) taking(run func(taker string) *redis.Cmd) (n int, err error) {
	in.mu.Lock()
	taker := ""
	if in.takes() && time.Since(in.heldAt) < deadAfter {
		taker = in.store.replica
	}
	in.mu.Unlock()
	asked := time.Now()
	return in.offer(asked, run(taker))
}

// offer takes in hand, and has handed over, what a script gave this replica that was asked then, and returns the
// script's first result. It leaves alone what it has or had in hand: the answer may be older than its end. An answer
// that comes late it drops, because others may have the work before it is held: what is still this replica's then comes
// again.
func (in *shard) offer(asked time.Time, answer *redis.Cmd) (n int, err error) {
	n, pieces, err := in.read(answer)
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.open || time.Since(asked) > beatEvery {
		return n, err
	}
	for _, p := range pieces {
		if ended, known := in.known[p.id]; !known || !ended.IsZero() && ended.Before(asked) {
			in.known[p.id], p.asked = time.Time{}, asked
			in.offered = append(in.offered, p)
		}
	}
	if len(pieces) > 0 {
		wake(in.wake)
	}
	return n, err
}

// read reads the answer of a script: a number, and what is new.
func (in *shard) read(answer *redis.Cmd) (n int, pieces []*Piece, err error) {
	found, err := reply(answer, 2)
	if err != nil {
		return 0, nil, err
	}
	number, _ := found[0].(int64)
	entries, _ := found[1].([]any)
	for _, e := range entries {
		entry, _ := e.([]any)
		if len(entry) < 2 {
			continue // it was deleted
		}
		p := &Piece{shard: in, lane: keyNone(in.key(keyStream))} // which stays if it can't be read, and its work neither
		p.id, _ = entry[0].(string)
		fields, _ := entry[1].([]any)
		for i := 1; i < len(fields); i += 2 {
			text, _ := fields[i].(string)
			switch {
			case fields[i-1] == "work":
				p.work = []byte(text)
			case fields[i-1] == "lane" && strings.HasPrefix(text, keyOf(p.lane, "lane:")):
				p.lane = text
			}
		}
		pieces = append(pieces, p)
	}
	return int(number), pieces, nil
}

// work hands over what is offered until the context ends. What it doesn't another replica takes.
func (in *shard) work(ctx context.Context, handle func(*Piece)) {
	in.opened(true)
	defer in.opened(false)
	for {
		select {
		case <-ctx.Done():
			return
		case <-in.wake:
		}
		for p := in.next(); p != nil && ctx.Err() == nil; p = in.next() {
			handle(p)
		}
	}
}

// opened begins or ends that work is handed over. What wasn't yet is no longer in hand.
func (in *shard) opened(open bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = open
	for _, p := range in.offered {
		delete(in.known, p.id)
	}
	in.offered = nil
}

// next is what is to be handed over next; nil if there is nothing. What has waited for so long that another replica may
// have it, if this process was paused, is no longer in hand: it comes again if it is still this one's.
func (in *shard) next() *Piece {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.offered) > 0 {
		p := in.offered[0]
		in.offered = in.offered[1:]
		if time.Since(p.asked) < deadAfter {
			return p
		}
		delete(in.known, p.id)
	}
	return nil
}

// end takes work out of hand, because it is finished or another replica has it. If that replica dies in turn and the
// work comes back, it is handed over again.
func (in *shard) end(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.known[id] = time.Now()
}
