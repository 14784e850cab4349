package notify

import (
	"context"
	"fmt"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// plan is what is made of an event and its facts. The zero plan says nothing: the event is only removed from the
// outbox.
type plan struct {
	stale  bool           // the card of the event's attack is
	redraw bool           // cards may be stale that say the same
	emits  []record.Event // are stored before the event is removed
	posts  []Post         // one after another
	page   *record.Page   // calls the pager of a test card, or resolves the call, before the posts; nil: not
}

// planner makes a plan of an event. It is pure.
type planner func(f facts) (plan, error)

// planners has one for each kind of event.
func planners() map[record.EventKind]planner {
	return map[record.EventKind]planner{
		record.NewIncident:          of(attackNotified),
		record.NewAttack:            of(attackNotified),
		record.BecameIncident:       of(attackNotified),
		record.Worsened:             of(attackNotified),
		record.Grew:                 of(attackChanged),
		record.WentQuiet:            of(attackChanged),
		record.Resumed:              of(attackNotified),
		record.AttackEnded:          of(attackEnded),
		record.CardLost:             of(cardLost),
		record.CardLeft:             of(cardLeft),
		record.FirstStart:           of(firstStart),
		record.StoreRebuilt:         says(card.StoreRebuilt),
		record.APIUnreachable:       of(apiUnreachable),
		record.MonitoringGap:        of(monitoringGap),
		record.PermissionLost:       of(permissionChanged),
		record.ApprovalAsked:        of(approvalChanged),
		record.ChangeSettled:        of(changeSettled),
		record.MitigationEnding:     of(mitigationEnding),
		record.EndOverdue:           of(endOverdue),
		record.MitigationNotWorking: of(efficacyChanged),
		record.DeniedSourceReturned: of(efficacyChanged),
		record.HandedOver:           of(handedOver),
		record.TookOver:             of(tookOver),
		record.AckLapsed:            of(ackLapsed),
		record.PagerUnreachable:     says(card.PagerUnreachable),
		record.ForeignRecords:       says(card.ForeignRecords),
		record.DrillChanged:         of(drillChanged),
		record.SummaryDue:           summaryDue,
	}
}

// of is the planner of a kind with a detail.
func of[P record.Detail](pure func(p P, f facts) plan) planner {
	return func(f facts) (plan, error) {
		p, ok := f.Detail.(P)
		if !ok {
			return plan{}, fmt.Errorf("notify event %s: %s has the detail %T", f.ID, f.Kind, f.Detail)
		}
		return pure(p, f), nil
	}
}

// says is the planner of a kind whose message follows from its detail.
func says[P record.Detail](draw func(*config.Account, P) card.Message) planner {
	return of(func(p P, f facts) plan { return say(f.post(draw(f.account.Account, p))) })
}

// handle brings an event to Slack, and takes it off the outbox: load its facts, plan, post, record. Waiting are the
// poller's events of its attack that wait, itself among them.
func (n *Notifier) handle(ctx context.Context, a Account, e record.Event, waiting ...record.Event) error {
	if urgent(e) {
		ctx = slackconn.Urgent(ctx)
	}
	f := n.facts(a, "")
	if f.Event, f.waiting = e, waiting; e.Subject != "" {
		f.attack = record.AttackID(a.Name, e.Subject)
	}
	if err := n.load(ctx, &f); err != nil {
		return err
	}
	if q := n.queue(e.Account); q != nil {
		q.print(e)
		if !q.covers(e, f.attack) {
			return &orderError{f.attack} // facts may be older than the event that is before it
		}
	}
	return n.say(ctx, f)
}

// say plans an event's messages by the facts at hand, carries that out, and takes the event off the outbox. Where the
// first message is the event's own, or a card, its place is recorded with that.
func (n *Notifier) say(ctx context.Context, f facts) error {
	e := f.Event
	p, err := n.planners[e.Kind](f)
	if err == nil {
		err = n.prepare(ctx, f, p)
	}
	if err != nil {
		return err
	}
	if len(p.posts) == 0 {
		if urgent(e) {
			n.logSaid(e)
		}
		return n.record(ctx, e, record.Place{}, false)
	}
	first, err := n.sendAll(ctx, f, p.posts)
	if k := f.kept; err == nil && k.id != "" && !first.done {
		err = n.cfg.Store.Ledger.SaveMessageAt(ctx, e.Account, k.id, first.at, k.revision)
	}
	switch {
	case err != nil:
	case p.posts[0].card:
		err = n.recordCard(ctx, f, p.posts[0].Delivery, first)
	case p.posts[0].Delivery != e.ID || p.posts[0].replaces.TS != "":
		err = n.record(ctx, e, record.Place{}, false)
	default:
		err = n.record(ctx, e, first.at, false)
	}
	if err == nil {
		for _, post := range p.posts {
			n.tried.drop(e.Account, post.Delivery)
		}
	}
	return err
}

// prepare does what goes before a plan's posts.
func (n *Notifier) prepare(ctx context.Context, f facts, p plan) error {
	if p.stale {
		if err := n.cfg.Store.Cards.MarkStale(ctx, f.Account, f.attack, urgency(f.Event)); err != nil {
			return err
		}
	}
	if p.stale && f.Kind != record.Grew {
		n.Redraw(f.Account)
	} else if p.stale || p.redraw {
		n.Stale(f.Account)
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
	return nil
}

// recordCard records where an attack's card is, also of one that was dropped and is hit again. Where an earlier event's
// delivery is the card, e is taken off with it; where that was posted before e was found, e is said under it: the card
// doesn't say it. That is planned by the facts at hand: where the store can't keep the place they would never change.
func (n *Notifier) recordCard(ctx context.Context, f facts, id string, card delivered) error {
	began := f.Event
	began.ID = id
	if err := n.record(ctx, began, card.at, card.at.TS != ""); err != nil {
		return err
	}
	n.catchUp(ctx, f, card.found)
	if f.Card.TS != "" {
		n.Stale(f.Account) // what is left of the former
	}
	switch {
	case id == f.ID:
		return nil
	case card.at.TS != "" && f.Card.TS == "" && card.found:
		f.Card = card.at
		return n.say(ctx, f)
	}
	return n.record(ctx, f.Event, record.Place{}, false)
}

// catchUp redraws a card if something was done or became known while it was on its way: people can click it before its
// place is known. One that was found, because another replica had posted it before, may have been drawn at any
// time.
func (n *Notifier) catchUp(ctx context.Context, drawn facts, found bool) {
	now, err := n.cfg.Store.Cards.Details(ctx, drawn.Account, drawn.attack, nil)
	newer := now.State.Revision > drawn.State.Revision
	if err == nil && (found || newer || doneSince(now, drawn.AttackDetails)) {
		err = n.MarkActed(ctx, drawn.Account, drawn.attack)
	}
	if err != nil {
		n.cfg.Log.ErrorContext(ctx, "read what was done since a card was drawn", "account", drawn.Account, "err", err)
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
