package commands

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// dueAgain is how long wafbot waits after a change that could not be ended.
const dueAgain = time.Minute

// RunDue ends what was made for a time on one account, whenever it is told to look: rules never expire by themselves. One replica at a time may
// do so. It returns when the context ends.
func (r *Runner) RunDue(ctx context.Context, account string, due Due, look <-chan struct{}) {
	retry, warned := map[string]time.Time{}, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-look:
		}
		r.tendRequests(ctx, account)
		if r.cfg.Policy.Changes == ChangesOn {
			r.endDue(ctx, due, account, retry)
		} else if !warned {
			r.cfg.Log.Warn("changes are not on: what was made for a time before is not ended", "account", account)
			warned = true
		}
	}
}

func (r *Runner) endDue(ctx context.Context, due Due, account string, retry map[string]time.Time) {
	now := r.cfg.Now()
	ids, err := due.DueChanges(ctx, account, now)
	if err != nil {
		if at := retry[account]; !now.Before(at) && ctx.Err() == nil {
			r.cfg.Log.Error("look for changes to end", "account", account, "err", err)
			retry[account] = now.Add(dueAgain)
		}
		return
	}
	for _, id := range ids {
		if now.Before(retry[id]) {
			continue
		}
		_, err := r.Do(ctx, Invocation{
			// Each attempt is a request of its own: a failed one must not be taken for the answer.
			ID: fmt.Sprintf("due %s %d", id, now.Unix()), At: now, Actor: clock, Line: Line{Name: "undo", Words: []string{id}}.With("account", account),
		})
		switch {
		case err == nil, errors.Is(err, ErrNothing):
			delete(retry, id)
		default:
			retry[id] = now.Add(dueAgain)
			r.cfg.Log.Error("end change", "account", account, "change", id, "err", err, "again", retry[id])
		}
	}
}
