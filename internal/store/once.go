package store

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// callTimeout bounds one call of Redis with all its steps, so that a click is answered within Slack's three seconds.
const callTimeout = 2 * opTimeout

// once is a hook that bounds every call and has no command sent twice: a cluster's client repeats commands whatever its MaxRetries.
// So an error of dialling means that nothing was sent, and what counts (audit entries) or takes (work) happens once.
type once struct{}

// DialHook implements redis.Hook.
func (once) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (once) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return next(ctx, unrepeated{cmd})
	}
}

// ProcessPipelineHook implements redis.Hook. All transactions of this package may be repeated: they only set and delete.
func (once) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return next(ctx, cmds)
	}
}

// unrepeated is a command that no client repeats.
type unrepeated struct{ redis.Cmder }

// NoRetry implements redis.Cmder.
func (unrepeated) NoRetry() bool { return true }
