package bot

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// Announcement is the news of a change: a reply under its attack's card, which only its thread shows, else one line in the account's channel.
// It waits in the given channel's queue; given the card's, it comes after a card that is just being posted. Its id begins with the change's.
func Announcement(ch commands.Change, channel string) poller.News {
	return poller.News{ID: ch.ID + ":" + string(ch.State), Account: ch.Account, Reason: poller.Changed, Channel: channel, At: ch.At}
}

// tellChange posts a change, with all that is needed to undo it when the memory was lost.
func (b *Bot) tellChange(ctx context.Context, a Account, n poller.News) error {
	id, _, _ := strings.Cut(n.ID, ":")
	changes, err := b.cfg.Memory.Changes(ctx, n.Account)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(changes, func(ch commands.Change) bool { return ch.ID == id })
	if i < 0 {
		return b.record(ctx, n, "", "")
	}
	ch := changes[i]
	channel, ts, err := b.cfg.Memory.Card(ctx, n.Account, ch.AttackID)
	if err != nil {
		return err
	}
	if ts != "" {
		call := changeCall(changes, ch, n, nil)
		call.Channel, call.Thread = channel, ts
		if err := b.post(ctx, call); !errors.Is(err, errNowhere) {
			return b.recordPosted(ctx, n, err)
		}
		// The card was deleted, or its channel can't be posted to.
	}
	var buttons []commands.Suggestion
	if undo, ok := commands.UndoButton(ch, b.cfg.Now()); ok {
		buttons = append(buttons, undo)
	}
	call := changeCall(changes, ch, n, buttons)
	call.Channel = a.Channel
	return b.recordPosted(ctx, n, b.post(ctx, call))
}

// recordPosted takes news off unless its posting failed.
func (b *Bot) recordPosted(ctx context.Context, n poller.News, err error) error {
	if err != nil {
		return err
	}
	return b.record(ctx, n, "", "")
}

// changeCall is the message of a change. Of one that only moved another's end, which the service need not know, that one is what to remember:
// what told of it before may by then be older than what is read back.
func changeCall(all []commands.Change, ch commands.Change, n poller.News, buttons []commands.Suggestion) postCall {
	msg := linesMessage([]commands.Text{commands.ChangeLine(ch)}, buttons)
	if i := slices.IndexFunc(all, func(c commands.Change) bool { return c.ID == ch.Extends }); i >= 0 && len(ch.Steps) == 0 {
		ch = all[i]
	}
	msg.Metadata = slack.SlackMetadata{EventType: metaChange, EventPayload: ch.Memo()}
	return newsCall(n, msg, "")
}
