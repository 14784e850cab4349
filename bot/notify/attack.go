package notify

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// cardKeeper keeps one card per attack: it posts the card, replies under it, redraws it, and posts it again where it is gone.
type cardKeeper struct {
	cfg      Config
	deliver  *deliverer
	notifier *Notifier // stores and queues events, and has cards redrawn
}

// attackChanged shows on its card, as the attack is by now, that it grew, went quiet or resumed. Much may have waited while Slack was away: what
// the newest facts say already is only taken off. That the attack went quiet, or goes on again, goes into the card's thread, too, when all else
// is notified.
func (k *cardKeeper) attackChanged(ctx context.Context, _ Account, e record.Event) error {
	ts, err := k.markStale(ctx, e)
	if err != nil {
		return err
	}
	if turned := e.Kind == record.WentQuiet || e.Kind == record.Resumed; ts != "" && turned && e.Storm() == nil {
		course := e
		course.ID, course.Kind, course.Payload = "course:"+e.ID, record.AttackEnded, record.AttackCourse{Attack: e.Attack(), Quiet: e.Kind == record.WentQuiet}
		if err := k.notifier.emit(ctx, course); err != nil {
			return err
		}
	}
	return k.deliver.drop(ctx, e)
}

// attackWorse replies under a card that its attack got worse, and mentions people. An attack without a card gets one instead; an incident whose
// route wants it elsewhere gets its card there.
func (k *cardKeeper) attackWorse(ctx context.Context, a Account, e record.Event) error {
	channel, ts, err := k.cfg.Stores.Cards.Card(ctx, e.Account, record.AttackID(e.Account, e.Attack().ID))
	switch {
	case err != nil:
		return err
	case ts == "":
		return k.attackBegan(ctx, a, e)
	case e.Kind == record.BecameIncident && e.Channel != channel:
		return k.moveCard(ctx, a, e)
	}
	if _, err := k.markStale(ctx, e); err != nil {
		return err
	}
	return k.replyWorse(ctx, a, e)
}

// markStale has the card of an event's attack redrawn, and tells where it is; ts is "" if there is none.
func (k *cardKeeper) markStale(ctx context.Context, e record.Event) (ts string, err error) {
	id := record.AttackID(e.Account, e.Attack().ID)
	if _, ts, err = k.cfg.Stores.Cards.Card(ctx, e.Account, id); err != nil || ts == "" {
		return ts, err
	}
	if err := k.cfg.Stores.Redraws.MarkStale(ctx, e.Account, id, urgency(e)); err != nil {
		return ts, err
	}
	k.notifier.Stale(e.Account)
	return ts, nil
}

// cardDraft is what is known of an attack when its card is about to be posted.
type cardDraft struct {
	tried attempt
	facts cardFacts
}

// draft reads what is known, side by side, and marks the card as tried: this is the way from an attack to a person.
func (k *cardKeeper) draft(ctx context.Context, card record.Event) (r cardDraft, err error) {
	id := record.AttackID(card.Account, card.Attack().ID)
	var ok bool
	g, both := errgroup.WithContext(ctx)
	g.Go(func() (err error) { r.facts.file, err = k.cfg.Stores.Cards.Details(both, card.Account, id); return err })
	g.Go(func() (err error) { r.tried, err = k.deliver.begin(both, card.Account, card.ID); return err })
	g.Go(func() (err error) {
		r.facts.shown, ok, err = k.cfg.Stores.Attacks.AttackState(both, card.Account, id)
		return err
	})
	if err := g.Wait(); err != nil {
		return cardDraft{}, err
	}
	if c := card.Changed(); !ok || r.facts.shown.Revision < c.Revision {
		r.facts.shown = record.AttackState{Attack: card.Attack(), ObservedAt: card.At, Quiet: c.Quiet, Mention: c.Mention, Suppressed: c.Suppressed, Revision: c.Revision}
	}
	return r, nil
}

// attackBegan posts an attack's card, once, whichever of its events comes first.
func (k *cardKeeper) attackBegan(ctx context.Context, a Account, e record.Event) error {
	card := e
	card.ID = record.CardDelivery(e.Account, e.Attack().ID)
	posted, err := k.postCard(ctx, a, e, card)
	switch {
	case err != nil || e.ID == card.ID:
		return err
	case posted:
		return k.deliver.drop(ctx, e)
	}
	return k.attackWorse(ctx, a, e) // the card was drawn before this event
}

// postCard posts a card for an event, unless it is there already.
func (k *cardKeeper) postCard(ctx context.Context, a Account, e, card record.Event) (posted bool, err error) {
	r, err := k.draft(ctx, card)
	if err != nil {
		return false, err
	}
	if r.facts.file.Card.TS != "" || r.tried.done {
		return false, k.deliver.record(ctx, card, place{})
	}
	return k.putCard(ctx, a, card, r, func() error { return k.supersedeForCard(ctx, e, r) })
}

// putCard posts a card, which becomes the attack's, unless another replica has posted it before. What waits and is said with it is taken off first.
func (k *cardKeeper) putCard(ctx context.Context, a Account, attackCard record.Event, r cardDraft, takeOff func() error) (posted bool, err error) {
	if attackCard.ID != record.CardDelivery(attackCard.Account, attackCard.Attack().ID) {
		r.facts.file.Card.Delivery = attackCard.ID
	}
	call := eventPost(attackCard, card.Render(k.card(ctx, a, r.facts)), "")
	channel, ts, err := k.deliver.verifyBeforeResend(ctx, call, r.tried)
	if err != nil {
		return false, err
	}
	found := ts != ""
	if !found {
		if err := takeOff(); err != nil {
			return false, err
		}
		if channel, ts, err = k.deliver.postBegun(ctx, call, attempt{first: r.tried.first}); err != nil {
			return false, err
		}
	}
	if err := k.deliver.record(ctx, attackCard, place{channel, ts, true}); err != nil {
		return false, err
	}
	k.catchUp(ctx, attackCard, r.facts, found)
	return !found, nil
}

// supersedeForCard is supersede before a card is posted: the event that the attack began stays, where it still waits, as urgent as the attack is by now.
func (k *cardKeeper) supersedeForCard(ctx context.Context, e record.Event, r cardDraft) error {
	card := record.CardDelivery(e.Account, e.Attack().ID)
	if e.ID == card && e.Revision() == r.facts.shown.Revision {
		return nil // nothing newer has been decided
	}
	waiting, err := k.waiting(ctx, e)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(waiting, func(w record.Event) bool { return w.ID == card })
	if i < 0 {
		return k.supersede(ctx, waiting, e.ID, r.facts.shown.Revision)
	}
	if began := waiting[i]; began.Kind == record.NewAttack && r.facts.shown.Attack.Incident() {
		began.Kind = record.NewIncident
		if err := k.cfg.Stores.Outbox.Announce(ctx, began); err != nil {
			return err
		}
	}
	return k.supersede(ctx, waiting, card, r.facts.shown.Revision)
}

// supersede takes off what waits of an attack and is no newer than the facts that are about to be posted. That is done before they are sent,
// for the event that they are sent for stays.
func (k *cardKeeper) supersede(ctx context.Context, waiting []record.Event, stays string, revision int) error {
	for _, w := range waiting {
		if w.ID == stays || w.Revision() > revision {
			continue
		}
		if _, err := k.cfg.Stores.Outbox.Notified(ctx, w, "", "", false); err != nil {
			return err
		}
		k.cfg.Log.Info("superseded: the card or another reply says it", "account", w.Account, "attack", w.Attack().ID, "kind", w.Kind)
	}
	return nil
}

// waiting are the poller's events of an attack that wait.
func (k *cardKeeper) waiting(ctx context.Context, e record.Event) ([]record.Event, error) {
	all, err := k.cfg.Stores.Outbox.Waiting(ctx, e.Account)
	return slices.DeleteFunc(all, func(w record.Event) bool { return w.Attack().ID != e.Attack().ID || w.Changed().Revision == 0 }), err
}

// replyWorse replies under a card that its attack got worse, with the newest facts. Where the reply about the worst of it waits, too, or
// another message has said it, nothing more is said.
func (k *cardKeeper) replyWorse(ctx context.Context, a Account, e record.Event) error {
	waiting, err := k.waiting(ctx, e)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(waiting, func(w record.Event) bool { return w.ID == e.ID }) {
		return nil
	}
	if slices.ContainsFunc(waiting, func(w record.Event) bool { return w.Rank() < e.Rank() }) {
		return k.deliver.drop(ctx, e)
	}
	id := record.AttackID(e.Account, e.Attack().ID)
	newest, ok, err := k.cfg.Stores.Attacks.AttackState(ctx, e.Account, id)
	if err != nil {
		return err
	}
	told, now := e, e.Changed()
	if ok && newest.Revision > now.Revision {
		told.At, now.Attack, now.Revision = newest.ObservedAt, newest.Attack, newest.Revision
	}
	said, err := k.cfg.Stores.Triage.TriageOf(ctx, e.Account, id)
	if err != nil {
		return err
	}
	loud := loudest(e, waiting, now.Revision).Changed()
	now.Mention = card.Recipient(said.Owner, loud.Mention, loud.Suppressed)
	told.Payload = now
	t, err := k.deliver.begin(ctx, e.Account, e.ID)
	if err != nil {
		return err
	}
	if t.done {
		return k.deliver.drop(ctx, e) // the event was stored again
	}
	call := eventPost(e, card.Worse(a.Account, told), "")
	call.Broadcast = true
	takeOff := func() error { return k.supersede(ctx, waiting, e.ID, now.Revision) }
	channel, ts, err := k.replyUnder(ctx, a, call, under{id, e.Channel, t, takeOff})
	if err != nil {
		return err
	}
	return k.deliver.record(ctx, e, place{channel: channel, ts: ts})
}

// loudest is the event that says whom a reply mentions which says all that waits up to a revision: the newest that mentions people, if one does.
func loudest(e record.Event, waiting []record.Event, revision int) record.Event {
	for _, w := range waiting {
		calls := w.Kind == record.Worsened && w.Revision() <= revision && !w.Changed().Suppressed
		if calls && (e.Changed().Suppressed || w.Revision() > e.Revision()) {
			e = w
		}
	}
	return e
}

// catchUp has a card redrawn when something was done or became known while it was on its way: it can be clicked before it is known where it is.
// One that was found, because another replica had posted it before, may have been drawn at any time.
func (k *cardKeeper) catchUp(ctx context.Context, e record.Event, drawn cardFacts, found bool) {
	id := record.AttackID(e.Account, e.Attack().ID)
	now, err := k.cfg.Stores.Cards.Details(ctx, e.Account, id)
	shown, _, shownErr := k.cfg.Stores.Attacks.AttackState(ctx, e.Account, id)
	if err = errors.Join(err, shownErr); err == nil && (found || doneSince(now, drawn.file) || shown.Revision > drawn.shown.Revision) {
		err = k.notifier.MarkActed(ctx, e.Account, id)
	}
	if err != nil {
		k.cfg.Log.Error("look what was done since a card was drawn", "account", e.Account, "err", err)
	}
}
