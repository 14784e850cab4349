package notify

import (
	"slices"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// attackNotified posts an attack's card, or replies under it that the attack got worse or resumed.
func attackNotified(_ record.AttackFacts, f facts) plan {
	delivery := record.CardDelivery(f.Account, f.Subject)
	switch {
	case !f.known():
		return plan{}
	case f.Card.TS == "":
		return firstCard(f, delivery)
	case f.ID == delivery:
		return plan{}
	case f.Kind == record.BecameIncident && f.Channel != f.Card.Channel: // its route wants it there: the store marks the former card when it records this one, to become a link to it
		moved := f.cardPost(f.ID)
		moved.supersedes = superseded(f.waiting, f.ID, f.State.Revision)
		return say(moved)
	}
	return attackWorse(f)
}

// firstCard posts an attack's card once. The event that the attack began stays, where it still waits, as urgent as the
// attack is by now.
func firstCard(f facts, delivery string) plan {
	first, stays := f.cardPost(delivery), f.ID
	p := plan{}
	if i := slices.IndexFunc(f.waiting, func(w record.Event) bool { return w.ID == delivery }); i >= 0 {
		stays = delivery
		began := f.waiting[i]
		if began.Channel != f.Channel { // the incident's route has another one
			first.begunIn = began.Channel
		}
		if began.Kind == record.NewAttack && f.State.Attack.Incident() {
			began.Kind = record.NewIncident
			p.emits = []record.Event{began}
		}
	}
	first.supersedes = superseded(f.waiting, stays, f.State.Revision)
	p.posts = []Post{first}
	return p
}

// cardLost posts an attack's card once more, silently, in the place of one that is gone.
func cardLost(_ record.AttackFacts, f facts) plan {
	if f.Card.Message() != f.former().Message() || f.State.Revision == 0 {
		return plan{} // it has another one already, or is no longer stored
	}
	return say(f.cardPost(f.ID))
}

// cardPost is a post of the attack's card.
func (f facts) cardPost(delivery string) Post {
	if delivery != record.CardDelivery(f.Account, f.Subject) {
		f.Card.Delivery = delivery
	}
	p := f.post(card.Render(f.situation()))
	p.Delivery, p.card = delivery, true
	return p
}

// superseded is what waits of an attack and is no newer than the facts that are about to be posted.
func superseded(waiting []record.Event, stays string, revision int) (all []record.Event) {
	for _, w := range waiting {
		if w.ID != stays && w.Order <= revision {
			all = append(all, w)
		}
	}
	return all
}

// attackWorse replies under a card that its attack got worse or resumed, with the newest facts, and mentions people.
// Where the reply about the worst of it waits, too, or another message has said it, nothing more is said, nor where a
// person found that it is no attack and it is only that again. Where no one may reply it goes to the channel.
func attackWorse(f facts) plan {
	p := plan{stale: true}
	if f.Kind == record.Resumed && f.Triage.IsNone() {
		return p
	}
	waits := slices.ContainsFunc(f.waiting, func(w record.Event) bool { return w.ID == f.ID })
	if !waits || slices.ContainsFunc(f.waiting, func(w record.Event) bool { return w.Rank() < f.Rank() }) {
		return p
	}
	newest, owner := f.Event, f.Triage.Owner
	newest.Attack = &f.State
	if f.State.Revision > f.Order {
		newest.At = f.State.ObservedAt
	}
	if f.Kind == record.Resumed {
		owner = nil // whose acknowledgement is void
	}
	loud := loudest(f.Event, f.waiting, f.State.Revision).Said()
	reply := f.post(card.Worse(f.account.Account, newest, card.Recipient(owner, loud.Mention, loud.Suppressed)))
	reply.supersedes = superseded(f.waiting, f.ID, f.State.Revision)
	elsewhere := reply
	elsewhere.Channel = f.Card.Channel
	reply = f.underCard(reply, elsewhere)
	reply.Broadcast, reply.repost = true, f.Channel
	p.posts = []Post{reply}
	return p
}

// loudest is the event that says whom a reply mentions which says all that waits up to a revision: the newest that
// mentions people, if one does.
func loudest(e record.Event, waiting []record.Event, revision int) record.Event {
	for _, w := range waiting {
		mentions := (w.Kind == record.Worsened || w.Kind == record.Resumed) && w.Order <= revision && !w.Said().Suppressed
		if mentions && (e.Said().Suppressed || w.Order > e.Order) {
			e = w
		}
	}
	return e
}

// attackChanged shows on its card, as the attack is by now, that it grew or went quiet. That it went quiet goes into
// the card's thread, too, when all else is notified.
func attackChanged(_ record.AttackFacts, f facts) plan {
	p := plan{stale: f.Card.TS != ""}
	if p.stale && f.Kind == record.WentQuiet && !record.IsStorm(f.Subject) {
		course := f.Event
		course.ID, course.Kind, course.Order, course.Detail = "course:"+f.ID, record.AttackEnded, 0, record.AttackFacts{}
		p.emits = []record.Event{course}
	}
	return p
}

// attackEnded says in the thread of a card how its attack went that is quiet, unless it goes on again by now. Where the
// card is gone it is posted again when it is redrawn, and says the same.
func attackEnded(_ record.AttackFacts, f facts) plan {
	if !f.known() || !f.State.Quiet || f.Card.TS == "" {
		return plan{}
	}
	return say(f.thread(f.Card, card.Course(f.situation(), f.State.History)))
}

// cardLeft says under a card that stands as it is, buttons and all, where its successor is.
func cardLeft(_ record.AttackFacts, f facts) plan {
	if len(f.successor) == 0 {
		return plan{}
	}
	return say(f.thread(f.former(), card.Stale(f.successor)))
}

// former is the card that an event is about, which has a successor or needs one.
func (f facts) former() record.Place { return record.ReadPlace(f.Said().Former) }
