package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
)

// Due is the news of a change whose end is near or past: people are asked about it, or told that it is overdue; each end once. Its id begins with
// the change's.
func Due(l change.Look, channel string) (news []record.Event) {
	ch := l.Change
	one := record.Event{Account: ch.Account, Channel: channel, At: ch.Until}
	if l.Asks {
		one.ID, one.Reason = fmt.Sprintf("%s:ends:%d", ch.ID, ch.Until.Unix()), record.MitigationEnding
		news = append(news, one)
	}
	if l.Late {
		one.ID, one.Reason = fmt.Sprintf("%s:late:%d", ch.ID, ch.Until.Unix()), record.EndOverdue
		news = append(news, one)
	}
	return news
}

// changeOf is the change that news is about, which begins with its id.
func (b *Bot) changeOf(ctx context.Context, n record.Event) (ch record.Change, ok bool, err error) {
	id, _, _ := strings.Cut(n.ID, ":")
	all, err := b.cfg.Memory.Changes(ctx, n.Account)
	if err != nil {
		return record.Change{}, false, err
	}
	i := slices.IndexFunc(all, func(ch record.Change) bool { return ch.ID == id })
	if i < 0 {
		return record.Change{}, false, nil
	}
	return all[i], true, nil
}

// tellEnds asks, under the card of its attack, whether a change is to hold longer. It is asked where it still ends then; when Slack or this replica
// was away until it had ended, people hear that it has.
func (b *Bot) tellEnds(ctx context.Context, n record.Event) error {
	ch, ok, err := b.changeOf(ctx, n)
	if err != nil {
		return err
	}
	if !ok || !ch.InForce(ch.At) || !ch.Until.Equal(n.At) { // it was taken back, or prolonged
		return b.record(ctx, n, place{})
	}
	now := b.cfg.Now()
	who, err := b.whose(ctx, ch)
	if err != nil {
		return err
	}
	channel, ts, err := b.cfg.Memory.Card(ctx, n.Account, ch.AttackID)
	if err != nil {
		return err
	}
	if ts != "" {
		call := newsCall(n, card.MitigationEnding(ch, who, "", now), "")
		call.Channel, call.Thread, call.Broadcast = channel, ts, who == "" // a thread without a mention is read by nobody
		if err := b.tellCall(ctx, n, call); !errors.Is(err, errNowhere) {
			return err
		}
		// The card was deleted, or its channel can't be posted to.
	}
	return b.tellMessage(ctx, n, card.MitigationEnding(ch, who, ch.AttackID, now))
}

// tellOverdue says in the account's channel that a change can't be ended, if that is so by now.
func (b *Bot) tellOverdue(ctx context.Context, a Account, n record.Event) error {
	ch, ok, err := b.changeOf(ctx, n)
	if err != nil {
		return err
	}
	if !ok || ch.Late == nil || ch.DueAt().IsZero() {
		return b.record(ctx, n, place{})
	}
	who, err := b.whose(ctx, ch)
	if err != nil {
		return err
	}
	return b.tellMessage(ctx, n, card.EndOverdue(a.Account, ch, who, b.cfg.Now()))
}

// whose is who is on the attack of a change, else who made the change; "" for whoever sat at a terminal, who can't be called.
func (b *Bot) whose(ctx context.Context, ch record.Change) (user string, err error) {
	user = ch.Actor.ID
	if ch.AttackID != "" {
		said, err := b.cfg.Memory.TriageOf(ctx, ch.Account, ch.AttackID)
		if err != nil {
			return "", err
		}
		if said.Owner != nil {
			user = said.Owner.ID
		}
	}
	if !card.InSlack(user) {
		return "", nil
	}
	return user, nil
}
