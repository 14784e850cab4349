package notify

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// redrawQueue redraws an account's stale cards, the most urgent first, within the workspace's pace of edits.
type redrawQueue struct {
	notifier *Notifier
	account  string
	unread   Unread
	wake     chan struct{} // some card is stale
	first    chan struct{} // by a person's action, or what it says first: that doesn't wait for its turn among the others

	turns turns // the running redraw's alone

	mu     sync.Mutex
	cards  int       // that were stale at the last check
	oldest time.Time // since when the one that waits the longest is; zero: none
}

// stuckCard is a card that was posted a short while ago, and can't be edited, or isn't recorded yet.
type stuckCard struct {
	mark  string    // the id of the mark that it was tried for: after another one it may have a successor that can
	again time.Time // when it is tried again
}

func newRedrawQueue(n *Notifier, account string, unread Unread) *redrawQueue {
	r := &redrawQueue{notifier: n, account: account, unread: unread, wake: make(chan struct{}, 1), first: make(chan struct{}, 1), turns: newTurns()}
	signal(r.wake) // what was stale before
	return r
}

// redrawAgain is how long to wait after something failed.
const redrawAgain = 2 * time.Second

// signal wakes a goroutine that waits, or will.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// urgency is how soon a card shows an event of its attack.
func urgency(e record.Event) record.Urgency {
	switch {
	case e.Storm() != nil && e.Kind == record.Grew:
		return record.UrgentStorm
	case e.Attack().Incident() && e.Kind == record.Grew:
		return record.UrgentGrown
	case e.Attack().Incident():
		return record.UrgentIncident
	case e.Kind == record.Grew:
		return record.UrgentFigures
	}
	return record.UrgentState
}

func (r *redrawQueue) run(held, more context.Context) {
	read := r.unread.Read
	for more.Err() == nil {
		wait, wake := r.drawOne(held)
		if wait == 0 {
			continue
		}
		select {
		case <-more.Done():
		case <-time.After(wait):
		case <-wake:
		case <-r.first:
		case <-read:
			read = nil
		}
	}
}

// drawOne draws the most urgent stale card. It returns how long to wait before the next, unless another one becomes stale meanwhile: where
// there is no edit left, that changes nothing.
func (r *redrawQueue) drawOne(ctx context.Context) (wait time.Duration, unless <-chan struct{}) {
	o, wait, err := r.next(ctx)
	if err != nil {
		r.notifier.cfg.Log.WarnContext(ctx, "read stale cards", "account", r.account, "err", err)
		return redrawAgain, nil
	}
	if wait > 0 {
		return wait, r.wake
	}
	wait, err = r.notifier.editSlot(ctx, o.turn(r.account))
	if err != nil {
		r.notifier.cfg.Log.WarnContext(ctx, "redraw card", "err", err)
		return redrawAgain, nil
	}
	if wait > 0 {
		return wait, nil
	}
	return r.draw(ctx, o), nil
}

const (
	stormEvery = 3 * time.Second // how long a storm's card shows the same at least: it grows all the time, and must not take every edit
	whenWoken  = time.Hour       // nothing is to be drawn
	restsFor   = 5 * redrawAgain // a card that can't be drawn gives way to others: else it could keep them all waiting
)

// next is the most urgent of the stale cards; with wait > 0 there is none to be drawn now.
func (r *redrawQueue) next(ctx context.Context) (o stale, wait time.Duration, err error) {
	marks, err := r.notifier.cfg.Store.Cards.Stale(ctx, r.account)
	if err != nil {
		return stale{}, 0, err
	}
	r.leaveUnread(marks)
	var oldest time.Time
	for _, mark := range marks {
		if oldest.IsZero() || mark.Since.Before(oldest) {
			oldest = mark.Since
		}
	}
	r.mu.Lock()
	r.cards, r.oldest = len(marks), oldest
	r.mu.Unlock()
	o, wait = r.turns.next(marks, r.notifier.cfg.Clocks.Now())
	return o, wait, nil
}

// leaveUnread leaves those marks out whose cards can't be drawn yet.
func (r *redrawQueue) leaveUnread(marks map[string]record.RedrawMark) {
	select {
	case <-r.unread.Read:
	default:
		maps.DeleteFunc(marks, func(mark string, _ record.RedrawMark) bool {
			attack, _, _ := strings.Cut(mark, " ")
			return r.unread.Cards[attack]
		})
	}
}

// backlog is how many cards are stale, and since when the first of them is; zero if none is.
func (r *redrawQueue) backlog() (cards int, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cards, r.oldest
}
