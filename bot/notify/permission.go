package notify

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// permissionChanged keeps the one notice of a permission loss true: posted first, edited later, and one message more when the permission is
// back. A loss that was over before it could be notified is not: the person who was refused knows.
func (n *Notifier) permissionChanged(ctx context.Context, a Account, e record.Event, changed record.PermissionChanged) error {
	t, err := n.cfg.Stores.Permissions.PermissionLoss(ctx, e.Account)
	if err != nil {
		return err
	}
	id := t.ID()
	if !t.Since.Equal(changed.Since) { // of a loss before
		return n.deliver.drop(ctx, e)
	}
	channel, ts, shown, err := n.cfg.Stores.Permissions.NoticeAt(ctx, e.Account, id)
	switch {
	case err != nil:
		return err
	case ts == "" && t.GoesOn():
		err = n.postNotice(ctx, a, e, t)
	case ts != "" && shown < t.Revision:
		e.Channel = channel
		err = n.editNotice(ctx, a, e, t, ts)
	}
	if err != nil {
		return err
	}
	return n.deliver.drop(ctx, e)
}

// postNotice posts the notice of a permission loss.
func (n *Notifier) postNotice(ctx context.Context, a Account, e record.Event, t record.PermissionLoss) error {
	msg, err := n.permissionNotice(ctx, a, t)
	if err != nil {
		return err
	}
	call := eventPost(e, msg, "")
	call.Delivery = t.ID()
	tried, err := n.deliver.begin(ctx, e.Account, call.Delivery)
	if err != nil {
		return err
	}
	channel, ts, err := n.deliver.postBegun(ctx, call, tried)
	if err != nil {
		return err
	}
	return n.cfg.Stores.Permissions.Noticed(ctx, e.Account, call.Delivery, channel, ts, t.Revision)
}

// editNotice brings the notice up to date, and says when the permission is back: an edit mentions no one.
func (n *Notifier) editNotice(ctx context.Context, a Account, e record.Event, t record.PermissionLoss, ts string) error {
	msg, err := n.permissionNotice(ctx, a, t)
	if err != nil {
		return err
	}
	if err := n.deliver.bringUpToDate(ctx, "notice", place{channel: e.Channel, ts: ts}, msg); err != nil {
		return err
	}
	if !t.GoesOn() {
		over := eventPost(e, card.PermissionBack(a.Account, t), "")
		over.Delivery = t.ID() + "-over"
		if err := n.deliver.post(ctx, over); err != nil {
			return err
		}
	}
	return n.cfg.Stores.Permissions.Noticed(ctx, e.Account, t.ID(), e.Channel, ts, t.Revision)
}

// permissionNotice draws the notice from what is stored.
func (n *Notifier) permissionNotice(ctx context.Context, a Account, t record.PermissionLoss) (card.Message, error) {
	changes, err := n.cfg.Stores.Changes.Changes(ctx, a.Name)
	if err != nil {
		return card.Message{}, err
	}
	return card.PermissionLost(a.Account, t, changes, n.cfg.Now()), nil
}
