package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// deliveryFor is how long a delivery is stored. Slack's signatures are refused after five minutes. Anybody in a channel
// makes deliveries: Slack hands over
// 30,000 an hour at most.
const deliveryFor = time.Hour

// group is each stream's consumer group. Each replica is a consumer of it.
const group = "workers"

// maxWaiting is how many lines may wait in a lane behind the one whose turn it is. Nobody types as many on purpose.
const maxWaiting = 64

// takeNew is a function of scripts: it gives a replica the oldest work of a stream that none has had yet, as id and
// fields. Who makes the group first has it begin at the stream's first entry.
const takeNew = `
local function takeNew(stream, group, replica)
  local function read()
    return redis.pcall('XREADGROUP', 'GROUP', group, replica, 'COUNT', 64, 'STREAMS', stream, '>')
  end
  local found = read()
  if found and found.err then
    redis.pcall('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
    found = read()
  end
  return found and found[1] and found[1][2] or {}
end`

// accept accepts a delivery once and stores the work in it, if there is any. A delivery has several names when it can
// come in several ways.
//
// Work belongs to a lane, and is carried out in order there. The lane's list begins with the id in the stream of the
// work whose turn it is; behind it, as they were accepted, wait those that aren't in the stream yet. No lane gets
// stuck: the script that begins a list also puts the work of its first id into the stream (accept), and the one that
// takes that work off the stream takes the id off the list, too, and puts the next work in the place of both (settle).
// So behind each list stands work that a replica has in hand, or gets when that replica dies.
// KEYS[1] the stream, KEYS[2] the lane, the others the delivery's names; ARGV[1] how long these are stored in ms,
// ARGV[2] the work, may be left out,
// ARGV[3] how many may wait, ARGV[4] the group, ARGV[5] the replica that takes what is new in hand, ” if none does.
// Result: 1 if none of the names was known, else 0; -n if n wait already: then the delivery was refused, once for all.
// Then what is new.
var accept = newScript(takeNew + `
local fresh = 1
for i = 3, #KEYS do
  if not redis.call('SET', KEYS[i], '1', 'NX', 'PX', ARGV[1]) then fresh = 0 end
end
if fresh == 0 or not ARGV[2] then return {fresh, {}} end
local head = redis.call('LINDEX', KEYS[2], 0)
local turn = head and redis.pcall('XRANGE', KEYS[1], head, head)
if turn and not turn[1] then -- its work is gone, or it is no id: the next one's turn comes
  redis.call('LPOP', KEYS[2])
  local work = redis.call('LPOP', KEYS[2])
  if work then redis.call('LPUSH', KEYS[2], redis.call('XADD', KEYS[1], '*', 'work', work, 'lane', KEYS[2])) end
end
local lane = redis.call('LLEN', KEYS[2])
if lane > tonumber(ARGV[3]) then return {1 - lane, {}} end
if lane > 0 then
  redis.call('RPUSH', KEYS[2], ARGV[2])
  return {1, {}}
end
redis.call('RPUSH', KEYS[2], redis.call('XADD', KEYS[1], '*', 'work', ARGV[2], 'lane', KEYS[2]))
return {1, ARGV[5] ~= '' and takeNew(KEYS[1], ARGV[4], ARGV[5]) or {}}`)

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
func (s *Inbox) Accept(ctx context.Context, work []byte, lane record.Lane, names ...string) (fresh bool, waiting int, err error) {
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
			in.work(ctx, func(p *Piece) {
				one.Lock()
				defer one.Unlock()
				if ctx.Err() == nil {
					handle(p)
				}
			})
		})
	}
	s.holdNow()
	all.Wait()
	return ctx.Err()
}
