package notify

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
)

// redrawQueue redraws an account's stale cards, the most urgent first, within the workspace's pace of edits.
type redrawQueue struct {
	notifier *Notifier
	account  Account
	unread   Unread
	wake     chan struct{} // some card is stale
	first    chan struct{} // by a person's action, or what it says first: that doesn't wait for its turn among the others

	turns turns // the running redraw's alone

	mu     sync.Mutex
	cards  int       // that were stale at the last check
	oldest time.Time // since when the one that waits the longest is; zero: none
}

func newRedrawQueue(n *Notifier, a Account, unread Unread) *redrawQueue {
	r := &redrawQueue{notifier: n, account: a, unread: unread, wake: make(chan struct{}, 1), first: make(chan struct{}, 1),
		turns: turns{}}
	signal(r.wake) // what was stale before
	return r
}

const (
	redrawAgain = 2 * time.Second // how long to wait after something failed
	stormEvery  = 3 * time.Second // how long a storm's card shows the same at least: it grows all the time, and must not take every edit
	whenWoken   = time.Hour       // nothing is to be drawn
	restsFor    = 5 * redrawAgain // a card that can't be drawn gives way to others: else it could keep them all waiting

	// How long a card that was posted again stands at least where it can't be edited, either: each that is posted is
	// one more to read.
	repostEvery = 5 * time.Minute
	repostActed = time.Minute // where a person waits to see the outcome of an action
)

// signal wakes a goroutine that waits, or will.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// urgency is how soon a card shows an event of its attack.
func urgency(e record.Event) record.Urgency {
	switch incident, grew := e.Severity() == record.SeverityCritical, e.Kind == record.Grew; {
	case record.IsStorm(e.Subject) && grew:
		return record.UrgentStorm
	case incident && grew:
		return record.UrgentGrown
	case incident:
		return record.UrgentIncident
	case grew:
		return record.UrgentFigures
	}
	return record.UrgentState
}

// run draws the most urgent stale card each time, and waits before the next, unless another one becomes stale
// meanwhile: where there is no edit left, that changes nothing.
func (r *redrawQueue) run(held, more context.Context) {
	read := r.unread.Read
	for more.Err() == nil {
		wake := r.wake
		o, wait, err := r.next(held)
		if err == nil && wait == 0 {
			wake = nil
			wait, err = r.notifier.editSlot(held, o.turn(r.account.Name))
			if err == nil && wait == 0 {
				wait = r.draw(held, o)
			}
		}
		if err != nil {
			r.notifier.cfg.Log.WarnContext(held, "redraw cards", "account", r.account.Name, "err", err)
			wake, wait = nil, redrawAgain
		}
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

// next is the most urgent of the stale cards; with wait > 0 there is none to be drawn now.
func (r *redrawQueue) next(ctx context.Context) (o stale, wait time.Duration, err error) {
	marks, err := r.notifier.cfg.Store.Cards.Stale(ctx, r.account.Name)
	if err != nil {
		return stale{}, 0, err
	}
	select {
	case <-r.unread.Read:
	default: // some can't be drawn yet
		maps.DeleteFunc(marks, func(mark string, _ record.RedrawMark) bool {
			attack, _, _ := strings.Cut(mark, " ")
			return r.unread.Cards[attack]
		})
	}
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

// backlog is how many cards are stale, and for how long the first of them is.
func (r *redrawQueue) backlog() (q metrics.Queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.Waiting = r.cards; !r.oldest.IsZero() {
		q.Age = max(0, r.notifier.cfg.Clocks.Now().Sub(r.oldest))
	}
	return q
}

// draw edits one card (chat.update), takes its mark away, and returns how long to wait before the next.
func (r *redrawQueue) draw(ctx context.Context, o stale) time.Duration {
	ctx = record.WithRequest(ctx, o.mark.Request)
	log := r.notifier.cfg.Log.With("account", r.account.Name, "attack", o.attack)
	at, err := r.redraw(ctx, o)
	if err != nil {
		c := r.turns.of(o.attack)
		c.tried = r.notifier.cfg.Clocks.Now()
		log.WarnContext(ctx, "redraw card", "err", err)
		if repeatable(err) {
			_, wait := slackconn.Judge(err)
			return max(wait, redrawAgain)
		}
		// Slack will never take this edit. The log has it; the card stays as it was, or is posted again.
		early, err := r.replace(ctx, o, at, err)
		if early > 0 {
			c.mark, c.again = o.mark.ID, c.tried.Add(early)
			return 0
		}
		if err != nil {
			return redrawAgain
		}
	}
	if err := r.notifier.cfg.Store.Cards.Redrawn(ctx, r.account.Name, o.attack, o.mark); err != nil {
		log.WarnContext(ctx, "redraw card", "err", err)
		return redrawAgain
	}
	return 0
}

// redraw draws a card from the newest facts, and returns where it stands. Of one that has a successor it makes one
// line, with a link to that one: its thread stays; for a rebuild from Slack it is no card any more.
func (r *redrawQueue) redraw(ctx context.Context, o stale) (at record.Place, err error) {
	n := r.notifier
	if attack, at, ok := former(o.attack); ok {
		line, err := n.successor(ctx, r.account, attack, at)
		if err == nil && len(line) > 0 {
			err = n.edit(ctx, at, card.Moved(r.account.Account, attack, line))
		}
		return at, err
	}
	f := n.facts(r.account, o.attack)
	if err := n.loadAttack(ctx, &f); err != nil {
		return at, err
	}
	if at = f.Card; at.TS == "" || !f.known() || f.State.Rebuilt {
		// There is no card; one that is about to be posted is drawn from the same facts. Of one that was rebuilt only the
		// attack's id is known until it is seen again: that must not wipe out what stands there.
		return at, nil
	}
	f.since, f.posted = o.mark.Since, slackconn.ParseTS(at.TS)
	shows := f.situation()
	seen := f.attention(shows)
	shows.Rare = seen.rare(f.since, n.cfg.Clocks.Now())
	delivery := cmp.Or(at.Delivery, record.CardDelivery(r.account.Name, f.State.Attack.ID))
	// What it carries stays true with what it shows.
	if err = n.edit(ctx, at, card.Render(shows).WithDelivery(r.account.Name, delivery)); err == nil {
		r.turns.saw(o.attack, seen, f.State.GoesOn(), n.cfg.Clocks.Now())
	}
	return at, err
}

// former reads the mark of a card that has a successor, as the store writes it: the attack's id, and its place.
func former(marked string) (attack string, at record.Place, ok bool) {
	attack, place, ok := strings.Cut(marked, " ")
	return attack, record.ReadPlace(place), ok
}

// replace posts a card again if Slack refused its edit for good: the card is gone, or it can't be edited. If only its
// figures changed, it stays. wait is how long that is too early. A former card that can't become a link
// to its successor gets a reply with that link.
func (r *redrawQueue) replace(ctx context.Context, o stale, at record.Place, err error) (wait time.Duration,
	failed error) {
	attack, _, left := former(o.attack)
	if !gone(err) || uneditable(err) && o.mark.Urgency.Figures() || left && deleted(err) {
		return 0, nil
	}
	every := repostEvery
	if o.mark.Urgency == record.UrgentActed {
		every = repostActed
	}
	if again, _ := record.Reposted(at.Delivery); again && uneditable(err) && !left {
		if wait := every - r.notifier.cfg.Clocks.Now().Sub(slackconn.ParseTS(at.TS)); wait > 0 {
			return wait, nil
		}
	}
	e, known, failed := r.notifier.lostEvent(ctx, r.account.Name, attack, at, !deleted(err))
	if failed != nil || !known {
		return 0, failed
	}
	if left {
		e.ID, e.Kind = "left:"+e.ID, record.CardLeft
	}
	return 0, r.notifier.emit(ctx, e)
}
