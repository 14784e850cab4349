package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/delay"
)

// deliveryFor is how long a delivery is stored. Slack's signatures are refused after five minutes. Anybody in a channel makes deliveries: Slack hands over
// 30,000 an hour at most.
const deliveryFor = time.Hour

// group is the stream's consumer group. Each replica is a consumer of it.
const group = "workers"

// maxWaiting is how many lines may wait in a lane behind the one whose turn it is. Nobody types as many on purpose.
const maxWaiting = 64

// accept accepts a delivery once and stores the work in it, if there is any. A delivery has several names when it can come in several ways.
//
// Work belongs to a lane, one person's lines on one account, and is carried out in order there. The lane's list begins with the id in the stream of the
// work whose turn it is; behind it, as they were accepted, wait those that aren't in the stream yet. No lane gets stuck: the script that begins a list
// also puts the work of its first id into the stream (accept), and the one that takes that work off the stream takes the id off the list, too, and puts the
// next work in the place of both (settle). So behind each list stands work that a replica has in hand, or gets when that replica dies.
// KEYS[1] the stream, KEYS[2] the lane, the others the delivery's names; ARGV[1] how long these are stored in ms, ARGV[2] the work, may be left out,
// ARGV[3] how many may wait.
// Result: 1 if none of the names was known, else 0; -n if n wait already: then the delivery was refused, once for all.
var accept = redis.NewScript(`
local fresh = 1
for i = 3, #KEYS do
  if not redis.call('SET', KEYS[i], '1', 'NX', 'PX', ARGV[1]) then fresh = 0 end
end
if fresh == 0 or not ARGV[2] then return fresh end
local lane = redis.call('LLEN', KEYS[2])
if lane > tonumber(ARGV[3]) then return 1 - lane end
if lane == 0 then
  redis.call('RPUSH', KEYS[2], redis.call('XADD', KEYS[1], '*', 'work', ARGV[2], 'lane', KEYS[2]))
else
  redis.call('RPUSH', KEYS[2], ARGV[2])
end
return 1`)

// Accept stores work under the names of its delivery, in one step, so that a delivery that comes again is no new work. Work of one lane is handed over
// in the order in which it was accepted. If the lane is full, nothing is stored but the names, and waiting is how many wait in it; else it is 0. After an
// error the outcome is unknown: the work may be stored.
func (s *Inbox) Accept(ctx context.Context, work []byte, lane string, names ...string) (fresh bool, waiting int, err error) {
	n, err := s.write(ctx, accept, s.deliveryKeys(lane, names), deliveryFor.Milliseconds(), work, maxWaiting).Int()
	if err != nil {
		return false, 0, fmt.Errorf("accept work: %w", err)
	}
	return n == 1, max(0, -n), nil
}

// First reports whether a delivery that changes nothing comes for the first time.
func (s *Inbox) First(ctx context.Context, names ...string) (bool, error) {
	n, err := accept.Run(ctx, s.rdb, s.deliveryKeys("", names), deliveryFor.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("note delivery: %w", err)
	}
	return n == 1, nil
}

func (s *Inbox) deliveryKeys(lane string, names []string) []string {
	keys := []string{s.key(keyStream), s.key(keyLane, lane)}
	for _, name := range names {
		keys = append(keys, s.key(keyDelivery, name))
	}
	return keys
}

// takeOver gives a replica the work in hand of dead replicas, and deletes these from the group. A replica that merely was away and comes back finds
// its work gone.
// KEYS[1] the stream, KEYS[2] the beats; ARGV[1] the group, ARGV[2] the replica, ARGV[3] after how many ms without a beat a replica is dead.
// Result: how many pieces of work it was given.
var takeOver = redis.NewScript(`
local t = redis.call('TIME')
local dead = t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[3]
local given = 0
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if consumers.err then return 0 end
for _, c in ipairs(consumers) do
  local name = c[2]
  if name ~= ARGV[2] and tonumber(redis.call('ZSCORE', KEYS[2], name) or '0') < dead then
    local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1000, name)
    for _, p in ipairs(pending) do
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, p[1], 'JUSTID')
      given = given + 1
    end
    if #pending < 1000 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name) end
  end
end
return given`)

// working is a replica's part in working the stream off.
type working struct {
	store *Inbox
	over  time.Time // when the work of dead replicas was last taken over

	mu     sync.Mutex
	inHand map[string]bool // by id; false: finished since clearFinished
}

// errDead says that this replica has no recent beat, so that the others take over its work.
var errDead = errors.New("no beat lately")

// Work hands over what was accepted, each lane's oldest first, until the context ends. Each piece is one replica's at a time: what a replica has in hand
// when it dies is another's within five seconds. Nothing is handed over without Beat.
func (s *Inbox) Work(ctx context.Context, handle func(*Piece)) error {
	w := &working{store: s, inHand: map[string]bool{}}
	doubt := false // whether there may be work of this replica's that was never handed over
	for ctx.Err() == nil {
		_, changed, living := s.share(0)
		if !living {
			select {
			case <-ctx.Done():
			case <-changed:
			case <-time.After(takeEvery):
			}
			continue
		}
		given, err := w.takeOver(ctx)
		if err == nil {
			doubt = doubt || given
			err = w.hand(ctx, doubt, handle)
		}
		// After an error too: when an answer is lost on its way, what was in it is this replica's all the same.
		doubt = err != nil
		if err != nil {
			s.recover(ctx, err)
		}
	}
	return ctx.Err()
}

// takeOver takes the work of dead replicas over once a second, and reports whether there was any.
func (w *working) takeOver(ctx context.Context) (given bool, err error) {
	if time.Since(w.over) < beatEvery {
		return false, nil
	}
	n, err := w.store.write(ctx, takeOver, []string{w.store.key(keyStream), w.store.key(keyBeats)}, group, w.store.replica, deadAfter.Milliseconds()).Int()
	if errors.Is(err, errUncopied) {
		n, err = 1, nil // perhaps; after a failover the next takeover finds it
	}
	if err == nil {
		w.over = time.Now()
	}
	return n > 0, err
}

// hand hands over what is new; in doubt, first what is this replica's already and not in hand.
func (w *working) hand(ctx context.Context, doubt bool, handle func(*Piece)) error {
	w.clearFinished()
	for last := "0"; doubt; {
		mine, err := w.store.read(ctx, last)
		if err != nil || len(mine) == 0 {
			if err != nil {
				return err
			}
			break
		}
		last = mine[len(mine)-1].ID
		if err := w.handEach(ctx, mine, handle); err != nil {
			return err
		}
	}
	fresh, err := w.store.read(ctx, ">")
	if err != nil {
		return err
	}
	return w.handEach(ctx, fresh, handle)
}

// handEach hands over what isn't in hand. What it doesn't, when it fails, another replica takes.
func (w *working) handEach(ctx context.Context, msgs []redis.XMessage, handle func(*Piece)) error {
	for _, m := range msgs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, _, living := w.store.share(0); !living {
			return errDead // this process was paused since it asked
		}
		if !w.take(m.ID) {
			continue
		}
		work, _ := m.Values["work"].(string)
		lane, _ := m.Values["lane"].(string)
		handle(&Piece{working: w, id: m.ID, lane: lane, work: []byte(work)})
	}
	return nil
}

// clearFinished deletes what is finished. Until then it isn't taken again, because what is read may be older than its end.
func (w *working) clearFinished() {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.inHand, func(_ string, inHand bool) bool { return !inHand })
}

// take takes work in hand; false if it is already, or was a moment ago.
func (w *working) take(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.inHand[id]; known {
		return false
	}
	w.inHand[id] = true
	return true
}

// leave takes work out of hand, because it is finished or another replica has it. If that replica dies in turn and the work comes back, it is
// handed over again.
func (w *working) leave(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inHand[id] = false
}

// read waits up to half a second for work, so that a stop is noticed soon. From "0" on it gives what is this replica's, without waiting.
func (s *Inbox) read(ctx context.Context, start string) ([]redis.XMessage, error) {
	streams, err := s.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: s.replica, Streams: []string{s.key(keyStream), start}, Count: 64, Block: opTimeout / 2,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil || len(streams) == 0 {
		return nil, err
	}
	return streams[0].Messages, nil
}

// recover makes the group if there is none, as at the first start and after Redis was emptied, and waits a little after any other error.
func (s *Inbox) recover(ctx context.Context, cause error) {
	if redis.HasErrorPrefix(cause, "NOGROUP") {
		err := s.rdb.XGroupCreateMkStream(ctx, s.key(keyStream), group, "0").Err()
		if err == nil || redis.HasErrorPrefix(err, "BUSYGROUP") {
			return
		}
	}
	_ = delay.Sleep(ctx, opTimeout/4)
}
