package notify

import (
	"context"
	"errors"
	"slices"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// approvalChanged keeps the one card of an approval request true: posted first, edited later. The asker is mentioned when it is decided, and the
// people whom the configuration names when it was done alone.
func (n *Notifier) approvalChanged(ctx context.Context, a Account, e record.Event, changed record.ApprovalChanged) error {
	all, err := n.cfg.Stores.Approvals.Requests(ctx, e.Account)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(q record.ApprovalRequest) bool { return q.ID == changed.Request })
	if i < 0 { // Redis was emptied
		return n.deliver.drop(ctx, e)
	}
	q := all[i]
	at, shown, err := n.requestAt(ctx, q)
	switch {
	case err != nil:
		return err
	case at.ts == "":
		at, err = n.postRequest(ctx, a, e, q)
	case shown < q.Revision:
		err = n.deliver.bringUpToDate(ctx, "request "+q.ID, at, n.requestCard(q))
	}
	if err == nil && shown < q.Revision {
		if err = n.notifyDecided(ctx, a, e, q, at); err == nil {
			err = n.cfg.Stores.Approvals.RequestShown(ctx, q.Account, q.ID, at.channel, at.ts, q.Revision)
		}
	}
	if err != nil {
		return err
	}
	return n.deliver.drop(ctx, e)
}

func (n *Notifier) requestAt(ctx context.Context, q record.ApprovalRequest) (at place, shown int, err error) {
	at.channel, at.ts, shown, err = n.cfg.Stores.Approvals.RequestAt(ctx, q.Account, q.ID)
	return at, shown, err
}

// postRequest posts a request's card: under the card of its attack, where the channel sees it too, else into the account's channel.
func (n *Notifier) postRequest(ctx context.Context, a Account, e record.Event, q record.ApprovalRequest) (at place, err error) {
	under, err := n.awaitCard(ctx, e, q.AttackID, q.At)
	if err != nil {
		return place{}, err
	}
	call := eventPost(e, n.requestCard(q), under.TS)
	call.Delivery, call.Channel = q.ID, a.Channel
	if under.TS != "" {
		call.Channel = under.Channel
	}
	tried, err := n.deliver.begin(ctx, e.Account, call.Delivery)
	if err != nil {
		return place{}, err
	}
	at.channel, at.ts, err = n.deliver.postBegun(ctx, call, tried)
	if under.TS != "" && errors.Is(err, errNowhere) { // the attack's card was deleted, or its channel can't be posted to
		call.Channel, call.Thread, call.Broadcast = a.Channel, "", false
		at.channel, at.ts, err = n.deliver.postBegun(ctx, call, tried)
	}
	return at, err
}

func (n *Notifier) requestCard(q record.ApprovalRequest) card.Message {
	return card.ApprovalRequest(q, n.cfg.Policy, n.cfg.Now())
}

// notifyDecided mentions the asker, under the card, when it is decided and done; and the people whom the configuration names when it was done alone.
func (n *Notifier) notifyDecided(ctx context.Context, a Account, e record.Event, q record.ApprovalRequest, at place) error {
	if q.State == record.RequestWaiting || q.InHand() {
		return nil
	}
	call := eventPost(e, card.ApprovalDecision(q, n.cfg.Policy, n.cfg.Now()), "")
	if call.Delivery = q.ID + "-decided"; q.State == record.RequestOverridden {
		call.Channel = a.Channel
		return n.deliver.post(ctx, call)
	}
	call.Channel, call.Thread = at.channel, at.ts
	channel, ts, err := n.cfg.Stores.Cards.Card(ctx, q.Account, q.AttackID)
	if err != nil {
		return err
	}
	if channel == at.channel { // a thread has no threads
		call.Thread = ts
	}
	if err := n.deliver.post(ctx, call); !errors.Is(err, errNowhere) {
		return err
	}
	call.Channel, call.Thread = a.Channel, ""
	return n.deliver.post(ctx, call)
}
