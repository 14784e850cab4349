package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// How often a replica says that it lives, and how long after its last beat the others count it as dead.
const (
	beatEvery = time.Second
	deadAfter = 3 * time.Second
)

// beat says that a replica lives, unless the state is of another version than it reads. Redis' own clock is right for
// all.
// KEYS[1] the beats, KEYS[2] the version of the state, KEYS[3] the beats of replicas that switch all changes off,
// KEYS[4] one of keyNone;
// ARGV[1] the replica, ARGV[2] after how many ms without a beat a replica is dead, ARGV[3] the version that the replica
// reads, which an empty Redis takes on, ARGV[4] 1 if it switches all changes off. Result: the version of the state, and
// if it is the one that the replica reads, how many replicas switch changes off, Redis' time in Unix µs, then all
// living ones in no order.
// After ZREMRANGEBYSCORE a full Redis takes the ZADD, too.
var beat = newScript(newEnough + `
local version = redis.call('GET', KEYS[2])
if not version then
  version = ARGV[3]
  redis.call('SET', KEYS[2], version)
end
if version ~= ARGV[3] then return {version} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if ARGV[4] == '1' then
  redis.call('ZADD', KEYS[3], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
else
  redis.call('ZREM', KEYS[3], ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[2])
local answer = {version, tostring(redis.call('ZCARD', KEYS[3])), t[1] .. string.format('%06d', t[2])}
for _, replica in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  table.insert(answer, replica)
end
return answer`)

// hear tells a process that doesn't beat what a beat would have told it about switches, the time and the state's
// version: in a cluster each server has a clock of its own. KEYS[1] the beats of replicas that switch all changes off,
// KEYS[2] the version of the state, KEYS[3] one of keyNone; ARGV[1] after how many ms without a beat a replica is dead.
// Result: how many of them live, Redis' time in Unix µs, and the version, empty in an empty Redis.
var hear = newScript(newEnough + `
local t = redis.call('TIME')
local off = redis.call('ZCOUNT', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[1], '+inf')
return {tostring(off), t[1] .. string.format('%06d', t[2]), redis.call('GET', KEYS[2]) or ''}`)

// versionError is ErrNewer or ErrOlder if the state is of another version than this process reads.
func versionError(version string) error {
	switch n, err := strconv.Atoi(version); {
	case err != nil:
		return fmt.Errorf("%w: version %q", ErrDamaged, version)
	case n > stateVersion:
		return ErrNewer
	case n < stateVersion:
		return ErrOlder
	}
	return nil
}

// newReplica names a process so that those that began first come first.
func newReplica() string { return fmt.Sprintf("%013d-%s", time.Now().UnixMilli(), rand.Text()) }

// peers is what a replica knows of all of them.
type peers struct {
	mu      sync.Mutex
	living  []string  // those that began first come first
	heardAt time.Time // when; zero: never yet
	off     bool      // one of them switches all changes off
	away    error     // why Redis can't be used; nil: it can
	changed chan struct{}
}

// Beat makes this process one of the replicas until the context ends. Then it signs off, so that the others need not
// wait until they miss it. It waits while Redis is away, and fails with ErrNewer or ErrOlder when Redis
// holds the state of another version.
func (s *Replicas) Beat(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	var holding sync.WaitGroup
	defer s.leave(ctx)
	defer holding.Wait()
	defer end()
	holdShards := sync.OnceFunc(func() { holding.Go(func() { s.holdShards(ctx) }) }) // once it is known that the state is of this version
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	for {
		err := s.beat(ctx)
		if errors.Is(err, ErrNewer) || errors.Is(err, ErrOlder) {
			return err
		}
		if s.noteAway(err) && ctx.Err() == nil {
			s.away(err)
		}
		if err == nil {
			holdShards()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

func (s *Replicas) beat(ctx context.Context) error {
	asked := time.Now()
	keys := []string{s.key(keyBeats), s.key(keyVersion), s.key(keyOff), keyNone(s.key(keyOff))}
	answer, err := words(beat.Run(ctx, s.rdb, keys, s.replica, deadAfter.Milliseconds(), stateVersion, s.off), 1)
	if err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	if err := versionError(answer[0]); err != nil {
		return err
	}
	if len(answer) < 3 {
		return fmt.Errorf("beat: %w", ErrDamaged)
	}
	if err := s.noteTime(asked, answer[2]); err != nil {
		return err
	}
	living := answer[3:]
	slices.Sort(living)
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	s.peers.heardAt, s.peers.off = asked, answer[1] != "0"
	if !slices.Equal(living, s.peers.living) {
		s.peers.living = living
		close(s.peers.changed)
		s.peers.changed = make(chan struct{})
	}
	return nil
}

// Hear asks whether a living replica switches changes off, and reads Redis' clock, for a process that doesn't beat, or
// not yet. It fails with ErrNewer or ErrOlder when Redis holds the state of another version.
func (s *Replicas) Hear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	asked := time.Now()
	answer, err := words(hear.Run(ctx, s.rdb, []string{s.key(keyOff), s.key(keyVersion), keyNone(s.key(keyOff))}, deadAfter.Milliseconds()), 3)
	if err != nil {
		s.noteAway(err)
		return fmt.Errorf("ask for redis' time and the switch of changes: %w", s.withVersion(ctx, err))
	}
	if answer[2] != "" {
		if err := versionError(answer[2]); err != nil {
			return err
		}
	}
	s.peers.mu.Lock()
	s.peers.off = answer[0] != "0"
	s.peers.mu.Unlock()
	return s.noteTime(asked, answer[1])
}

// noteTime notes Redis' time in Unix µs, as a script answered it that was asked then.
func (s *Replicas) noteTime(asked time.Time, answer string) error {
	micros, err := strconv.ParseInt(answer, 10, 64)
	if err != nil {
		return fmt.Errorf("read redis' time: %w", err)
	}
	s.clocks.NoteRedis(asked, time.UnixMicro(micros))
	return nil
}

// leave takes this replica off the living ones. Another one takes over the work that it left.
func (s *Replicas) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	_ = s.rdb.ZRem(ctx, s.key(keyBeats), s.replica).Err() // else its beat runs out
	_ = s.rdb.ZRem(ctx, s.key(keyOff), s.replica).Err()   // likewise
}

// Off implements policy.Switch: a living replica's configuration switches all changes off, as this one last heard.
func (s *Replicas) Off() bool {
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	return s.peers.off
}

// noteAway notes whether a call to Redis failed and why, and reports whether there is something to say about it.
func (s *Replicas) noteAway(err error) bool {
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	before := s.peers.away
	s.peers.away = err
	return before != nil || err != nil
}

// Away is why Redis can't be used, as this replica last heard; nil: it can.
func (s *Replicas) Away() error {
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	return s.peers.away
}

// Living is how many replicas live, as this one last heard; ok is false when it hasn't lately.
func (s *Replicas) Living() (n int, ok bool) {
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	return len(s.peers.living), time.Since(s.peers.heardAt) < deadAfter
}

// share is how many of so many accounts are this replica's; ok is false when it hasn't heard of the others lately. The
// living ones split them evenly; where that leaves a rest, those that began first have one more each.
func (s *client) share(accounts int) (n int, changed <-chan struct{}, ok bool) {
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	me := slices.Index(s.peers.living, s.replica)
	if me < 0 || time.Since(s.peers.heardAt) >= deadAfter {
		return 0, s.peers.changed, false
	}
	n = accounts / len(s.peers.living)
	if me < accounts%len(s.peers.living) {
		n++
	}
	return n, s.peers.changed, true
}
