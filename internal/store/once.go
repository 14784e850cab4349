package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// callTimeout bounds one call of Redis with all its steps: two seconds, so that a click is answered within Slack's three.
func (s *client) callTimeout() time.Duration { return 2 * s.timeout }

// once is a hook that bounds every call and has no command sent twice: a cluster's client repeats commands whatever its MaxRetries.
// So an error of dialling means that nothing was sent, and what counts (audit entries) or takes (work) happens once.
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
