package bot

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// tookOver is the reason of news about somebody who was put on all attacks of an account; its mention is he.
const tookOver record.EventKind = "took over"

// TakenOver is the news that somebody was put on all attacks of an account: one message in its channel, however many they are.
func TakenOver(t commands.TakeOver, channel string) record.Event {
	return record.Event{ID: "take over " + t.Delivery, Account: t.Account, Reason: tookOver, Channel: channel, Mention: t.To, At: t.Since}
}

// tellTakeOver calls once each who was on one of the attacks, and who is on them now unless he took them himself. It is told as far as it still holds.
func (b *Bot) tellTakeOver(ctx context.Context, n record.Event) error {
	cases, err := b.cfg.Memory.Cases(ctx, n.Account)
	if err != nil {
		return err
	}
	lines := TakeoverLines(n, cases)
	if len(lines) == 0 {
		return b.record(ctx, n, place{})
	}
	return b.tellMessage(ctx, n, Lines(lines, nil))
}

// maxTakenIDs is how many attacks a take-over names of each who was on them.
const maxTakenIDs = 5

// takenOver says who is on what now, and who was.
func TakeoverLines(n record.Event, cases map[string]record.Triage) (lines []text.Text) {
	from := map[string][]string{} // attacks by who was on them
	var now record.Owner
	taken := 0
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		owner := cases[id].Owner
		if owner == nil || owner.ID != n.Mention || owner.Since.Before(n.At) {
			continue
		}
		taken++
		now = *owner
		if owner.From != "" && owner.From != owner.ID {
			from[owner.From] = append(from[owner.From], id)
		}
	}
	if taken == 0 {
		return nil
	}
	name := text.Sanitize(now.Name, maxNoticeName)
	what := text.New(taken, text.Plural(int64(taken), " attack"), " of ", text.Bold(n.Account))
	if now.By.ID == now.ID {
		lines = append(lines, text.New(text.Bold(name), " takes over ", what))
	} else {
		lines = append(lines, text.New(text.User(now.ID), ": ", text.Sanitize(cmp.Or(now.By.Name, now.By.ID), maxNoticeName), " hands ", what, " over to you"))
	}
	for _, who := range slices.Sorted(maps.Keys(from)) {
		lines = append(lines, text.New(text.User(who), ": no longer yours: ", idsText(from[who])))
	}
	return lines
}

// idsText names attacks, the first of many.
func idsText(ids []string) text.Text {
	var words text.Text
	for i, id := range ids[:min(maxTakenIDs, len(ids))] {
		if i > 0 {
			words = text.New(words, ", ")
		}
		words = text.New(words, text.Code(id))
	}
	if more := len(ids) - maxTakenIDs; more > 0 {
		words = text.New(words, " and ", more, " more")
	}
	return words
}
