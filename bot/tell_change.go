package bot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// Announcement is the news of a change: a reply under its attack's card, which only its thread shows, else one line in the account's channel.
// One that failed calls who asked for it. Its id begins with the change's.
func Announcement(ch record.Change, channel string) record.Event {
	return record.Event{ID: ch.ID + ":" + string(ch.State), Account: ch.Account, Reason: record.ChangeSettled, Channel: channel, At: ch.At}
}

// tellChange posts a change, with all that is needed to undo it when the memory was lost.
func (b *Bot) tellChange(ctx context.Context, a Account, n record.Event) error {
	id, _, _ := strings.Cut(n.ID, ":")
	changes, err := b.cfg.Memory.Changes(ctx, n.Account)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(changes, func(ch record.Change) bool { return ch.ID == id })
	if i < 0 {
		return b.record(ctx, n, place{})
	}
	ch := changes[i]
	channel, ts, err := b.cardOf(ctx, n, ch)
	if err != nil {
		return err
	}
	if ts != "" && ch.Late == nil { // else it was told in the account's channel that it was late
		call := changeCall(changes, ch, n, nil)
		call.Channel, call.Thread = channel, ts
		err := b.tellCall(ctx, n, call)
		if gone(err) {
			if at, fault := b.cardAgain(ctx, a, call, ch.AttackID, channel, err); fault == nil {
				call.Channel, call.Thread = at.Channel, at.TS
				err = b.tellCall(ctx, n, call)
			}
		}
		if !errors.Is(err, errNowhere) && !gone(err) {
			return err
		}
		// The channel of its card can't be posted to, or the attack is forgotten.
	}
	var buttons []call.Suggestion
	if undo, ok := advice.UndoButton(ch, b.cfg.Now()); ok {
		buttons = append(buttons, undo)
	}
	call := changeCall(changes, ch, n, buttons)
	call.Channel = a.Channel
	return b.tellCall(ctx, n, call)
}

// How long a change waits for its card, which may be clicked before it is known where it is.
const (
	cardPatience = 10 * time.Second
	cardAgain    = 500 * time.Millisecond
)

// cardOf is where the card of a change's attack is; ts is "" if it has none. One that is on its way in another channel is waited for a little;
// in this one nothing is, while a change is told.
func (b *Bot) cardOf(ctx context.Context, n record.Event, ch record.Change) (channel, ts string, err error) {
	if ch.AttackID == "" {
		return "", "", nil
	}
	for {
		channel, ts, err = b.cfg.Memory.Card(ctx, n.Account, ch.AttackID)
		if err != nil || ts != "" {
			return channel, ts, err
		}
		shown, _, err := b.cfg.Memory.AttackState(ctx, n.Account, ch.AttackID)
		if err != nil || !shown.Notified || shown.Channel == n.Channel || b.cfg.Now().Sub(ch.At) > cardPatience {
			return "", "", err
		}
		if err := delay.Sleep(ctx, cardAgain); err != nil {
			return "", "", err
		}
	}
}

// changeCall posts the message of a change.
func changeCall(all []record.Change, ch record.Change, n record.Event, buttons []call.Suggestion) postCall {
	msg, calls := card.ChangeSettled(all, ch, buttons)
	call := newsCall(n, msg, "")
	call.Urgent = calls // others must not use up what is kept for messages that call people
	return call
}
