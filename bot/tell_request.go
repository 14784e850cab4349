package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// Requests remembers what waits for a second person, and where it is shown.
type Requests interface {
	Requests(ctx context.Context, account string) ([]record.ApprovalRequest, error)
	// RequestAt is where a request's card is, and the revision that it shows; ts is "" if it isn't known to be anywhere.
	RequestAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error)
	RequestShown(ctx context.Context, account, id, channel, ts string, revision int) error
}

// Asked is the news that something was written down about a request for a second person. Its id begins with the request's.
func Asked(q record.ApprovalRequest, channel string) record.Event {
	return record.Event{ID: fmt.Sprintf("%s-%d", q.ID, q.Revision), Account: q.Account, Reason: record.ApprovalAsked, Revision: q.Revision, Channel: channel, At: q.At}
}

// tellRequest keeps the one card of a request true: posted first, edited later. Who asked is told when it is decided, and who is to know of what
// was done alone.
func (b *Bot) tellRequest(ctx context.Context, a Account, n record.Event) error {
	id, _, _ := strings.Cut(n.ID, "-")
	all, err := b.cfg.Memory.Requests(ctx, n.Account)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(q record.ApprovalRequest) bool { return q.ID == id })
	if i < 0 { // the memory was emptied
		return b.record(ctx, n, place{})
	}
	q := all[i]
	at, shown, err := b.requestAt(ctx, q)
	switch {
	case err != nil:
		return err
	case at.ts == "":
		at, err = b.postRequest(ctx, a, n, q)
	case shown < q.Revision:
		err = b.bringUpToDate(ctx, "request "+q.ID, at, b.requestCard(q))
	}
	if err == nil && shown < q.Revision {
		if err = b.tellDecided(ctx, a, n, q, at); err == nil {
			err = b.cfg.Memory.RequestShown(ctx, q.Account, q.ID, at.channel, at.ts, q.Revision)
		}
	}
	if err != nil {
		return err
	}
	return b.record(ctx, n, place{})
}

func (b *Bot) requestAt(ctx context.Context, q record.ApprovalRequest) (at place, shown int, err error) {
	at.channel, at.ts, shown, err = b.cfg.Memory.RequestAt(ctx, q.Account, q.ID)
	return at, shown, err
}

// postRequest posts a request's card: under the card of its attack, where the channel sees it too, else into the account's channel.
func (b *Bot) postRequest(ctx context.Context, a Account, n record.Event, q record.ApprovalRequest) (at place, err error) {
	channel, ts, err := b.cardOf(ctx, n, record.Change{AttackID: q.AttackID, At: q.At})
	if err != nil {
		return place{}, err
	}
	call := newsCall(n, b.requestCard(q), ts)
	call.Delivery, call.Channel = q.ID, a.Channel
	if ts != "" {
		call.Channel = channel
	}
	tried, err := b.try(ctx, n.Account, call.Delivery)
	if err != nil {
		return place{}, err
	}
	at.channel, at.ts, err = b.postTried(ctx, call, tried)
	if ts != "" && errors.Is(err, errNowhere) { // the attack's card was deleted, or its channel can't be posted to
		call.Channel, call.Thread, call.Broadcast = a.Channel, "", false
		at.channel, at.ts, err = b.postTried(ctx, call, tried)
	}
	return at, err
}

func (b *Bot) requestCard(q record.ApprovalRequest) card.Message {
	return card.ApprovalRequest(q, b.cfg.Policy, b.cfg.Now())
}

// tellDecided calls who asked, under the card, when it is decided and done; and whom the configuration names when it was done alone.
func (b *Bot) tellDecided(ctx context.Context, a Account, n record.Event, q record.ApprovalRequest, at place) error {
	if q.State == record.RequestWaiting || q.InHand() {
		return nil
	}
	call := newsCall(n, card.ApprovalDecision(q, b.cfg.Policy, b.cfg.Now()), "")
	if call.Delivery = q.ID + "-decided"; q.State == record.RequestOverridden {
		call.Channel = a.Channel
		return b.post(ctx, call)
	}
	call.Channel, call.Thread = at.channel, at.ts
	channel, ts, err := b.cfg.Memory.Card(ctx, q.Account, q.AttackID)
	if err != nil {
		return err
	}
	if channel == at.channel { // a thread has no threads
		call.Thread = ts
	}
	if err := b.post(ctx, call); !errors.Is(err, errNowhere) {
		return err
	}
	call.Channel, call.Thread = a.Channel, ""
	return b.post(ctx, call)
}
