package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
)

// Judged is the news that a change does nothing though it should, or that what it denied came back, each fall once. Its id begins with the change's.
func Judged(j efficacy.Judged, channel string) []record.Event {
	if !j.Tell {
		return nil
	}
	n := record.Event{Account: j.Change.Account, Channel: channel, At: j.Effect.At, Reason: record.MitigationNotWorking}
	if j.Effect.Finding == record.SourceReturned {
		n.Reason = record.DeniedSourceReturned
	}
	n.ID = fmt.Sprintf("%s:%s", j.Change.ID, n.Reason)
	if falls := j.Effect.Calls(j.Effect.Finding); falls > 1 {
		n.ID = fmt.Sprintf("%s:%d", n.ID, falls)
	}
	return []record.Event{n}
}

// tellEffect says under the card of its attack that a change does nothing, or that what it denied came back, if that is so by now; in the account's
// channel where there is no card.
func (b *Bot) tellEffect(ctx context.Context, a Account, n record.Event) error {
	ch, ok, err := b.changeOf(ctx, n)
	if err != nil {
		return err
	}
	if !ok || ch.State == record.StateUndone {
		return b.record(ctx, n, place{})
	}
	shown, _, err := b.cfg.Memory.AttackState(ctx, n.Account, ch.AttackID)
	if err != nil {
		return err
	}
	file, err := b.cfg.Memory.Details(ctx, n.Account, ch.AttackID)
	if err != nil {
		return err
	}
	s := b.situation(a, shown, file)
	if finding := file.Efficacy[ch.ID].Finding; finding != record.NotWorking && finding != record.SourceReturned || efficacy.Replaced(s, ch) {
		return b.record(ctx, n, place{})
	}
	called := card.Recipients(ch, file.Triage, shown)
	if at := file.Card; at.TS != "" {
		call := newsCall(n, card.Efficacy(s, ch, called), at.TS)
		call.Channel = at.Channel
		if err := b.tellCall(ctx, n, call); !errors.Is(err, errNowhere) {
			return err
		}
		// The card was deleted, or its channel can't be posted to.
	}
	return b.tellMessage(ctx, n, card.Efficacy(s, ch, called))
}
