package notify

import (
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/efficacy"
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

// changeSettled says the outcome of a change under its attack's card, else in the account's channel. The message has
// all that is needed to undo the change after Redis was emptied.
func changeSettled(_ record.ChangeFacts, f facts) plan {
	if f.change.ID == "" || silentRenewal(f.change, f.extended) {
		return plan{}
	}
	msg, underCard, mentions := card.ChangeSettled(f.change, f.extended, f.ops(), advice.Undo(f.change, f.now))
	elsewhere := f.post(msg)
	elsewhere.Channel, elsewhere.Urgent = f.account.Channel, mentions // others must not use up what is kept for messages that mention people
	first := elsewhere
	if f.change.Late == nil { // that it was late was said in the account's channel
		reply := elsewhere
		reply.Message = underCard
		reply.repost = f.Card.Channel
		first = f.underCard(reply, elsewhere)
	}
	p := say(first)
	for i, rest := range card.ChangeRest(f.change, f.extended) {
		more := f.post(rest)
		more.Delivery, more.Channel, more.Urgent = fmt.Sprintf("%s-%d", f.ID, i+2), f.account.Channel, false
		elsewhere := more
		more.follows, more.otherwise = true, &elsewhere
		p.posts = append(p.posts, more)
	}
	return p
}

// renewalSaid is how often it is said that wafbot renews a change: a denial of two minutes would fill the thread. A
// rebuild reads what was said.
const renewalSaid = time.Hour

// silentRenewal reports whether a change is one more renewal by wafbot within an hour of the change that it renews.
func silentRenewal(ch, renewed record.Change) bool {
	if ch.Extends == "" || ch.Actor.Via != record.ViaClock || ch.State != record.StateDone {
		return false
	}
	hours := func(at time.Time) time.Duration { return at.Sub(renewed.At) / renewalSaid }
	every := renewed.Until.Sub(ch.At) // how long each renewal lasts
	return hours(ch.At) == hours(ch.At.Add(-every))
}

// mitigationEnding asks, under the card of its attack, whether a mitigation is to hold longer, if it still ends then.
// When Slack or this replica was away until it had ended, it says so.
func mitigationEnding(about record.ChangeFacts, f facts) plan {
	ch := f.change
	if ch.ID == "" || !ch.InForce(ch.At) || !ch.Until.Equal(about.Until) { // it was undone, or extended
		return plan{}
	}
	who := responsible(ch, f.Triage)
	reply := f.post(card.MitigationEnding(ch, who, "", f.now))
	reply.Broadcast = who == "" // a thread without a mention is read by no one
	return say(f.underCard(reply, f.post(card.MitigationEnding(ch, who, ch.AttackID, f.now))))
}

// endOverdue says in the account's channel that a change can't be ended, if that is so by now.
func endOverdue(_ record.ChangeFacts, f facts) plan {
	if f.change.ID == "" || f.change.Late == nil || f.change.DueAt().IsZero() {
		return plan{}
	}
	return say(f.post(card.EndOverdue(f.account.Account, f.change, responsible(f.change, f.Triage), f.now)))
}

// responsible is the owner of a change's attack, else the change's author; "" for a person at a terminal, who can't be
// mentioned.
func responsible(ch record.Change, t record.Triage) string {
	user := ch.Actor.ID
	if t.Owner != nil {
		user = t.Owner.ID
	}
	if !card.InSlack(user) {
		return ""
	}
	return user
}

// efficacyChanged says under the card of its attack that a mitigation does not work, or that what it denied came back,
// if that is so by now; in the account's channel where there is no card.
func efficacyChanged(_ record.ChangeFacts, f facts) plan {
	ch := f.change
	if ch.ID == "" || ch.State == record.StateUndone {
		return plan{}
	}
	s, finding := f.situation(), f.Efficacy[ch.ID].Finding
	if finding != record.NotWorking && finding != record.SourceReturned || efficacy.StillDenied(s, ch) {
		return plan{}
	}
	users := card.Recipients(ch, f.Triage, f.State)
	if finding == record.NotWorking {
		users = append(users, f.ops())
	}
	elsewhere := f.post(card.Efficacy(s, ch, users))
	reply := elsewhere
	reply.Broadcast = true
	return say(f.underCard(reply, elsewhere))
}
