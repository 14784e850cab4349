package notify

import (
	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
)

// handedOver mentions the new owner of an attack, and the former one when it was taken over, if that still holds.
func handedOver(e record.Event, given record.Assignment, f facts) reply {
	t := f.details.Triage
	if t.Owner == nil || t.Owner.ID != given.To {
		return reply{}
	}
	lines := card.HandoverLines(t)
	elsewhere := card.Lines(append(lines[:len(lines):len(lines)], describe.Attack(f.account.Account, given.Attack, e.At)), nil)
	r := message(e, elsewhere)
	if f.card.TS != "" {
		r.message, r.under, r.elsewhere = card.Lines(lines, nil), f.card, &elsewhere
	}
	return r
}

// tookOver mentions once each former owner, and the new one unless that person took the attacks over, as far as it still holds.
func tookOver(e record.Event, _ record.Assignment, f facts) reply {
	lines := card.TakeoverLines(e, f.triage)
	if len(lines) == 0 {
		return reply{}
	}
	return message(e, card.Lines(lines, nil))
}

// attackEnded says in the thread of a card how its attack went that is quiet, or goes on again, unless that is over by now. Where the card is
// gone it is posted again when it is redrawn, and says the same.
func attackEnded(e record.Event, course record.AttackCourse, f facts) reply {
	if !f.known || f.shown.Quiet != course.Quiet || f.card.TS == "" {
		return reply{}
	}
	r := message(e, card.Course(f.situation(), f.shown.History, f.evidence, course.Quiet))
	r.under = f.card
	return r
}

// cardLeft says under a card that stands as it is, buttons and all, where its successor is.
func cardLeft(e record.Event, _ record.CardReplaced, f facts) reply {
	if len(f.successor) == 0 {
		return reply{}
	}
	r := message(e, card.Stale(f.successor))
	r.under = formerCard(e)
	return r
}

// formerCard is the card that an event is about, which has a successor or needs one.
func formerCard(e record.Event) record.Place {
	p, _ := e.Payload.(record.CardReplaced)
	return record.ReadPlace(p.Former)
}
