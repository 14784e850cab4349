package store

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// call is one run of a script.
type call struct {
	keys []string
	args []any
}

// pipelined runs a script many times in one round trip to each server, within a second. Each server fails alone, which
// the pipelines of a cluster's client don't: in those all fail with the slowest.
func (s *client) pipelined(ctx context.Context, script *redis.Script, calls []call) []*redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	cmds := make([]*redis.Cmd, len(calls))
	pipes := map[redis.UniversalClient]redis.Pipeliner{}
	for i, c := range calls {
		server, err := s.server(ctx, c.keys[0])
		if err != nil {
			cmds[i] = failed(ctx, err)
			continue
		}
		if pipes[server] == nil {
			pipes[server] = server.Pipeline()
		}
		cmds[i] = script.EvalSha(ctx, pipes[server], c.keys, c.args...)
	}
	var all sync.WaitGroup
	for _, pipe := range pipes {
		all.Go(func() {
			if _, err := pipe.Exec(ctx); err != nil {
				s.moved(ctx)
			}
		})
	}
	all.Wait()
	return cmds
}

// failed is the answer to a command that could not be sent.
func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
