package store

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
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
	heldAt  time.Time            // when this replica last asked for what says that it lives there
	doubt   bool                 // there may be work of this replica's that was never handed over
	offered []offer              // to be handed over
	waiting int                  // pieces in them
	known   map[string]time.Time // by id what is in hand: zero; or was lately: when that ended
}

// offer is work that Redis gave this replica, by an answer to what was asked then.
type offer struct {
	asked  time.Time
	pieces []*Piece
}

// newShards are all shards of an installation.
func newShards(s *client) (all []*shard) {
	for n := range shards {
		all = append(all, &shard{store: s, number: firstShard + n, wake: make(chan struct{}, 1), known: map[string]time.Time{}})
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
// gives them up, so that the others need not wait until they miss it. Who has a shard's beat takes work in hand there,
// so that work has no owner only where none lives, even while another server fails.
func (s *client) holdShards(ctx context.Context) {
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		s.holdOnce(ctx)
		select {
		case <-ctx.Done():
		case <-s.hold:
		case <-every.C:
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	p := s.rdb.Pipeline()
	for _, in := range s.shards {
		p.ZRem(ctx, in.key(keyShardBeats), s.replica)
	}
	_, _ = p.Exec(ctx) // else its beats run out
}

// holdNow has the shards be held at once.
func (s *client) holdNow() {
	select {
	case s.hold <- struct{}{}:
	default:
	}
}

func (s *client) holdOnce(ctx context.Context) {
	calls := make([]call, len(s.shards))
	for i, in := range s.shards {
		in.mu.Lock()
		calls[i] = call{[]string{in.key(keyStream), in.key(keyShardBeats)}, []any{group, s.replica, deadAfter.Milliseconds(), in.works()}}
		in.mu.Unlock()
	}
	asked := time.Now()
	for i, answer := range s.pipelined(ctx, hold, calls) {
		s.shards[i].held(asked, answer)
	}
}

// held takes the answer of hold.
func (in *shard) held(asked time.Time, answer *redis.Cmd) {
	given, pieces, err := in.read(answer)
	in.mu.Lock()
	defer in.mu.Unlock()
	if err == nil {
		in.heldAt = asked
	}
	in.doubt = in.doubt || err != nil || given > 0
	in.offer(asked, pieces)
	in.ring()
}

// works reports whether this replica takes work in hand: not if so much waits to be handed over. in.mu must be held.
func (in *shard) works() bool { return in.open && in.waiting < maxOffered }

// lives reports whether this replica was lately known to live there. in.mu must be held.
func (in *shard) lives() bool { return time.Since(in.heldAt) < deadAfter }

// taking runs a script that gives what is new to a taker, which this replica is if it may: "" if none is. It returns
// the script's first result.
func (in *shard) taking(run func(taker string) *redis.Cmd) (n int, err error) {
	in.mu.Lock()
	taker := ""
	if in.works() && in.lives() {
		taker = in.store.replica
	}
	in.mu.Unlock()
	asked := time.Now()
	n, pieces, err := in.read(run(taker))
	in.mu.Lock()
	defer in.mu.Unlock()
	in.doubt = in.doubt || err != nil && taker != ""
	if in.offer(asked, pieces); len(pieces) > 0 {
		in.ring()
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
		id, _ := entry[0].(string)
		fields, _ := entry[1].([]any)
		values := map[string]any{}
		for i := 0; i+1 < len(fields); i += 2 {
			name, _ := fields[i].(string)
			values[name] = fields[i+1]
		}
		pieces = append(pieces, in.piece(redis.XMessage{ID: id, Values: values}))
	}
	return int(number), pieces, nil
}

func (in *shard) piece(m redis.XMessage) *Piece {
	work, _ := m.Values["work"].(string)
	lane, _ := m.Values["lane"].(string)
	if !strings.HasPrefix(lane, keyOf(in.key(keyStream), "lane:")) {
		lane = keyNone(in.key(keyStream)) // it can't be read, and its work neither
	}
	return &Piece{shard: in, id: m.ID, lane: lane, work: []byte(work)}
}

// offer has pieces be handed over. in.mu must be held.
func (in *shard) offer(asked time.Time, pieces []*Piece) {
	if len(pieces) > 0 {
		in.offered = append(in.offered, offer{asked, pieces})
		in.waiting += len(pieces)
	}
}

func (in *shard) ring() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
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
		doubt, offered := in.take()
		if doubt && in.handPending(ctx, handle) != nil {
			in.doubted()
		}
		for _, o := range offered {
			if in.hand(ctx, o, handle) != nil {
				in.doubted()
			}
			in.mu.Lock()
			in.waiting -= len(o.pieces)
			in.mu.Unlock()
		}
	}
}

func (in *shard) opened(open bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = open
}

// take takes what is offered, and deletes what ended so long ago that no answer holds it that may still be handed over.
// In doubt there is something to be read, too, while this replica lives.
func (in *shard) take() (doubt bool, offered []offer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	maps.DeleteFunc(in.known, func(_ string, ended time.Time) bool { return !ended.IsZero() && time.Since(ended) > deadAfter })
	offered, in.offered = in.offered, nil
	if doubt = in.doubt && in.lives(); doubt {
		in.doubt = false
	}
	return doubt, offered
}

// doubted notes that there may be work that wasn't handed over. It is looked for when the shard is held next.
func (in *shard) doubted() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.doubt = true
}

// errDead says that this replica has no recent beat, so that the others take over its work; errKnown, that some of the
// work may have ended a moment ago.
var (
	errDead  = errors.New("no beat lately")
	errKnown = errors.New("known already")
)

// handPending hands over what is this replica's already and not in hand, as after a lost answer.
func (in *shard) handPending(ctx context.Context, handle func(*Piece)) (faults error) {
	for last := "0"; ; {
		asked := time.Now()
		streams, err := in.store.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: in.store.replica, Streams: []string{in.key(keyStream), last}, Count: 64, Block: -1,
		}).Result()
		if errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "NOGROUP") || err == nil && (len(streams) == 0 || len(streams[0].Messages) == 0) {
			return faults
		}
		if err != nil {
			return err
		}
		o := offer{asked: asked}
		for _, m := range streams[0].Messages {
			o.pieces = append(o.pieces, in.piece(m))
			last = m.ID
		}
		if err := in.hand(ctx, o, handle); errors.Is(err, errKnown) {
			faults = err
		} else if err != nil {
			return err
		}
	}
}

// hand hands over what isn't in hand.
func (in *shard) hand(ctx context.Context, o offer, handle func(*Piece)) (fault error) {
	for _, p := range o.pieces {
		fresh, err := in.begin(p.id, o.asked)
		if err != nil && !errors.Is(err, errKnown) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if fault = errors.Join(fault, err); fresh {
			handle(p)
		}
	}
	return fault
}

// begin takes work in hand, unless it is already. It fails if this process was paused since it asked for the work, and
// with errKnown if it had the work a moment ago: what is read may be older than its end, or another replica gave it
// back.
func (in *shard) begin(id string, asked time.Time) (fresh bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	ended, known := in.known[id]
	switch {
	case !in.lives() || time.Since(asked) >= deadAfter:
		return false, errDead
	case known && ended.IsZero():
		return false, nil
	case known:
		return false, errKnown
	}
	in.known[id] = time.Time{}
	return true, nil
}

// end takes work out of hand, because it is finished or another replica has it. If that replica dies in turn and the
// work comes back, it is handed over again.
func (in *shard) end(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.known[id] = time.Now()
}
