package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
)

// errStopping says that a message wasn't edited because its account is being left. The next owner edits it.
var errStopping = errors.New("this replica stops")

// await asks for a slot until it is given one, or stop is closed.
func await(ctx context.Context, stop <-chan struct{}, slot func() (wait time.Duration, err error)) error {
	for {
		wait, err := slot()
		if err != nil || wait == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			return errStopping
		case <-time.After(wait):
		}
	}
}

// calm is how long after a 429, where no pace is configured, wafbot keeps to the one that Slack promises: another 429
// each second helps no one.
const calm = 30 * time.Second

// wire sends to Slack, within its pace, and reads what is sent.
type wire struct{ cfg *Config }

// paced reports whether calls of a method are to be paced by now.
func (n wire) paced(method string) bool {
	return n.cfg.MessagesPerSecond > 0 || n.cfg.Slack.HeldFor(method, false) > -calm
}

// burst is how many messages a channel gets at once, where a pace is configured.
const burst = 4

// editsPerMinute is how many messages wafbot edits in a workspace: Slack takes some 50 of an app.
const editsPerMinute = 40

// postSlot takes the right to post one message to a channel; wait is how long until there is one, 0 if it was given.
// What isn't urgent leaves one for what is.
func (n wire) postSlot(ctx context.Context, channel string, urgent bool) (wait time.Duration, err error) {
	if wait := n.cfg.Slack.HeldFor(slackconn.MethodPost, urgent); wait > 0 {
		return min(wait, mostPause), nil // something urgent may find out earlier that Slack is back
	}
	if !n.paced(slackconn.MethodPost) {
		return 0, nil
	}
	perSecond, atOnce, keep := n.cfg.MessagesPerSecond, burst, 1
	if perSecond == 0 {
		perSecond, atOnce = 1, 1
	}
	if urgent {
		keep = 0
	}
	return n.cfg.Store.Slack.PostSlot(ctx, channel, perSecond, atOnce, keep)
}

// editSlot takes the right to edit one message, when it is its turn among all that want to, of all accounts and
// replicas.
func (n wire) editSlot(ctx context.Context, turn record.EditTurn) (wait time.Duration, err error) {
	if wait := n.cfg.Slack.HeldFor(slackconn.MethodUpdate, false); wait > 0 {
		return wait, nil
	}
	if !n.paced(slackconn.MethodUpdate) {
		return 0, nil
	}
	return n.cfg.Store.Slack.EditSlot(ctx, editsPerMinute, turn)
}

// awaitEdit waits for the right to edit one message that people wait for, or until stop is closed.
func (n wire) awaitEdit(ctx context.Context, stop <-chan struct{}, at record.Place) error {
	turn := record.EditTurn{Of: at.Message(), Due: n.cfg.Clocks.Now().Add(-atOnceAhead)}
	return await(ctx, stop, func() (time.Duration, error) { return n.editSlot(ctx, turn) })
}

// edit puts a message in the place of another (chat.update), plainer when Slack refuses what is in it. Without metadata
// that of the other stays. The right to edit was taken.
func (n wire) edit(ctx context.Context, at record.Place, msg card.Message) error {
	for {
		opts := msg.Options()
		if msg.Metadata.EventType != "" {
			opts = append(opts, slack.MsgOptionMetadata(msg.Metadata))
		}
		if err := ctx.Err(); err != nil {
			return err // of a replica that was paused, the lease is over, and with it what it knows
		}
		err := n.cfg.Slack.Update(ctx, at.Channel, at.TS, opts...)
		if err == nil {
			n.cfg.Metrics.SlackEdits.Inc()
			return nil
		}
		plainer, ok := n.plainer(slackconn.MethodUpdate, msg, err)
		if !ok {
			return err
		}
		msg = plainer
		if err := n.awaitEdit(ctx, nil, at); err != nil {
			return err
		}
	}
}

// bringUpToDate puts a post in the place of a message that is no attack's card. One that can't be edited, because it
// was deleted, is left as it is.
func (n *Notifier) bringUpToDate(ctx context.Context, p Post) error {
	var stop <-chan struct{} // never, where another replica owns the account
	if q := n.queue(p.Account); q != nil {
		stop = q.stopping
	}
	if err := n.awaitEdit(ctx, stop, p.replaces); err != nil {
		return err
	}
	err := n.edit(ctx, p.replaces, p.Message)
	if err == nil || repeatable(err) {
		return err
	}
	n.cfg.Log.WarnContext(ctx, "edit message", "what", p.Delivery, "at", p.replaces, "err", err)
	return nil
}

// repeatable reports whether an edit that failed may be repeated: it says the same. Another one Slack will never take.
func repeatable(err error) bool {
	v, _ := slackconn.Judge(err)
	return v == slackconn.NotSent || v == slackconn.Doubtful || v == slackconn.Forbidden
}

// plainer is what to send in place of a message that Slack refuses for what is in it, if that is the fault: a plain
// card is forgiven, a lost one never. Without what it carries for wafbot it can't be read back, so that goes only where
// that is the fault.
func (n wire) plainer(method string, m card.Message, err error) (card.Message, bool) {
	v, _ := slackconn.Judge(err)
	switch {
	case v == slackconn.MetadataRefused && len(m.Metadata.EventPayload) > 1:
		m = m.WithoutFacts()
	case v == slackconn.ContentRefused && len(m.Blocks) > 0:
		m = m.AsText(n.cfg.Command)
	default:
		return card.Message{}, false
	}
	n.cfg.Metrics.SlackRefused.WithLabelValues(method).Inc()
	n.cfg.Log.Error("slack refuses what is in a message, sending it plainer", "method", method, "err",
		slackconn.Detailed(err))
	return m, true
}

// gone reports whether an error says that a message is no longer there, can't be edited any more, or that its channel
// is closed to wafbot.
func gone(err error) bool {
	return deleted(err) || uneditable(err) || slices.Contains([]string{"is_inactive", "is_archived", "channel_not_found",
		"not_in_channel"}, slackconn.ErrorName(err))
}

// deleted reports whether an error says that a message is no longer there.
func deleted(err error) bool {
	return slices.Contains([]string{"message_not_found", "thread_not_found"}, slackconn.ErrorName(err))
}

// uneditable reports whether an error says that a message stands as it is for ever.
func uneditable(err error) bool {
	return slices.Contains([]string{"cant_update_message", "edit_window_closed", "block_mismatch"},
		slackconn.ErrorName(err))
}

// nowhere reports whether an error says that a message can't be posted where it was to go.
func nowhere(err error) bool { return errors.Is(err, errNowhere) || gone(err) }

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
