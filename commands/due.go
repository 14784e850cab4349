package commands

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// How long wafbot waits after a change that could not be ended; how long before its end it looks at one, unless that is short; and how often it
// looks until then, as a part of that time.
const (
	dueAgain = time.Minute
	leadTime = 15 * time.Minute
	looks    = 15
)

// Look is what came of looking at a change whose end is near or past.
type Look struct {
	Change record.Change
	Next   time.Time // when to look again; zero: no more
	Asks   bool      // people are asked whether it is to hold longer, or told that it has ended where nobody could ask in time
	Late   bool      // people are told that its end is overdue
	Ended  bool      // it ended by itself, which its attack's card is to show
}

// lead is how long before its end wafbot looks at a change: a quarter of its time, where that is less than an hour.
func changeLead(c record.Change) time.Duration { return min(leadTime, c.Until.Sub(c.At)/4) }

// LookAt is when wafbot has to look at the change by itself, to prolong it, to ask about it, to end it, or to show that it has ended; zero for never.
// Which of these it is follows from what is known by then.
func ChangeLookAt(c record.Change) time.Time {
	switch {
	case c.Amends() != "" || c.Until.IsZero():
		return time.Time{}
	case c.State == record.StateDone || c.State == record.StateHalf:
		return c.Until.Add(-changeLead(c))
	}
	return c.DueAt()
}

// again is when to look at a change again that has not ended.
func changeAgain(c record.Change, now time.Time) time.Time {
	next := now.Add(max(changeLead(c)/looks, time.Second))
	if next.After(c.Until) {
		return c.Until
	}
	return next
}

// RunDue looks at what was made for a time on one account, whenever it is told to: it prolongs what knocks, asks about what ends while its attack
// goes on, and ends what the service doesn't end by itself. One replica at a time may do so. It returns when the context ends.
func (r *Runner) RunDue(ctx context.Context, account string, due Due, look <-chan struct{}) {
	again, warned := time.Time{}, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-look:
		}
		r.tendRequests(ctx, account)
		now := r.cfg.Now()
		switch {
		case r.cfg.Policy.Changes != ChangesOn:
			if !warned {
				r.cfg.Log.Warn("changes are not on: what was made for a time before is not ended", "account", account)
			}
			warned = true
		case !now.Before(again):
			if err := r.lookAround(ctx, account, due, now); err != nil && ctx.Err() == nil {
				again = now.Add(dueAgain)
				r.cfg.Log.Error("look at what ends", "account", account, "err", err, "again", again)
			}
		}
	}
}

// lookAround looks at all changes at which it is time to. An error is one of the memory.
func (r *Runner) lookAround(ctx context.Context, account string, due Due, now time.Time) error {
	ids, err := due.DueChanges(ctx, account, now)
	if err != nil || len(ids) == 0 {
		return err
	}
	var todo []record.Change
	err = r.looking(ctx, account, func(known []record.Change) (all []Look) {
		for _, id := range ids {
			ch := record.Change{ID: id, Account: account} // forgotten
			if i := slices.IndexFunc(known, func(c record.Change) bool { return c.ID == id }); i >= 0 {
				ch = r.limited(known[i])
			}
			if l, act := r.look(ch, now); act {
				todo = append(todo, ch)
			} else {
				all = append(all, l)
			}
		}
		return all
	})
	if err != nil {
		return err
	}
	for _, ch := range todo {
		if err := r.actByClock(ctx, ch, now); err != nil {
			return err
		}
	}
	return nil
}

// looking writes down, under the account's lock, what came of looking at its changes.
func (r *Runner) looking(ctx context.Context, account string, at func(known []record.Change) []Look) error {
	held, lock, err := r.cfg.Ledger.Lock(ctx, account)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	known, err := r.cfg.Ledger.Changes(held, account)
	if err != nil {
		return err
	}
	if all := at(known); len(all) > 0 {
		return lock.SaveLooks(held, all...)
	}
	return nil
}

// look says what is to be written down of a change at which it is time to look, or that something is to be done about it: it is to be ended or prolonged.
func (r *Runner) look(ch record.Change, now time.Time) (l Look, act bool) {
	l.Change = ch
	over := !now.Before(ch.Until)
	switch {
	case ChangeLookAt(ch).IsZero(): // it was taken back, or never made
	case over && ch.MustBeEnded():
		return l, true
	case over:
		l.Ended = true
		l.ask(r.goesOn(ch)) // for where nobody looked between the time to ask and the end
	case now.Before(ChangeLookAt(ch)): // it was prolonged
		l.Next = ChangeLookAt(ch)
	case changeLonger(ch) > 0 && r.cfg.Watch.Knocks(ch.Account, changeDenied(ch)):
		return l, true
	default:
		l.Next = changeAgain(ch, now)
		l.ask(r.goesOn(ch))
	}
	return l, false
}

// ask has people asked about the change, once for each end.
func (l *Look) ask(wanted bool) {
	if l.Asks = wanted && !l.Change.Asked.Equal(l.Change.Until); l.Asks {
		l.Change.Asked = l.Change.Until
	}
}

// goesOn reports whether what the change was made for goes on, as far as is known.
func (r *Runner) goesOn(ch record.Change) bool {
	return ch.AttackID != "" && r.cfg.Watch.GoesOn(ch.Account, ch.AttackID) || r.cfg.Watch.Knocks(ch.Account, changeDenied(ch))
}

// actByClock ends or prolongs a change as anybody would who asks for it. When that fails it says so and looks again; then an error is one of the memory.
func (r *Runner) actByClock(ctx context.Context, ch record.Change, now time.Time) error {
	over := !now.Before(ch.Until)
	line, what := changeRenewLine(ch), "renew"
	if over {
		line, what = record.Line{Name: "undo", Words: []string{ch.ID}}.With("account", ch.Account), "due"
	}
	// Each attempt is a request of its own: a failed one must not be taken for the answer, also not by a replica that takes over within the second.
	res, err := r.Do(ctx, Invocation{ID: fmt.Sprintf("%s %s %s", what, ch.ID, rand.Text()), At: now, Actor: clock, Line: line})
	if err == nil && (over || res.Outcome == "done") {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.cfg.Log.Error("end or extend change", "account", ch.Account, "change", ch.ID, "line", line.String(), "err", err)
	}
	return r.looking(ctx, ch.Account, func(known []record.Change) []Look {
		i := slices.IndexFunc(known, func(c record.Change) bool { return c.ID == ch.ID })
		if i < 0 {
			return []Look{{Change: ch}}
		}
		if over {
			return []Look{notEnded(known[i], err, now, r.saidTied(ctx, known[i]))}
		}
		return []Look{r.notRenewed(known[i], err, now)}
	})
}
