package bot

import (
	"context"
	"slices"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
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
	lines := handover(said)
	if ts == "" {
		lines = append(lines, commands.AttackLine(a.Account, given.Attack, n.At))
	} else {
		n.Channel = channel
	}
	call := newsCall(n, linesMessage(lines, nil), ts)
	call.Broadcast = false // it is for one person, who is called
	return b.tellCall(ctx, n, call)
}

// handover says who has an attack now, with the note that came with it.
func handover(said record.Triage) []text.Text {
	o := said.Owner
	line := text.New(text.User(o.ID), ": ", text.Sanitize(o.By.Name, maxName), " hands this attack over to you")
	if o.By.ID == o.ID {
		line = text.New(text.Bold(text.Sanitize(o.Name, maxName)), " takes this attack over")
		if o.From != "" {
			line = text.New(line, " from ", text.User(o.From))
		}
	}
	lines := []text.Text{line}
	if i := slices.IndexFunc(said.Notes, func(n record.Note) bool { return n.ID == o.Note }); i >= 0 {
		lines = append(lines, commands.NoteLine(said.Notes[i]))
	}
	return lines
}
