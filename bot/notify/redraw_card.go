package notify

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
)

// draw edits one card (chat.update) and returns how long to wait before the next.
func (r *redrawQueue) draw(ctx context.Context, o stale) time.Duration {
	ctx = record.WithRequest(ctx, o.mark.Request)
	if o.mark.Urgency == record.UrgentStorm {
		r.turns.drawn[o.attack] = r.notifier.cfg.Clocks.Now()
	}
	at, err := r.redraw(ctx, o)
	if err == nil {
		delete(r.turns.tried, o.attack)
		return 0
	}
	r.turns.tried[o.attack] = r.notifier.cfg.Clocks.Now()
	r.notifier.cfg.Log.WarnContext(ctx, "redraw card", "account", r.account, "attack", o.attack, "err", err)
	if repeatable(err) {
		_, wait := slackconn.Judge(err)
		return max(wait, redrawAgain)
	}
	// Slack will never take this edit. The log has it; the card stays as it was, or is posted again.
	early, err := r.replace(ctx, o, at, err)
	if err != nil {
		return redrawAgain
	}
	if early > 0 {
		r.turns.stuck[o.attack] = stuckCard{o.mark.ID, r.notifier.cfg.Clocks.Now().Add(early)}
		return 0
	}
	if r.done(ctx, o) != nil {
		return redrawAgain
	}
	return 0
}

// done takes the mark of a card away.
func (r *redrawQueue) done(ctx context.Context, o stale) error {
	return r.notifier.cfg.Store.Cards.Redrawn(ctx, r.account, o.attack, o.mark)
}

// redraw draws a card from the newest facts, and returns where it stands.
func (r *redrawQueue) redraw(ctx context.Context, o stale) (at record.Place, err error) {
	n := r.notifier
	a, ok := n.account(r.account)
	if !ok {
		return at, r.done(ctx, o)
	}
	if attack, at, ok := former(o.attack); ok {
		return at, r.shrink(ctx, a, attack, at, o)
	}
	f := n.facts(a, o.attack)
	if err := n.loadAttack(ctx, record.Event{}, &f); err != nil {
		return at, err
	}
	if at = f.Card; at.TS == "" || !f.known() || f.State.Rebuilt {
		// There is no card; one that is about to be posted is drawn from the same facts. Of one that was rebuilt only the
		// attack's id is known until it is seen again: that must not wipe out what stands there.
		return at, r.done(ctx, o)
	}
	f.since = o.mark.Since
	if err := r.edit(ctx, f); err != nil {
		return at, err
	}
	return at, r.done(ctx, o)
}

// edit draws a card in its place (chat.update).
func (r *redrawQueue) edit(ctx context.Context, f facts) error {
	f.posted = slackconn.ParseTS(f.Card.TS)
	delivery := cmp.Or(f.Card.Delivery, record.CardDelivery(r.account, f.State.Attack.ID))
	shows := f.situation()
	attention := f.attention(shows)
	shows.Rare = attention.rare(f.since, r.notifier.cfg.Clocks.Now())
	r.turns.saw(f.attack, attention, f.State.GoesOn())
	msg := card.Render(shows).WithDelivery(f.account.Name, delivery) // what it carries stays true with what it shows
	return r.notifier.edit(ctx, f.Card, msg)
}

// former reads the mark of a card that has a successor, as the store writes it: the attack's id, and its place.
func former(marked string) (attack string, at record.Place, ok bool) {
	attack, place, ok := strings.Cut(marked, " ")
	return attack, record.ReadPlace(place), ok
}

// shrink makes one line of a card that has a successor, with a link to that one (chat.update). Its thread stays. For a
// rebuild from Slack it is no card any more.
func (r *redrawQueue) shrink(ctx context.Context, a Account, attack string, at record.Place, o stale) error {
	line, err := r.notifier.successor(ctx, a, attack, at)
	if err != nil {
		return err
	}
	if len(line) > 0 {
		if err := r.notifier.edit(ctx, at, card.Moved(a.Account, attack, line)); err != nil {
			return err
		}
	}
	return r.done(ctx, o)
}

// How long a card that was posted again stands at least where it can't be edited, either: each that is posted is one
// more to read.
const (
	repostEvery = 5 * time.Minute
	repostActed = time.Minute // where a person waits to see what came of an action
)

// replace has a card posted again whose edit Slack refused for good: one that is gone, or that stands and can't be
// edited, unless only its figures changed. wait is how long that is too early. A former card that can't become a link
// to its successor gets a reply with that link.
func (r *redrawQueue) replace(ctx context.Context, o stale, at record.Place, err error) (wait time.Duration, failed error) {
	if !gone(err) || uneditable(err) && o.mark.Urgency.Figures() {
		return 0, nil
	}
	attack, _, left := former(o.attack)
	if left && deleted(err) {
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
	e, known, failed := r.notifier.lostEvent(ctx, r.account, attack, at, !deleted(err))
	if failed != nil || !known {
		return 0, failed
	}
	if left {
		e.ID, e.Kind = "left:"+e.ID, record.CardLeft
	}
	return 0, r.notifier.emit(ctx, e)
}
