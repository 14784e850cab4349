package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
)

// How often a replica says that it lives, and how long after its last beat the others count it as dead.
const (
	beatEvery = time.Second
	deadAfter = 3 * time.Second
)

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
	holdShards := sync.OnceFunc(func() {
		holding.Go(func() { delay.RunAgain(ctx, slog.Default(), "beats", func() { s.holdShards(ctx) }) })
	}) // once it is known that the state is of this version
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	for {
		err := s.beat(ctx, s.replica)
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

// Hear asks whether a living replica switches changes off, how many live, and reads Redis' clock, for a process that
// doesn't beat, or not yet. It fails with ErrNewer or ErrOlder when Redis holds the state of another version.
func (s *Replicas) Hear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.beat(ctx, "")
}

// beat says that a replica lives, "" if none does, and notes what Redis answers.
func (s *Replicas) beat(ctx context.Context, replica string) error {
	asked := time.Now()
	keys := []string{s.key(keyBeats), s.key(keyVersion), s.key(keyOff), keyNone(s.key(keyOff))}
	answer, err := words(beat.Run(ctx, s.rdb, keys, replica, deadAfter.Milliseconds(), stateVersion, s.off), 1)
	if err != nil {
		s.noteAway(err)
		return fmt.Errorf("ask for redis' time and the switch of changes: %w", s.withVersion(ctx, err))
	}
	if err := versionError(answer[0]); answer[0] != "" && err != nil {
		return err
	}
	if len(answer) < 3 {
		return fmt.Errorf("beat: %w", ErrDamaged)
	}
	micros, err := strconv.ParseInt(answer[2], 10, 64)
	if err != nil {
		return fmt.Errorf("read redis' time: %w", err)
	}
	s.clocks.NoteRedis(asked, time.UnixMicro(micros))
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
