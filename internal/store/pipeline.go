package store

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// call is one run of a script.
type call struct {
	keys []string
	args []any
}

// pipelined runs a script many times in one round trip to each server, within a second. Each server fails alone, which the pipelines of a
// cluster's client don't: in those all fail with the slowest.
func (s *client) pipelined(ctx context.Context, script *redis.Script, calls []call) []*redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	cmds := make([]*redis.Cmd, len(calls))
	at := map[redis.UniversalClient][]int{}
	for i, c := range calls {
		server, err := s.server(ctx, c.keys[0])
		if err != nil {
			cmds[i] = failed(ctx, err)
			continue
		}
		at[server] = append(at[server], i)
	}
	var all sync.WaitGroup
	for server, indexes := range at {
		all.Go(func() { s.pipeline(ctx, server, script, calls, indexes, cmds) })
	}
	all.Wait()
	return cmds
}

// pipeline runs some of the calls on the server that has their keys. It sends the script to one that doesn't know it.
func (s *client) pipeline(ctx context.Context, server redis.UniversalClient, script *redis.Script, calls []call, indexes []int, cmds []*redis.Cmd) {
	send := func(run func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) (err error) {
		p := server.Pipeline()
		for _, i := range indexes {
			cmds[i] = run(ctx, p, calls[i].keys, calls[i].args...)
		}
		_, err = p.Exec(ctx)
		return err
	}
	err := send(script.EvalSha)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		indexes = slices.DeleteFunc(indexes, func(i int) bool { return cmds[i].Err() == nil })
		err = send(script.Eval)
	}
	if err != nil {
		s.moved(ctx)
	}
}

// failed is the answer to a command that could not be sent.
func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
