package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// tell puts one piece of news before people, and takes it off the outbox.
func (b *Bot) tell(ctx context.Context, n record.Event) error {
	a, ok := b.account(n.Account)
	if !ok {
		return fmt.Errorf("tell news of %s: no such account", n.Account)
	}
	switch n.Reason {
	case record.FirstStart:
		return b.tellMessage(ctx, n, card.FirstStart(a.Account, n, b.cfg.Policy, card.Roles(b.cfg.Roles, b.byName(ctx))))
	case record.StoreRebuilt:
		return b.tellMessage(ctx, n, card.StoreRebuilt(n))
	case record.APIUnreachable:
		return b.tellBlind(ctx, a, n)
	case record.MonitoringGap:
		return b.tellGap(ctx, a, n)
	case record.PermissionLost:
		return b.tellTied(ctx, a, n)
	case record.ApprovalAsked:
		return b.tellRequest(ctx, a, n)
	case record.MitigationEnding:
		return b.tellEnds(ctx, n)
	case record.EndOverdue:
		return b.tellOverdue(ctx, a, n)
	case record.MitigationNotWorking, record.DeniedSourceReturned:
		return b.tellEffect(ctx, a, n)
	case record.PagerUnreachable:
		return b.tellMessage(ctx, n, card.PagerUnreachable(n))
	case record.CardLost:
		_, err := b.anew(ctx, a, n)
		return err
	case leftBehind:
		return b.tellLeft(ctx, a, n)
	case record.AttackEnded:
		return b.tellCourse(ctx, a, n)
	case record.ChangeSettled:
		return b.tellChange(ctx, a, n)
	case drilled:
		return b.tellDrill(ctx, a, n)
	case handedOver:
		return b.tellHandover(ctx, a, n)
	case tookOver:
		return b.tellTakeOver(ctx, n)
	case summaryDue:
		return b.tellSummary(ctx, a, n)
	}
	return b.tellAttack(ctx, a, n)
}

// catchUp has a card redrawn when something was done or became known while it was on its way: it can be clicked before it is known where it is.
// One that was found, because somebody had posted it before, may have been drawn at any time.
func (b *Bot) catchUp(ctx context.Context, n record.Event, drawn facts, found bool) {
	id := record.AttackID(n.Account, n.Attack.ID)
	now, err := b.cfg.Memory.Details(ctx, n.Account, id)
	shown, _, shownErr := b.cfg.Memory.AttackState(ctx, n.Account, id)
	if err = errors.Join(err, shownErr); err == nil && (found || doneSince(now, drawn.file) || shown.Revision > drawn.shown.Revision) {
		err = b.outdate(ctx, n.Account, id)
	}
	if err != nil {
		b.cfg.Log.Error("look what was done since a card was drawn", "account", n.Account, "err", err)
	}
}

// recordAgain is how long to wait before what was told is recorded once more.
const recordAgain = time.Second

// place is where a message is.
type place struct {
	channel, ts string
	card        bool // it is its attack's card
}

// record takes news off that was told, however long the memory is away: told anew it could come twice, for nobody knows
// whether a recording whose answer was lost took place. Who finds that another replica has told it too takes back what he posted.
func (b *Bot) record(ctx context.Context, n record.Event, at place) error {
	for {
		double, err := b.cfg.Memory.Notified(context.WithoutCancel(ctx), n, at.channel, at.ts, at.card) // a stop must not undo what was told
		if double {
			b.takeBack(ctx, at)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		b.cfg.Log.Error("record what was told", "account", n.Account, "reason", n.Reason, "err", err)
		if err := delay.Sleep(ctx, recordAgain); err != nil {
			return err
		}
	}
}

// tellMessage posts news that is no card.
func (b *Bot) tellMessage(ctx context.Context, n record.Event, msg card.Message) error {
	return b.tellCall(ctx, n, newsCall(n, msg, ""))
}

// tellCall posts news that is no card.
func (b *Bot) tellCall(ctx context.Context, n record.Event, c postCall) error {
	t, err := b.try(ctx, c.Account, c.Delivery)
	if err != nil {
		return err
	}
	if t.told {
		return b.record(ctx, n, place{}) // it was announced again
	}
	channel, ts, err := b.postTried(ctx, c, t)
	if err != nil {
		return err
	}
	return b.record(ctx, n, place{channel: channel, ts: ts})
}

// newsCall is the message that tells a piece of news; with thread it is a reply that the channel sees too.
func newsCall(n record.Event, msg card.Message, thread string) postCall {
	return postCall{Account: n.Account, Channel: n.Channel, Thread: thread, Broadcast: thread != "", Urgent: urgent(n), Delivery: n.ID, Message: msg}
}
