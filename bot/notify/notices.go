package notify

import (
	"slices"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// firstStart is the one message of an account's first poll.
func firstStart(first record.FirstStartFacts, f facts) plan {
	return say(f.post(card.FirstStart(f.account.Account, first, f.account.Guards, f.roles)))
}

// apiUnreachable says that an account can't be watched, unless it is watched again by now: then the monitoring gap says
// both. Its cards say the same.
func apiUnreachable(unreachable record.UnreachableFacts, f facts) plan {
	p := plan{redraw: true}
	if !f.health.LastGood.After(f.At) {
		p.posts = []Post{f.post(card.Unreachable(f.account.Account, unreachable))}
	}
	return p
}

// monitoringGap says from when to when an account was not watched, and what happened meanwhile.
func monitoringGap(gap record.GapFacts, f facts) plan {
	return plan{redraw: true, posts: []Post{f.post(card.MonitoringGap(f.account.Account, gap, f.listed, f.now))}}
}

// handedOver mentions the new owner of an attack, and the former one when it was taken over, if that still holds.
func handedOver(given record.AttackFacts, f facts) plan {
	t := f.Triage
	if t.Owner == nil || t.Owner.ID != given.To {
		return plan{}
	}
	return f.assigned(card.HandoverLines(t), false)
}

// ackLapsed says under the card of an attack that it is unacknowledged again, if it is, and mentions the former owner
// and whom the route mentions.
func ackLapsed(was record.AttackFacts, f facts) plan {
	t := f.Triage
	resumed := t.Lapsed != nil && f.State.ResumedAt.After(t.Lapsed.Since) // the reply that it did has said so
	if t.Owner != nil || t.Lapsed == nil || t.Lapsed.ID != was.To || resumed {
		return plan{}
	}
	return f.assigned(card.LapseLines(t, f.State), true)
}

// assigned says who has an attack under its card, else in the channel, where it names the attack.
func (f facts) assigned(lines []text.Text, broadcast bool) plan {
	elsewhere := append(slices.Clip(lines), words.Attack(f.account.Account, f.State.Attack, f.At))
	reply := f.post(card.Lines(lines))
	reply.Broadcast = broadcast
	return say(f.underCard(reply, f.post(card.Lines(elsewhere))))
}

// tookOver mentions once each former owner, and the new one unless that person took the attacks over, as far as it
// still holds.
func tookOver(_ record.AttackFacts, f facts) plan {
	lines := card.TakeoverLines(f.Event, f.triage)
	if len(lines) == 0 {
		return plan{}
	}
	return say(f.post(card.Lines(lines)))
}

// summaryDue hands an account over in its channel, as it is when this is posted.
func summaryDue(f facts) (plan, error) {
	if f.now.Sub(f.At) > summaryLate {
		return plan{}, nil
	}
	return say(f.post(card.Summary(f.account.Account, f.summary))), nil
}
