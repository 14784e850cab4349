package notify

import (
	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// approvalChanged keeps the one card of an approval request true. It is posted under the card of its attack, where the
// channel sees it too, else into the account's channel. When the request is decided and done the asker is mentioned
// under it; when it was done alone, the people whom the configuration names.
func approvalChanged(_ record.ApprovalChanged, f facts) plan {
	q := f.request
	if q.ID == "" || f.kept.shows >= q.Revision {
		return plan{}
	}
	request := f.post(card.ApprovalRequest(q, f.account.Guards, f.now))
	request.Delivery, request.Channel = q.ID, f.account.Channel
	if request.replaces = f.kept.at; f.kept.at.TS == "" {
		request = f.underCard(request, request)
		request.Broadcast = true
	}
	if q.State == record.RequestWaiting || q.InHand() {
		return say(request)
	}
	decided := f.post(card.ApprovalDecision(q, f.account.Guards, f.now))
	decided.Delivery, decided.Channel = q.ID+"-decided", f.account.Channel
	if q.State != record.RequestOverridden {
		elsewhere := decided
		decided.follows, decided.otherwise = true, &elsewhere
	}
	return say(request, decided)
}

// permissionChanged keeps the one notice of a permission loss true, and says in one message more that the permission is
// back: an edit mentions no one. A loss that was over before it could be notified is not: the person who was refused
// knows.
func permissionChanged(changed record.PermissionChanged, f facts) plan {
	t, posted := f.loss, f.kept.at.TS != ""
	if !t.Since.Equal(changed.Since) || !posted && !t.GoesOn() || posted && f.kept.shows >= t.Revision { // of a loss before, or said already
		return plan{}
	}
	notice := f.post(card.PermissionLost(f.account.Account, t, f.Changes, f.now))
	notice.Delivery, notice.replaces = t.ID(), f.kept.at
	if t.GoesOn() {
		return say(notice)
	}
	over := f.post(card.PermissionBack(f.account.Account, t))
	over.Delivery, over.Channel = t.ID()+"-over", f.kept.at.Channel
	return say(notice, over)
}

// drillChanged posts a test card, or shows on it who acknowledged it; its pager is called meanwhile. The report comes
// in the thread of the first card. Where a card is, the outbox knows.
func drillChanged(changed record.DrillFacts, f facts) plan {
	d := f.drill
	if changed.Drill != d.ID { // of a drill before
		return plan{}
	}
	shown := f.post(card.TestCard(f.account.Account, d, changed.Card))
	shown.Delivery = "drill " + d.CardID(changed.Card)
	p := say(shown)
	c := d.Cards[changed.Card]
	switch {
	case changed.Report:
		report := f.post(card.DrillReport(d, f.now))
		report.follows = true
		return say(shown, report)
	case c.By != nil:
		shown.edits = true
		p.posts = append(p.posts, shown)
	}
	if d.Page && c.Pager != "" && f.account.Page != nil {
		p.page = d.PageOf(changed.Card, f.now)
	}
	return p
}
