package bot

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// tellAttack tells news about an attack as the attack is by now: its card, a reply under its card that calls people, or a redrawn card.
// Much may have waited while Slack was away: what the newest facts say already is only taken off.
func (b *Bot) tellAttack(ctx context.Context, a Account, n record.Event) error {
	calls := n.Reason == record.BecameIncident || n.Reason == record.Worsened
	if n.Reason == record.NewIncident || n.Reason == record.NewAttack {
		return b.tellCard(ctx, a, n)
	}
	id := record.AttackID(n.Account, n.Attack.ID)
	channel, ts, err := b.cfg.Memory.Card(ctx, n.Account, id)
	switch {
	case err != nil:
		return err
	case ts == "" && calls:
		return b.tellCard(ctx, a, n)
	case ts == "":
		return b.record(ctx, n, place{})
	case n.Reason == record.BecameIncident && n.Channel != channel:
		return b.tellMoved(ctx, a, n)
	}
	if err := b.cfg.Memory.MarkStale(ctx, n.Account, id, urgency(n)); err != nil {
		return err
	}
	b.Outdated(n.Account)
	if calls {
		return b.tellWorse(ctx, a, n)
	}
	return b.tellTurn(ctx, n)
}

// remembered is what is known of an attack when its card is about to be posted.
type remembered struct {
	tried tried
	facts facts
}

// begin reads what is known, side by side, and marks the card as tried: this is the way from an attack to a person.
func (b *Bot) begin(ctx context.Context, card record.Event) (r remembered, err error) {
	id := record.AttackID(card.Account, card.Attack.ID)
	var ok bool
	g, both := errgroup.WithContext(ctx)
	g.Go(func() (err error) { r.facts.file, err = b.cfg.Memory.Details(both, card.Account, id); return err })
	g.Go(func() (err error) { r.tried, err = b.try(both, card.Account, card.ID); return err })
	g.Go(func() (err error) {
		r.facts.shown, ok, err = b.cfg.Memory.AttackState(both, card.Account, id)
		return err
	})
	if err := g.Wait(); err != nil {
		return remembered{}, err
	}
	if !ok || r.facts.shown.Revision < card.Revision {
		r.facts.shown = record.AttackState{Attack: card.Attack, ObservedAt: card.At, Quiet: card.Quiet, Mention: card.Mention, Suppressed: card.Hushed, Revision: card.Revision}
	}
	return r, nil
}

// tellCard posts an attack's card, once, whichever of its news comes first.
func (b *Bot) tellCard(ctx context.Context, a Account, n record.Event) error {
	card := n
	card.ID = poller.CardDelivery(n.Account, n.Attack.ID)
	posted, err := b.postCard(ctx, a, n, card)
	switch {
	case err != nil || n.ID == card.ID:
		return err
	case posted:
		return b.record(ctx, n, place{})
	}
	return b.tellAttack(ctx, a, n) // the card was drawn before this news
}

// postCard posts a card for a piece of news, unless it is there already.
func (b *Bot) postCard(ctx context.Context, a Account, n, card record.Event) (posted bool, err error) {
	r, err := b.begin(ctx, card)
	if err != nil {
		return false, err
	}
	if r.facts.file.Card.TS != "" || r.tried.told {
		return false, b.record(ctx, card, place{})
	}
	return b.putCard(ctx, a, card, r, func() error { return b.supersedeForCard(ctx, n, r) })
}

// putCard posts a card, which becomes the attack's, unless somebody has posted it before. What waits and is told with it is taken off first.
func (b *Bot) putCard(ctx context.Context, a Account, attackCard record.Event, r remembered, takeOff func() error) (posted bool, err error) {
	if attackCard.ID != poller.CardDelivery(attackCard.Account, attackCard.Attack.ID) {
		r.facts.file.Card.Delivery = attackCard.ID
	}
	call := newsCall(attackCard, card.Render(b.card(ctx, a, r.facts)), "")
	channel, ts, err := b.lookFirst(ctx, call, r.tried)
	if err != nil {
		return false, err
	}
	found := ts != ""
	if !found {
		if err := takeOff(); err != nil {
			return false, err
		}
		if channel, ts, err = b.postTried(ctx, call, tried{first: r.tried.first}); err != nil {
			return false, err
		}
	}
	if err := b.record(ctx, attackCard, place{channel, ts, true}); err != nil {
		return false, err
	}
	b.catchUp(ctx, attackCard, r.facts, found)
	return !found, nil
}

// supersedeForCard is supersede before a card is posted: the news that the attack began stays, where it still waits, as urgent as the attack is by now.
func (b *Bot) supersedeForCard(ctx context.Context, n record.Event, r remembered) error {
	card := poller.CardDelivery(n.Account, n.Attack.ID)
	if n.ID == card && n.Revision == r.facts.shown.Revision {
		return nil // nothing newer has been decided
	}
	waiting, err := b.waiting(ctx, n)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(waiting, func(w record.Event) bool { return w.ID == card })
	if i < 0 {
		return b.supersede(ctx, waiting, n.ID, r.facts.shown.Revision)
	}
	if began := waiting[i]; began.Reason == record.NewAttack && r.facts.shown.Attack.Incident() {
		began.Reason = record.NewIncident
		if err := b.cfg.Memory.Announce(ctx, began); err != nil {
			return err
		}
	}
	return b.supersede(ctx, waiting, card, r.facts.shown.Revision)
}

// supersede takes off what waits to be told of an attack and is no newer than the facts that are about to be told. That is done before they are
// sent, for the news that they are sent for stays.
func (b *Bot) supersede(ctx context.Context, waiting []record.Event, stays string, revision int) error {
	for _, w := range waiting {
		if w.ID == stays || w.Revision > revision {
			continue
		}
		if _, err := b.cfg.Memory.Notified(ctx, w, "", "", false); err != nil {
			return err
		}
		b.cfg.Log.Info("not told by itself: the card or another reply says it", "account", w.Account, "attack", w.Attack.ID, "reason", w.Reason)
	}
	return nil
}

// waiting is the poller's news of an attack that waits to be told.
func (b *Bot) waiting(ctx context.Context, n record.Event) ([]record.Event, error) {
	all, err := b.cfg.Memory.Waiting(ctx, n.Account)
	return slices.DeleteFunc(all, func(w record.Event) bool { return w.Attack.ID != n.Attack.ID || w.Revision == 0 }), err
}

// tellWorse replies under a card that its attack got worse, with the newest facts. Where the reply about the worst of it waits too, or
// another message has said it, nothing more is said.
func (b *Bot) tellWorse(ctx context.Context, a Account, n record.Event) error {
	waiting, err := b.waiting(ctx, n)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(waiting, func(w record.Event) bool { return w.ID == n.ID }) {
		return nil
	}
	if slices.ContainsFunc(waiting, func(w record.Event) bool { return w.Rank() < n.Rank() }) {
		return b.record(ctx, n, place{})
	}
	id := record.AttackID(n.Account, n.Attack.ID)
	newest, ok, err := b.cfg.Memory.AttackState(ctx, n.Account, id)
	if err != nil {
		return err
	}
	told := n
	if ok && newest.Revision > n.Revision {
		told.Attack, told.At, told.Revision = newest.Attack, newest.ObservedAt, newest.Revision
	}
	said, err := b.cfg.Memory.TriageOf(ctx, n.Account, id)
	if err != nil {
		return err
	}
	told.Mention = card.Recipient(said.Owner, loudest(n, waiting, told.Revision))
	t, err := b.try(ctx, n.Account, n.ID)
	if err != nil {
		return err
	}
	if t.told {
		return b.record(ctx, n, place{}) // it was announced again
	}
	call := newsCall(n, card.Worse(a.Account, told), "")
	call.Broadcast = true
	takeOff := func() error { return b.supersede(ctx, waiting, n.ID, told.Revision) }
	channel, ts, err := b.replyUnder(ctx, a, call, under{id, n.Channel, t, takeOff})
	if err != nil {
		return err
	}
	return b.record(ctx, n, place{channel: channel, ts: ts})
}

// loudest is the news that says whom a reply calls which tells all that waits up to a revision: the newest that calls, if one does.
func loudest(n record.Event, waiting []record.Event, revision int) record.Event {
	for _, w := range waiting {
		calls := w.Reason == record.Worsened && w.Revision <= revision && !w.Hushed
		if calls && (n.Hushed || w.Revision > n.Revision) {
			n = w
		}
	}
	return n
}
