package store

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// PostSlot takes the right to post one message to a channel, if so many more are left for others; wait is how long
// until there is one, 0 if it was given.
func (s *Slack) PostSlot(ctx context.Context, channel string, perSecond float64, burst, keep int) (wait time.Duration,
	err error) {
	burst = max(1, burst)
	ms, err := takeSlot.Run(ctx, s.rdb, []string{s.key(keyPace, channel)}, perSecond, burst, kept(keep, burst)).Int64()
	return time.Duration(ms) * time.Millisecond, wrap(err, "take a post of %s", channel)
}

// How long who waits for an edit is to ask again, at most, and how late it may: until then others leave it one.
// Meanwhile something more urgent may have come that it would edit, or one that waits before it may be gone.
const (
	editAgain = 5 * time.Second
	editGrace = time.Second
)

// EditSlot takes the right to edit one message, if nothing that waits is due before it, and so many more are left for
// others; wait is how long until it is to be asked for again, 0 if it was given.
func (s *Slack) EditSlot(ctx context.Context, perMinute int, turn record.EditTurn) (wait time.Duration, err error) {
	// A fifth of the minute's edits may come at once, so that clicks are answered without a wait; the bucket fills with
	// the rest in a minute, so that in no minute there are more.
	atOnce := max(1, perMinute/5)
	keys := []string{s.key(keyEdits), s.key(keyEditsDue), s.key(keyEditsNext)}
	ms, err := takeEdit.Run(ctx, s.rdb, keys, max(float64(perMinute-atOnce), 0.5)/60, atOnce, kept(turn.Keep, atOnce),
		turn.Of, turn.Due.UnixMilli(),
		editAgain.Milliseconds(), editGrace.Milliseconds()).Int64()
	return time.Duration(ms) * time.Millisecond, wrap(err, "take an edit")
}

// kept is how many of a bucket are left for others: never all.
func kept(keep, burst int) int { return max(0, min(keep, burst-1)) }

// linkFor is how long a link counts as taken without being renewed: what a dead replica held is free after it.
const linkFor = 10 * time.Second

// TakeLink takes a link, or keeps it for another ten seconds, if with it at most so many are taken by all replicas
// together. One that is refused is no longer held.
func (s *Slack) TakeLink(ctx context.Context, id string, most int) (held bool, err error) {
	n, err := takeLink.Run(ctx, s.rdb, []string{s.key(keyLinks)}, id, most, linkFor.Milliseconds()).Int()
	return n == 1, wrap(err, "take link")
}

// DropLink gives a link back.
func (s *Slack) DropLink(ctx context.Context, id string) error {
	return wrap(s.rdb.ZRem(ctx, s.key(keyLinks), id).Err(), "drop link")
}

// peopleFor is how long a mark is stored: longer than what was known before it is used.
const peopleFor = 10 * time.Minute

// PeopleMark is a word that changes when what is known of a user, or of another thing of the workspace, is stale; ""
// when it didn't change lately.
func (s *Slack) PeopleMark(ctx context.Context, of string) (string, error) {
	return word(s.rdb.Get(ctx, s.key(keyPeople, of)))
}

// PeopleChanged changes that word, for all replicas.
func (s *Slack) PeopleChanged(ctx context.Context, of string) error {
	return wrap(s.rdb.Set(ctx, s.key(keyPeople, of), rand.Text(), peopleFor).Err(), "mark %s as changed", of)
}

// callTimeout bounds one call of Redis with all its steps: two seconds, so that a click is answered within Slack's
// three.
func (s *client) callTimeout() time.Duration { return 2 * s.timeout }

// once is a hook that bounds every call and has no command sent twice: a cluster's client repeats commands whatever its
// MaxRetries. So an error of dialling means that nothing was sent, and what counts (audit entries) or takes (work)
// happens once.
type once struct {
	timeout time.Duration         // of a call
	lost    func(context.Context) // a server didn't answer
}

// DialHook implements redis.Hook.
func (once) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (o once) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		bound, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		err := next(bound, unrepeated{cmd})
		o.note(ctx, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook. Pipelines go to one server, whose client repeats nothing.
func (o once) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		return next(ctx, cmds)
	}
}

// note handles an error that is no answer of a server. The server may be dead, and another one takes its place.
func (o once) note(ctx context.Context, err error) {
	var answer redis.Error
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) && !errors.As(err, &answer) {
		o.lost(ctx)
	}
}

// unrepeated is a command that no client repeats.
type unrepeated struct{ redis.Cmder }

// NoRetry implements redis.Cmder.
func (unrepeated) NoRetry() bool { return true }
