package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// Notices remembers where the notice of an account's refused changes is.
type Notices interface {
	// Tied is the account's last spell of refused changes; zero when there was none.
	PermissionLoss(ctx context.Context, account string) (record.PermissionLoss, error)
	// NoticeAt is where the notice with that id is, and the revision that it shows; ts is "" if it isn't known to be anywhere.
	NoticeAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error)
	Noticed(ctx context.Context, account, id, channel, ts string, revision int) error
}

// noticeID is the delivery id of a spell's notice.
func noticeID(t record.PermissionLoss) string { return fmt.Sprintf("tied-%d", t.Since.UnixMilli()) }

// HandsTied is the news that something was written down about a spell of refused changes.
func HandsTied(t record.PermissionLoss, channel string) record.Event {
	return record.Event{
		ID: fmt.Sprintf("%s-%d", noticeID(t), t.Revision), Account: t.Account, Reason: record.PermissionLost, Revision: t.Revision, Channel: channel, At: t.Since,
	}
}

// tellTied keeps the one notice of a spell true: posted first, edited later, and one message more when the spell is over.
// A spell that is over before it could be told is not told: whoever was refused knows.
func (b *Bot) tellTied(ctx context.Context, a Account, n record.Event) error {
	t, err := b.cfg.Memory.PermissionLoss(ctx, n.Account)
	if err != nil {
		return err
	}
	id := noticeID(t)
	if !strings.HasPrefix(n.ID, id+"-") { // of a spell before
		return b.record(ctx, n, place{})
	}
	channel, ts, shown, err := b.cfg.Memory.NoticeAt(ctx, n.Account, id)
	switch {
	case err != nil:
		return err
	case ts == "" && t.GoesOn():
		err = b.postNotice(ctx, a, n, t)
	case ts != "" && shown < t.Revision:
		n.Channel = channel
		err = b.editNotice(ctx, a, n, t, ts)
	}
	if err != nil {
		return err
	}
	return b.record(ctx, n, place{})
}

// postNotice posts the notice of a spell.
func (b *Bot) postNotice(ctx context.Context, a Account, n record.Event, t record.PermissionLoss) error {
	msg, err := b.tied(ctx, a, t)
	if err != nil {
		return err
	}
	call := newsCall(n, msg, "")
	call.Delivery = noticeID(t)
	tried, err := b.try(ctx, n.Account, call.Delivery)
	if err != nil {
		return err
	}
	channel, ts, err := b.postTried(ctx, call, tried)
	if err != nil {
		return err
	}
	return b.cfg.Memory.Noticed(ctx, n.Account, call.Delivery, channel, ts, t.Revision)
}

// editNotice brings the notice up to date, and says when the spell is over: nobody is called by an edit.
func (b *Bot) editNotice(ctx context.Context, a Account, n record.Event, t record.PermissionLoss, ts string) error {
	msg, err := b.tied(ctx, a, t)
	if err != nil {
		return err
	}
	if err := b.bringUpToDate(ctx, "notice", place{channel: n.Channel, ts: ts}, msg); err != nil {
		return err
	}
	if !t.GoesOn() {
		over := newsCall(n, card.PermissionBack(a.Account, t), "")
		over.Delivery = noticeID(t) + "-over"
		if err := b.post(ctx, over); err != nil {
			return err
		}
	}
	return b.cfg.Memory.Noticed(ctx, n.Account, noticeID(t), n.Channel, ts, t.Revision)
}

// tied draws the notice from what is stored.
func (b *Bot) tied(ctx context.Context, a Account, t record.PermissionLoss) (card.Message, error) {
	changes, err := b.cfg.Memory.Changes(ctx, a.Name)
	if err != nil {
		return card.Message{}, err
	}
	return card.PermissionLost(a.Account, t, changes, b.cfg.Now()), nil
}
