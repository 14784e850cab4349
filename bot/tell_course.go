package bot

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// tellTurn takes news off that its card tells. That an attack went quiet, or goes on again, is told in the card's thread, too, when all else is told.
func (b *Bot) tellTurn(ctx context.Context, n record.Event) error {
	if turned := n.Reason == record.WentQuiet || n.Reason == record.Resumed; turned && n.Storm == nil {
		course := n
		course.ID, course.Reason, course.Quiet = "course:"+n.ID, record.AttackEnded, n.Reason == record.WentQuiet
		if err := b.cfg.Memory.Announce(ctx, course); err != nil {
			return err
		}
		b.Wake(n.Account, []record.Event{course})
	}
	return b.record(ctx, n, place{})
}

// tellCourse says in the thread of a card what became of its attack, unless that is over by now. The channel isn't shown it.
func (b *Bot) tellCourse(ctx context.Context, a Account, n record.Event) error {
	id := record.AttackID(n.Account, n.Attack.ID)
	shown, ok, err := b.cfg.Memory.AttackState(ctx, n.Account, id)
	if err != nil {
		return err
	}
	file, err := b.cfg.Memory.Details(ctx, n.Account, id)
	if err != nil {
		return err
	}
	if !ok || shown.Quiet != n.Quiet || file.Card.TS == "" {
		return b.record(ctx, n, place{})
	}
	kept, _, err := b.cfg.Memory.Evidence(ctx, n.Account, id)
	if err != nil {
		return err
	}
	n.Channel = file.Card.Channel
	call := newsCall(n, card.Course(b.situation(a, shown, file), shown.History, kept, n.Quiet), file.Card.TS)
	call.Broadcast = false
	if err = b.tellCall(ctx, n, call); gone(err) {
		return b.record(ctx, n, place{}) // with its card, which tells the same, posted anew when it is redrawn
	}
	return err
}
