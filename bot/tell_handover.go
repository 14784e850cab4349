package bot

import (
	"context"
	"slices"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// handedOver is the reason of news about an attack that somebody was given; its mention is who has it now.
const handedOver poller.Reason = "handed over"

// Handover is the news that an attack was handed over: a reply under its card, else a message in the account's channel.
func Handover(t commands.Touch, channel string) poller.News {
	return poller.News{
		ID: "handover " + t.Delivery, Account: t.Account, Attack: t.Attack, Reason: handedOver, Channel: channel, Mention: t.HandedTo, At: t.At,
	}
}

// tellHandover calls who was given an attack; when it was taken over, who had it before. It is told where it still holds.
func (b *Bot) tellHandover(ctx context.Context, a Account, n poller.News) error {
	id := commands.AttackID(n.Account, n.Attack.ID)
	said, err := b.cfg.Memory.Case(ctx, n.Account, id)
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
	lines := handover(said)
	if ts == "" {
		lines = append(lines, commands.AttackLine(a.Account, n.Attack, n.At))
	} else {
		n.Channel = channel
	}
	call := newsCall(n, linesMessage(lines, nil), ts)
	call.Broadcast = false // it is for one person, who is called
	return b.tellCall(ctx, n, call)
}

// handover says who has an attack now, with the note that came with it.
func handover(said commands.Case) []commands.Text {
	o := said.Owner
	line := commands.Say(commands.User(o.ID), ": ", commands.Visible(o.By.Name, maxName), " hands this attack over to you")
	if o.By.ID == o.ID {
		line = commands.Say(commands.Bold(commands.Visible(o.Name, maxName)), " takes this attack over")
		if o.From != "" {
			line = commands.Say(line, " from ", commands.User(o.From))
		}
	}
	lines := []commands.Text{line}
	if i := slices.IndexFunc(said.Notes, func(n commands.Note) bool { return n.ID == o.Note }); i >= 0 {
		lines = append(lines, commands.NoteLine(said.Notes[i]))
	}
	return lines
}
