package notify

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
)

// approvalChanged keeps the one card of an approval request true. It is posted under the card of its attack, where the channel sees it too, else into
// the account's channel. When the request is decided and done the asker is mentioned under it; when it was done alone, the people whom the
// configuration names.
func approvalChanged(e record.Event, _ record.ApprovalChanged, f facts) plan {
	q := f.request
	if q.ID == "" || f.kept.shows >= q.Revision {
		return plan{}
	}
	request := f.post(e, card.ApprovalRequest(q, f.policy, f.now))
	request.Delivery, request.Channel = q.ID, f.account.Channel
	if request.replaces = f.kept.at; f.kept.at.TS == "" {
		request = f.underCard(request, request)
		request.Broadcast = true
	}
	if q.State == record.RequestWaiting || q.InHand() {
		return say(request)
	}
	decided := f.post(e, card.ApprovalDecision(q, f.policy, f.now))
	decided.Delivery, decided.Channel = q.ID+"-decided", f.account.Channel
	if q.State != record.RequestOverridden {
		elsewhere := decided
		decided.follows, decided.otherwise = true, &elsewhere
	}
	return say(request, decided)
}

// permissionChanged keeps the one notice of a permission loss true, and says in one message more that the permission is back: an edit mentions no
// one. A loss that was over before it could be notified is not: the person who was refused knows.
func permissionChanged(e record.Event, changed record.PermissionChanged, f facts) plan {
	t, posted := f.loss, f.kept.at.TS != ""
	if !t.Since.Equal(changed.Since) || !posted && !t.GoesOn() || posted && f.kept.shows >= t.Revision { // of a loss before, or said already
		return plan{}
	}
	notice := f.post(e, card.PermissionLost(f.account.Account, t, f.changes, f.now))
	notice.Delivery, notice.replaces = t.ID(), f.kept.at
	if t.GoesOn() {
		return say(notice)
	}
	over := f.post(e, card.PermissionBack(f.account.Account, t))
	over.Delivery, over.Channel = t.ID()+"-over", f.kept.at.Channel
	return say(notice, over)
}

// drillChanged posts a drill's card, shows on it later how the drill ended, and then reports in its thread.
func drillChanged(e record.Event, changed record.DrillFacts, f facts) plan {
	d, posted := f.drill, f.drill.Card.TS != ""
	if changed.Drill != d.ID || posted == d.Waits() { // of a drill before, or shown already
		return plan{}
	}
	shown := f.post(e, card.Drill(f.account.Account, d))
	switch {
	case !posted:
		return say(shown)
	case d.Card.Shown.IsZero(): // the report says when it was
		shown.replaces = record.Place{Channel: d.Card.Channel, TS: d.Card.TS}
		return plan{posts: []Post{shown}, again: true}
	}
	report := f.post(e, card.Lines(describe.Drill(d), nil))
	report.Channel, report.Thread, report.Delivery = d.Card.Channel, d.Card.TS, "drill report "+d.ID
	return say(report)
}

// saveDrillCard records a drill's card: when it showed the end, or where it was posted, once that was verified as after a failure.
func (n *Notifier) saveDrillCard(ctx context.Context, e record.Event, f facts, d delivered) error {
	saved := f.drill.Card
	switch {
	case d.post.replaces.TS != "":
		saved.Shown = n.cfg.Clocks.ServiceNow(f.drill.Account)
		return n.cfg.Stores.Drills.SaveDrillCard(ctx, e.Account, saved)
	case saved.TS != "": // that was the report
		return nil
	}
	saved = record.DrillCard{Drill: f.drill.ID, Channel: d.at.Channel, TS: d.at.TS, Posted: n.cfg.Clocks.ServiceNow(f.drill.Account)}
	begun := time.Now()
	found, _, err := n.deliver.readings.find(ctx, d.post, d.first, begun)
	switch {
	case err != nil:
		n.cfg.Log.WarnContext(ctx, "find the card of a drill", "account", e.Account, "err", err)
		saved.Fault = "the channel's history can't be read: " + slackconn.Brief(err)
	case found != d.at.TS:
		saved.Fault = "it isn't there"
	default:
		saved.Found = time.Since(begun)
	}
	if err := n.cfg.Stores.Drills.SaveDrillCard(ctx, e.Account, saved); err != nil {
		return err
	}
	if o := n.own(e.Account); o != nil {
		signal(o.drills.wake)
	}
	return nil
}
