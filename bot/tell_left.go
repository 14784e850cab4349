package bot

import (
	"context"
	"errors"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// leftBehind is the reason of news that a card has a successor, and can't be made a link to it.
const leftBehind record.EventKind = "left behind"

// shrink makes one line of a card that has a successor, with a link to that one (chat.update). Its thread stays. For whoever reads back what was
// told it is no card any more.
func (b *Bot) shrink(ctx context.Context, a Account, attack string, at record.Place, o outdated) error {
	line, ok, err := b.successor(ctx, a, attack, at)
	if err != nil {
		return err
	}
	if ok {
		if err := b.edit(ctx, place{channel: at.Channel, ts: at.TS}, card.Moved(a.Account, attack, line)); err != nil {
			return err
		}
	}
	return b.cfg.Memory.Redrawn(ctx, a.Name, o.attack, o.mark)
}

// tellLeft says under a card that stands as it is, buttons and all, where its successor is.
func (b *Bot) tellLeft(ctx context.Context, a Account, n record.Event) error {
	at := record.ReadPlace(n.After)
	line, ok, err := b.successor(ctx, a, record.AttackID(n.Account, n.Attack.ID), at)
	if err != nil {
		return err
	}
	if !ok {
		return b.record(ctx, n, place{})
	}
	call := newsCall(n, card.Stale(line), at.TS)
	call.Broadcast = false
	if err = b.tellCall(ctx, n, call); errors.Is(err, errNowhere) {
		return b.record(ctx, n, place{}) // nobody sees it any more, or nobody writes there
	}
	return err
}

// successor is the line that leads from a former card of an attack to its card; ok is false if it has none elsewhere.
func (b *Bot) successor(ctx context.Context, a Account, attack string, at record.Place) (line text.Text, ok bool, err error) {
	channel, ts, err := b.cfg.Memory.Card(ctx, a.Name, attack)
	if err != nil {
		return nil, false, err
	}
	shown, known, err := b.cfg.Memory.AttackState(ctx, a.Name, attack)
	if err != nil || !known || ts == "" || ts == at.TS && channel == at.Channel {
		return nil, false, err
	}
	link, err := b.cfg.Slack.Permalink(ctx, channel, ts)
	if err != nil {
		return nil, false, err
	}
	return card.MovedLine(a.Account, attack, shown, record.Place{Channel: channel, TS: ts}, link), true, nil
}
