package notify

import (
	"context"
	"errors"
	"fmt"

	"github.com/wafbot/wafbot/internal/record"
)

// delivered is what became of a post.
type delivered struct {
	post  Post
	at    record.Place
	found bool // an earlier attempt had posted it
	done  bool // that is recorded already
}

// carryOut does what was planned for an event, and takes the event off the outbox.
func (n *Notifier) carryOut(ctx context.Context, e record.Event, f facts, p plan) error {
	if p.stale {
		if err := n.cfg.Store.Cards.MarkStale(ctx, e.Account, f.attack, urgency(e)); err != nil {
			return err
		}
	}
	switch {
	case p.stale && e.Kind != record.Grew:
		n.Redraw(e.Account)
	case p.stale || p.redraw:
		n.Stale(e.Account)
	}
	if p.page != nil {
		if err := f.account.Page(ctx, *p.page); err != nil {
			return err
		}
	}
	for _, emitted := range p.emits {
		if err := n.emit(ctx, emitted); err != nil {
			return err
		}
	}
	if len(p.posts) == 0 {
		if urgent(e) {
			n.deliver.logSaid(e)
		}
		return n.deliver.drop(ctx, e)
	}
	first, err := n.sendAll(ctx, f, p.posts)
	if k := f.kept; err == nil && k.in != nil && !first.done {
		err = k.in.SaveMessageAt(ctx, e.Account, k.id, first.at.Channel, first.at.TS, k.revision)
	}
	if err == nil {
		err = n.takeOff(ctx, e, f, first)
	}
	if err != nil {
		return err
	}
	for _, post := range p.posts {
		n.deliver.trials(e.Account).drop(post.Delivery)
	}
	return nil
}

// takeOff takes an event off the outbox whose posts were sent. Where the first of them is the event's own message, or a
// card, its place is recorded with that.
func (n *Notifier) takeOff(ctx context.Context, e record.Event, f facts, first delivered) error {
	switch {
	case first.post.card:
		return n.recordCard(ctx, e, f, first)
	case first.post.Delivery != e.ID || first.post.replaces.TS != "":
		return n.deliver.drop(ctx, e)
	}
	return n.deliver.record(ctx, e, first.at, false)
}

// sendAll sends the posts of a plan in their order, and returns what became of the first.
func (n *Notifier) sendAll(ctx context.Context, f facts, posts []Post) (first delivered, err error) {
	for i, p := range posts {
		if p.follows { // a thread has no threads
			p.Channel, p.Thread = first.at.Channel, first.at.TS
			if f.card.Channel == p.Channel {
				p.Thread = f.card.TS
			}
		}
		if p.edits {
			p.replaces = first.at
		}
		d, err := n.send(ctx, f, p)
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = d
		}
	}
	return first, nil
}

// send delivers one post. Where a reply can't be posted, its attack's card is posted again first if that is gone and
// the reply wants it, else the reply goes elsewhere: what must be heard isn't lost in an unread thread.
func (n *Notifier) send(ctx context.Context, f facts, p Post) (d delivered, err error) {
	if p.replaces.TS != "" {
		return delivered{post: p, at: p.replaces}, n.deliver.bringUpToDate(ctx, p)
	}
	t, begun, err := n.deliver.begin(ctx, f, p)
	if err != nil || begun.Notified {
		return delivered{post: p, at: begun.At, done: begun.Notified}, err // done: the event was stored again
	}
	d, err = n.deliver.postBegun(ctx, p, t)
	if p.repost != "" && gone(err) {
		at, fault := n.repost(ctx, f, p, !deleted(err))
		switch {
		case fault == nil:
			p.Channel, p.Thread = at.Channel, at.TS
			d, err = n.deliver.postBegun(ctx, p, t)
		case !nowhere(fault):
			return d, fault
		}
	}
	switch {
	case !nowhere(err):
		return d, err
	case p.otherwise != nil:
		return n.deliver.postBegun(ctx, *p.otherwise, t)
	case p.optional:
		return d, nil
	}
	return d, err
}

// repost posts the card of an attack again because a reply under it failed, and returns where the attack's card is.
func (n *Notifier) repost(ctx context.Context, f facts, reply Post, stands bool) (at record.Place, err error) {
	lost, known, err := n.read.lostEvent(ctx, reply.Account, f.attack, record.Place{Channel: reply.Channel, TS: reply.Thread}, stands)
	if err == nil && !known {
		err = errNowhere
	}
	if lost.Channel = reply.repost; err == nil {
		err = n.handle(ctx, lost)
	}
	if err == nil {
		at.Channel, at.TS, err = n.cfg.Store.Cards.Card(ctx, reply.Account, f.attack)
	}
	if err != nil {
		return at, fmt.Errorf("post card of %s again: %w", f.attack, err)
	}
	return at, nil
}

// recordCard records where an attack's card is, also of one that was dropped and is hit again. Where an earlier event's
// delivery is the card, e is taken off with it; where that was posted before e was found, e is said under it: the card
// doesn't say it. That is planned by the facts at hand: where the store can't keep the place they would never change.
func (n *Notifier) recordCard(ctx context.Context, e record.Event, f facts, card delivered) error {
	began := e
	began.ID = card.post.Delivery
	if err := n.deliver.record(ctx, began, card.at, card.at.TS != ""); err != nil {
		return err
	}
	n.catchUp(ctx, e, f, card.found || card.done)
	if f.card.TS != "" {
		n.Stale(e.Account) // what is left of the former
	}
	switch {
	case began.ID == e.ID:
		return nil
	case card.at.TS != "" && f.card.TS == "" && (card.found || card.done):
		f.card = card.at
		return n.say(ctx, e, f)
	}
	return n.deliver.drop(ctx, e)
}

// catchUp has a card redrawn when something was done or became known while it was on its way: it can be clicked before
// it is known where it is. One that was found, because another replica had posted it before, may have been drawn at any
// time.
func (n *Notifier) catchUp(ctx context.Context, e record.Event, drawn facts, found bool) {
	now := facts{account: drawn.account, attack: drawn.attack}
	err := n.read.loadAttack(ctx, e, &now)
	if err == nil && (found || doneSince(now.details, drawn.details) || now.shown.Revision > drawn.shown.Revision) {
		err = n.MarkActed(ctx, e.Account, drawn.attack)
	}
	if err != nil {
		n.cfg.Log.ErrorContext(ctx, "read what was done since a card was drawn", "account", e.Account, "err", err)
	}
}

// emit stores an event that the Notifier found out, and queues it.
func (n *Notifier) emit(ctx context.Context, e record.Event) error {
	if err := n.cfg.Store.Outbox.Announce(ctx, e); err != nil {
		return err
	}
	n.Notify(e.Account, []record.Event{e})
	return nil
}

// nowhere reports whether an error says that a message can't be posted where it was to go.
func nowhere(err error) bool { return errors.Is(err, errNowhere) || gone(err) }
