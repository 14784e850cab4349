package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// seenFor is how long a delivery is remembered. Slack's signatures are refused after five minutes.
const seenFor = time.Hour

// The stream's consumer group. There is one consumer: only the leading replica works.
const (
	group    = "workers"
	consumer = "leader"
)

// accept takes a delivery once and writes down the work in it, if there is any. A delivery has several names when it can come in several ways.
// KEYS[1] the stream, the others the delivery's names; ARGV[1] how long they are remembered in ms, ARGV[2] the work, may be left out.
// Result: 1 if none of the names was known, else 0.
var accept = redis.NewScript(`
local fresh = 1
for i = 2, #KEYS do
  if not redis.call('SET', KEYS[i], '1', 'NX', 'PX', ARGV[1]) then fresh = 0 end
end
if fresh == 1 and ARGV[2] then redis.call('XADD', KEYS[1], '*', 'work', ARGV[2]) end
return fresh`)

// Accept writes work down under the names of its delivery, in one step, so that a delivery that comes again is no new work.
// After an error the outcome is unknown: the work may have been written down.
func (s *Store) Accept(ctx context.Context, work []byte, names ...string) (fresh bool, err error) {
	n, err := accept.Run(ctx, s.rdb, deliveryKeys(names), seenFor.Milliseconds(), work).Int()
	if err != nil {
		return false, fmt.Errorf("accept work: %w", err)
	}
	return n == 1, nil
}

// First reports whether a delivery that changes nothing comes for the first time.
func (s *Store) First(ctx context.Context, names ...string) (bool, error) {
	n, err := accept.Run(ctx, s.rdb, deliveryKeys(names), seenFor.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("note delivery: %w", err)
	}
	return n == 1, nil
}

func deliveryKeys(names []string) []string {
	keys := []string{keyStream}
	for _, name := range names {
		keys = append(keys, keySeen(name))
	}
	return keys
}

// Work hands over what was accepted, oldest first, beginning with what an earlier process did not finish. Whoever gets work calls done
// when it is carried out; until then it comes again after a restart. Work returns when the context ends.
func (s *Store) Work(ctx context.Context, handle func(work []byte, done func(context.Context) error)) error {
	// Only the leader works, so what is pending belongs to a process that is gone.
	last, pending := "0", true
	for ctx.Err() == nil {
		start := ">"
		if pending {
			start = last
		}
		msgs, err := s.read(ctx, start)
		if err != nil {
			s.recover(ctx, err)
		}
		// After an error too: when an answer is lost on its way, what was in it is pending, behind all that was handed over.
		pending = err != nil || pending && len(msgs) > 0
		for _, m := range msgs {
			if ctx.Err() != nil {
				break // the next leader takes it
			}
			last = m.ID
			work, _ := m.Values["work"].(string)
			handle([]byte(work), func(ctx context.Context) error { return s.finish(ctx, m.ID) })
		}
	}
	return ctx.Err()
}

// read waits up to half a second for work, so that a stop is noticed soon. From "0" on it gives what is pending, without waiting.
func (s *Store) read(ctx context.Context, start string) ([]redis.XMessage, error) {
	streams, err := s.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: consumer, Streams: []string{keyStream, start}, Count: 64, Block: opTimeout / 2,
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
func (s *Store) recover(ctx context.Context, cause error) {
	if redis.HasErrorPrefix(cause, "NOGROUP") {
		err := s.rdb.XGroupCreateMkStream(ctx, keyStream, group, "0").Err()
		if err == nil || redis.HasErrorPrefix(err, "BUSYGROUP") {
			return
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(opTimeout / 4):
	}
}

func (s *Store) finish(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*opTimeout)
	defer cancel()
	_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.XAck(ctx, keyStream, group, id)
		p.XDel(ctx, keyStream, id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("finish work: %w", err)
	}
	return nil
}
