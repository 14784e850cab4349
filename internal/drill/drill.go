// Package drill follows a drill to its end, and plays one in an emulated world.
package drill

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	pollEvery     = 200 * time.Millisecond // how often the drill's state is read
	cardGrace     = 30 * time.Second       // how long its card may take to be posted, or to show how it ended
	cancelTimeout = 5 * time.Second        // how long cancelling may take
)

// Begins reports whether a line begins drills. Other drill lines answer one or cancel it.
func Begins(l record.Line) bool {
	return l.Name == "drill" && len(l.Words) == 0 && l.Keys["ack"] == ""
}

// Lines are the lines that begin a drill in each of the accounts, or in the one that the line names.
func Lines(l record.Line, accounts []string) []record.Line {
	if l.Keys["account"] != "" || len(accounts) == 1 {
		return []record.Line{l}
	}
	var lines []record.Line
	for _, name := range accounts {
		lines = append(lines, l.With("account", name))
	}
	return lines
}

// Store holds the drills.
type Store interface {
	Drill(ctx context.Context, account string) (record.Drill, error)
}

// Runner cancels a drill.
type Runner interface {
	Do(ctx context.Context, inv call.Invocation) (call.Result, error)
}

// Clocks say what time it is.
type Clocks interface {
	Now() time.Time
	ServiceNow(account string) time.Time
}

// Follower follows drills.
type Follower struct {
	Store  Store
	Runner Runner
	Clocks Clocks
	Actor  record.Actor // who cancels a drill
	Log    *slog.Logger
}

// Follow follows a drill until it has ended and its card shows so, and returns it as it is then. It calls posted when the card is posted. When ctx
// ends, it cancels the drill.
func (f Follower) Follow(ctx context.Context, d record.Drill, posted func(record.Drill)) record.Drill {
	announced, cancelled := false, false
	for {
		now, err := f.Store.Drill(ctx, d.Account)
		switch {
		case err == nil && now.ID == d.ID:
			d = now
		case err == nil: // another one has begun
			return d
		}
		if !d.Card.Posted.IsZero() && !announced {
			announced = true
			posted(d)
		}
		if done(d, f.Clocks.ServiceNow(d.Account)) {
			if d.Waits() {
				d = f.cancel(ctx, d)
			}
			return d
		}
		select {
		case <-ctx.Done():
			if cancelled {
				return d
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
			defer cancel()
			d, cancelled = f.cancel(ctx, d), true
		case <-time.After(pollEvery):
		}
	}
}

// done reports whether a drill has ended and its card shows so, or the grace for that is over.
func done(d record.Drill, now time.Time) bool {
	switch {
	case d.Card.Posted.IsZero():
		return now.Sub(d.At) > cardGrace
	case d.Waits():
		return now.Sub(d.Until) > cardGrace
	}
	ended := d.Over
	if d.Answer != nil {
		ended = d.Answer.InHand
	}
	return !d.Card.Shown.IsZero() || now.Sub(ended) > cardGrace
}

// cancel cancels a drill and returns it as it is then.
func (f Follower) cancel(ctx context.Context, d record.Drill) record.Drill {
	ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	_, err := f.Runner.Do(ctx, call.Invocation{
		ID: "stop " + d.ID, At: f.Clocks.Now(), Actor: f.Actor, Line: record.Line{Name: "drill", Words: []string{"stop"}}.With("account", d.Account),
	})
	if err != nil && !errors.Is(err, refusal.ErrNothing) {
		f.Log.Error("cancel drill", "account", d.Account, "err", err)
	}
	if now, err := f.Store.Drill(ctx, d.Account); err == nil && now.ID == d.ID {
		return now
	}
	return d
}
