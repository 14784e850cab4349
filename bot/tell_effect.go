package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// Judged is the news that a change does nothing though it should, or that what it denied came back, each fall once. Its id begins with the change's.
func Judged(j commands.Judged, channel string) []poller.News {
	if !j.Tell {
		return nil
	}
	n := poller.News{Account: j.Change.Account, Channel: channel, At: j.Effect.At, Reason: poller.NoEffect}
	if j.Effect.Finding == commands.CameBack {
		n.Reason = poller.CameBack
	}
	n.ID = fmt.Sprintf("%s:%s", j.Change.ID, n.Reason)
	if falls := j.Effect.Calls(j.Effect.Finding); falls > 1 {
		n.ID = fmt.Sprintf("%s:%d", n.ID, falls)
	}
	return []poller.News{n}
}

// tellEffect says under the card of its attack that a change does nothing, or that what it denied came back, if that is so by now; in the account's
// channel where there is no card.
func (b *Bot) tellEffect(ctx context.Context, a Account, n poller.News) error {
	ch, ok, err := b.changeOf(ctx, n)
	if err != nil {
		return err
	}
	if !ok || ch.State == commands.StateUndone {
		return b.record(ctx, n, place{})
	}
	shown, _, err := b.cfg.Memory.Shown(ctx, n.Account, ch.AttackID)
	if err != nil {
		return err
	}
	file, err := b.cfg.Memory.File(ctx, n.Account, ch.AttackID)
	if err != nil {
		return err
	}
	s := b.situation(a, shown, file)
	if finding := file.Effects[ch.ID].Finding; finding != commands.NoEffect && finding != commands.CameBack || s.Replaced(ch) {
		return b.record(ctx, n, place{})
	}
	called := concerned(ch, file.Case, shown)
	if at := file.Card; at.TS != "" {
		call := newsCall(n, effectMessage(s, ch, called), at.TS)
		call.Channel = at.Channel
		if err := b.tellCall(ctx, n, call); !errors.Is(err, errNowhere) {
			return err
		}
		// The card was deleted, or its channel can't be posted to.
	}
	return b.tellMessage(ctx, n, effectMessage(s, ch, called))
}

// concerned are who made the change, and whom a reply about its attack mentions.
func concerned(ch commands.Change, said commands.Case, shown poller.Shown) (users []string) {
	users = authors(ch)
	if user := whom(said.Owner, poller.News{Mention: shown.Mention, Hushed: shown.Hushed}); user != "" && !slices.Contains(users, user) {
		users = append(users, user)
	}
	return users
}

// effectMessage calls people to a change that does nothing, or whose source came back, with the way to take it back.
func effectMessage(s commands.Situation, ch commands.Change, users []string) Message {
	lines := s.NoEffectLines(ch)
	for _, user := range slices.Backward(users) {
		lines[0] = commands.Say(commands.User(user), " ", lines[0])
	}
	var buttons []commands.Suggestion
	if undo, ok := commands.UndoButton(ch, s.Now); ok {
		buttons = append(buttons, undo)
	}
	return linesMessage(lines, buttons)
}
