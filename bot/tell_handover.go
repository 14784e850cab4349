package bot

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
)

// handedOver is the reason of news about an attack that somebody was given; its mention is who has it now.
const handedOver record.EventKind = "handed over"

// Handover is the news that an attack was handed over: a reply under its card, else a message in the account's channel.
func Handover(t commands.Touch, channel string) record.Event {
	return record.Event{
		ID: "handover " + t.Delivery, Account: t.Account, Attack: t.Attack, Reason: handedOver, Channel: channel, Mention: t.HandedTo, At: t.At,
	}
}

// tellHandover calls who was given an attack; when it was taken over, who had it before. It is told where it still holds.
func (b *Bot) tellHandover(ctx context.Context, a Account, n record.Event) error {
	id := record.AttackID(n.Account, n.Attack.ID)
	said, err := b.cfg.Memory.TriageOf(ctx, n.Account, id)
	if err != nil {
		return err
	}
	if said.Owner == nil || said.Owner.ID != n.Mention {
		return b.record(ctx, n, place{})
	}
	channel, ts, err := b.cfg.Memory.Card(ctx, n.Account, id)
	if err != nil {
		return err
	}
	lines := card.HandoverLines(said)
	if ts == "" {
		lines = append(lines, describe.AttackLine(a.Account, n.Attack, n.At))
	} else {
		n.Channel = channel
	}
	call := newsCall(n, card.Lines(lines, nil), ts)
	call.Broadcast = false // it is for one person, who is called
	return b.tellCall(ctx, n, call)
}
