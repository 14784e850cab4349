package notify

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
)

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
