package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// How often wafbot looks for changes whose end has come, and how long it waits after one that could not be ended.
const (
	dueEvery = time.Second
	dueAgain = time.Minute
)

// RunDue ends what was made for a time: rules never expire by themselves. It returns when the context ends.
func (r *Runner) RunDue(ctx context.Context, due Due) error {
	if r.cfg.Policy.Changes != ChangesOn {
		r.cfg.Log.Warn("changes are not on: what was made for a time before is not ended")
		<-ctx.Done()
		return ctx.Err()
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, a := range r.cfg.Accounts {
		g.Go(func() error { return r.runDue(ctx, due, a) }) // apart: a service that hangs must not keep the others' modes from returning
	}
	return g.Wait()
}

func (r *Runner) runDue(ctx context.Context, due Due, a *Account) error {
	retry := map[string]time.Time{}
	tick := time.NewTicker(dueEvery)
	defer tick.Stop()
	for {
		r.endDue(ctx, due, a, retry)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (r *Runner) endDue(ctx context.Context, due Due, a *Account, retry map[string]time.Time) {
	now := r.cfg.Now()
	ids, err := due.DueChanges(ctx, a.Name, now)
	if err != nil {
		if at := retry[a.Name]; !now.Before(at) && ctx.Err() == nil {
			r.cfg.Log.Error("look for changes to end", "account", a.Name, "err", err)
			retry[a.Name] = now.Add(dueAgain)
		}
		return
	}
	for _, id := range ids {
		if now.Before(retry[id]) {
			continue
		}
		_, err := r.Do(ctx, Invocation{
			// Each attempt is a request of its own: a failed one must not be taken for the answer.
			ID: fmt.Sprintf("due %s %d", id, now.Unix()), At: now, Actor: clock, Line: Line{Name: "undo", Words: []string{id}}.With("account", a.Name),
		})
		switch {
		case err == nil, errors.Is(err, ErrNothing):
			delete(retry, id)
		default:
			retry[id] = now.Add(dueAgain)
			r.cfg.Log.Error("end change", "account", a.Name, "change", id, "err", err, "again", retry[id])
		}
	}
}
