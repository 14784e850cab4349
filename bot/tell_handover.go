package bot

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/record"
)

// tellHandover calls who was given an attack; when it was taken over, who had it before. It is told where it still holds.
func (b *Bot) tellHandover(ctx context.Context, a Account, n record.Event) error {
	given := n.Payload.(record.Assignment)
	id := record.AttackID(n.Account, given.Attack.ID)
	said, err := b.cfg.Memory.Case(ctx, n.Account, id)
	if err != nil {
		return err
	}
	if said.Owner == nil || said.Owner.ID != given.To {
		return b.record(ctx, n, place{})
	}
	channel, ts, err := b.cfg.Memory.Card(ctx, n.Account, id)
	if err != nil {
		return err
	}
	lines := card.HandoverLines(said)
	if ts == "" {
		lines = append(lines, commands.AttackLine(a.Account, given.Attack, n.At))
	} else {
		n.Channel = channel
	}
	call := newsCall(n, card.Lines(lines, nil), ts)
	call.Broadcast = false // it is for one person, who is called
	return b.tellCall(ctx, n, call)
}
