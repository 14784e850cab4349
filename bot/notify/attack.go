package notify

import (
	"slices"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// drawsCard reports whether an event's attack gets a card: its first, whichever of its events comes first; one
// elsewhere, when it became an incident whose route wants it there; or another one in the place of one that is gone.
func drawsCard(e record.Event, f facts) bool {
	switch {
	case e.Kind == record.CardLost:
		return f.Card.Message() == formerCard(e).Message() && f.State.Revision > 0 // else it has another one already, or is no longer stored
	case f.Card.TS == "":
		return true
	}
	return e.Kind == record.BecameIncident && e.Channel != f.Card.Channel
}

// attackNotified posts an attack's card, or replies under it that the attack got worse or resumed.
func attackNotified(e record.Event, p record.AttackChanged, f facts) plan {
	delivery := record.CardDelivery(e.Account, e.Attack().ID)
	switch {
	case f.Card.TS == "":
		return firstCard(e, f, delivery)
	case e.ID == delivery:
		return plan{}
	case drawsCard(e, f): // the store marks the former card when it records this one: what it leaves behind becomes a link to it
		moved := f.cardPost(e, e.ID)
		moved.supersedes = superseded(f.waiting, e.ID, f.State.Revision)
		return say(moved)
	}
	return attackWorse(e, p, f)
}

// firstCard posts an attack's card once. The event that the attack began stays, where it still waits, as urgent as the
// attack is by now.
func firstCard(e record.Event, f facts, delivery string) plan {
	first, stays := f.cardPost(e, delivery), e.ID
	p := plan{}
	if i := slices.IndexFunc(f.waiting, func(w record.Event) bool { return w.ID == delivery }); i >= 0 {
		stays = delivery
		began := f.waiting[i]
		if began.Channel != e.Channel { // the incident's route has another one
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
func cardLost(e record.Event, _ record.CardReplaced, f facts) plan {
	if !drawsCard(e, f) {
		return plan{}
	}
	return say(f.cardPost(e, e.ID))
}

// cardPost is a post of the attack's card.
func (f facts) cardPost(e record.Event, delivery string) Post {
	if delivery != record.CardDelivery(e.Account, e.Attack().ID) {
		f.Card.Delivery = delivery
	}
	p := f.post(e, card.Render(f.situation()))
	p.Delivery, p.card = delivery, true
	return p
}

// superseded is what waits of an attack and is no newer than the facts that are about to be posted.
func superseded(waiting []record.Event, stays string, revision int) (all []record.Event) {
	for _, w := range waiting {
		if w.ID != stays && w.Revision() <= revision {
			all = append(all, w)
		}
	}
	return all
}

// attackWorse replies under a card that its attack got worse or resumed, with the newest facts, and mentions people.
// Where the reply about the worst of it waits, too, or another message has said it, nothing more is said, nor where a
// person found that it is no attack and it is only that again. Where no one may reply it goes to the channel.
func attackWorse(e record.Event, now record.AttackChanged, f facts) plan {
	p := plan{stale: true}
	if e.Kind == record.Resumed && f.Triage.IsNone() {
		return p
	}
	waits := slices.ContainsFunc(f.waiting, func(w record.Event) bool { return w.ID == e.ID })
	if !waits || slices.ContainsFunc(f.waiting, func(w record.Event) bool { return w.Rank() < e.Rank() }) {
		return p
	}
	newest := e
	if f.State.Revision > now.Revision {
		newest.At, now.Attack, now.Revision = f.State.ObservedAt, f.State.Attack, f.State.Revision
	}
	loud := loudest(e, f.waiting, now.Revision).Changed()
	now.Mention = card.Recipient(f.Triage.Owner, loud.Mention, loud.Suppressed)
	if e.Kind == record.Resumed {
		now.Mention = card.Recipient(nil, loud.Mention, loud.Suppressed) // its owner's acknowledgement is void
	}
	newest.Payload = now
	reply := f.post(e, card.Worse(f.account.Account, newest))
	reply.supersedes = superseded(f.waiting, e.ID, now.Revision)
	elsewhere := reply
	elsewhere.Channel = f.Card.Channel
	reply = f.underCard(reply, elsewhere)
	reply.Broadcast, reply.repost = true, e.Channel
	p.posts = []Post{reply}
	return p
}

// loudest is the event that says whom a reply mentions which says all that waits up to a revision: the newest that
// mentions people, if one does.
func loudest(e record.Event, waiting []record.Event, revision int) record.Event {
	for _, w := range waiting {
		mentions := (w.Kind == record.Worsened || w.Kind == record.Resumed) && w.Revision() <= revision && !w.Changed().Suppressed
		if mentions && (e.Changed().Suppressed || w.Revision() > e.Revision()) {
			e = w
		}
	}
	return e
}

// attackChanged shows on its card, as the attack is by now, that it grew or went quiet. That it went quiet goes into
// the card's thread, too, when all else is notified.
func attackChanged(e record.Event, _ record.AttackChanged, f facts) plan {
	p := plan{stale: f.Card.TS != ""}
	if p.stale && e.Kind == record.WentQuiet && e.Storm() == nil {
		course := e
		course.ID, course.Kind, course.Payload = "course:"+e.ID, record.AttackEnded, record.AttackCourse{Attack: e.Attack()}
		p.emits = []record.Event{course}
	}
	return p
}

// attackEnded says in the thread of a card how its attack went that is quiet, unless it goes on again by now. Where the
// card is gone it is posted again when it is redrawn, and says the same.
func attackEnded(e record.Event, _ record.AttackCourse, f facts) plan {
	if !f.known() || !f.State.Quiet || f.Card.TS == "" {
		return plan{}
	}
	return say(f.thread(e, f.Card, card.Course(f.situation(), f.State.History)))
}

// cardLeft says under a card that stands as it is, buttons and all, where its successor is.
func cardLeft(e record.Event, _ record.CardReplaced, f facts) plan {
	if len(f.successor) == 0 {
		return plan{}
	}
	return say(f.thread(e, formerCard(e), card.Stale(f.successor)))
}

// formerCard is the card that an event is about, which has a successor or needs one.
func formerCard(e record.Event) record.Place {
	p, _ := e.Payload.(record.CardReplaced)
	return record.ReadPlace(p.Former)
}
