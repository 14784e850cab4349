package notify

import (
	"slices"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

// firstStart is the one message of an account's first poll.
func firstStart(e record.Event, first record.FirstStartFacts, f facts) plan {
	return say(f.post(e, card.FirstStart(f.account.Account, first, f.account.Guards, f.roles)))
}

// storeRebuilt says in a channel what was rebuilt from it.
func storeRebuilt(e record.Event, rebuilt record.RebuildFacts, f facts) plan {
	return say(f.post(e, card.StoreRebuilt(e.Account, rebuilt)))
}

// apiUnreachable says that an account can't be watched, unless it is watched again by now: then the monitoring gap says
// both. Its cards say the same.
func apiUnreachable(e record.Event, unreachable record.UnreachableFacts, f facts) plan {
	p := plan{redraw: true}
	if !f.health.LastGood.After(e.At) {
		p.posts = []Post{f.post(e, card.Unreachable(f.account.Account, unreachable))}
	}
	return p
}

// monitoringGap says from when to when an account was not watched, and what happened meanwhile.
func monitoringGap(e record.Event, gap record.GapFacts, f facts) plan {
	return plan{redraw: true, posts: []Post{f.post(e, card.MonitoringGap(f.account.Account, gap, f.now))}}
}

// pagerUnreachable says that a pager can't be called.
func pagerUnreachable(e record.Event, fault record.PagerFault, f facts) plan {
	return say(f.post(e, card.PagerUnreachable(f.account.Account, fault)))
}

// foreignRecords says that the service answers with records of other clients.
func foreignRecords(e record.Event, came record.ForeignFacts, f facts) plan {
	return say(f.post(e, card.ForeignRecords(f.account.Account, came)))
}

// handedOver mentions the new owner of an attack, and the former one when it was taken over, if that still holds.
func handedOver(e record.Event, given record.Assignment, f facts) plan {
	t := f.Triage
	if t.Owner == nil || t.Owner.ID != given.To {
		return plan{}
	}
	lines := card.HandoverLines(t)
	elsewhere := append(slices.Clip(lines), words.Attack(f.account.Account, given.Attack, e.At))
	return say(f.underCard(f.post(e, card.Lines(lines, nil)), f.post(e, card.Lines(elsewhere, nil))))
}

// ackLapsed says under the card of an attack that it is unacknowledged again, if it is, and mentions the former owner
// and whom the route mentions.
func ackLapsed(e record.Event, was record.Assignment, f facts) plan {
	t := f.Triage
	resumed := t.Lapsed != nil && f.State.ResumedAt.After(t.Lapsed.Since) // the reply that it did has said so
	if t.Owner != nil || t.Lapsed == nil || t.Lapsed.ID != was.To || resumed {
		return plan{}
	}
	lines := card.LapseLines(t, f.State)
	elsewhere := append(slices.Clip(lines), words.Attack(f.account.Account, was.Attack, e.At))
	reply := f.post(e, card.Lines(lines, nil))
	reply.Broadcast = true
	return say(f.underCard(reply, f.post(e, card.Lines(elsewhere, nil))))
}

// tookOver mentions once each former owner, and the new one unless that person took the attacks over, as far as it
// still holds.
func tookOver(e record.Event, _ record.Assignment, f facts) plan {
	lines := card.TakeoverLines(e, f.triage)
	if len(lines) == 0 {
		return plan{}
	}
	return say(f.post(e, card.Lines(lines, nil)))
}

// summaryDue hands an account over in its channel, as it is when this is posted.
func summaryDue(e record.Event, f facts) (plan, error) {
	if f.now.Sub(e.At) > summaryLate {
		return plan{}, nil
	}
	return say(f.post(e, card.Summary(f.account.Account, f.summary))), nil
}
