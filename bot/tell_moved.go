package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// tellMoved posts the card of an attack that became an incident where its route now wants it. What it leaves behind becomes a link to it: the
// memory marks that card when it records this one.
func (b *Bot) tellMoved(ctx context.Context, a Account, n record.Event) error {
	r, err := b.begin(ctx, n)
	if err != nil {
		return err
	}
	if r.tried.told {
		return b.record(ctx, n, place{})
	}
	waiting, err := b.waiting(ctx, n)
	if err != nil {
		return err
	}
	_, err = b.putCard(ctx, a, n, r, func() error { return b.supersede(ctx, waiting, n.ID, r.facts.shown.Revision) })
	b.Outdated(n.Account)
	return err
}

// gone reports whether an error says that a message is no longer there, can't be edited any more, or that its channel is closed to wafbot.
func gone(err error) bool {
	return deleted(err) || uneditable(err) || slices.Contains([]string{"is_inactive", "is_archived", "channel_not_found", "not_in_channel"}, slackconn.ErrorName(err))
}

// deleted reports whether an error says that a message is no longer there.
func deleted(err error) bool {
	return slices.Contains([]string{"message_not_found", "thread_not_found"}, slackconn.ErrorName(err))
}

// uneditable reports whether an error says that a message stands as it is for ever.
func uneditable(err error) bool {
	return slices.Contains([]string{"cant_update_message", "edit_window_closed", "block_mismatch"}, slackconn.ErrorName(err))
}

// unanswerable reports whether an error says that nobody may reply to a message, which is there.
func unanswerable(err error) bool {
	return slices.Contains([]string{"cannot_reply_to_message", "restricted_action_thread_locked", "restricted_action_non_threadable_channel"}, slackconn.ErrorName(err))
}

// How long a card that was posted anew stands at least where it can't be edited, either: each that is posted is one more to read.
const (
	anewEvery = 5 * time.Minute
	anewActed = time.Minute // where somebody waits to see what he did
)

// replace has a card posted anew if that is what the error of its edit asks for; of one that only can't be edited any more figures alone are no reason. wait
// is how long that is too early. Of one that has a successor already a reply under it tells.
func (b *Bot) replace(ctx context.Context, account string, o outdated, at record.Place, err error) (wait time.Duration, failed error) {
	if !gone(err) || uneditable(err) && o.mark.Urgency.Figures() {
		return 0, nil
	}
	attack, _, left := former(o.attack)
	if left && deleted(err) {
		return 0, nil
	}
	every := anewEvery
	if o.mark.Urgency == record.UrgentActed {
		every = anewActed
	}
	if again, _ := poller.PostedAnew(at.Delivery); again && uneditable(err) && !left {
		if wait := every - b.cfg.Now().Sub(slackconn.ParseTS(at.TS)); wait > 0 {
			return wait, nil
		}
	}
	n, known, failed := b.goneNews(ctx, account, attack, at, !deleted(err))
	if failed != nil || !known {
		return 0, failed
	}
	if left {
		n.ID, n.Reason = "left:"+n.ID, leftBehind
	}
	if err := b.cfg.Memory.Announce(ctx, n); err != nil {
		return 0, err
	}
	b.Wake(account, []record.Event{n})
	return 0, nil
}

// goneNews is the news that an attack's card at a place is gone, or stands and can't be edited; known is false if the attack isn't.
func (b *Bot) goneNews(ctx context.Context, account, attack string, at record.Place, stands bool) (n record.Event, known bool, err error) {
	shown, known, err := b.cfg.Memory.AttackState(ctx, account, attack)
	return poller.NewAnew(account, shown.Attack.Brief(), at.Channel, at.TS, stands, b.cfg.Now()), known, err
}

// anew posts an attack's card once more, silently, in the place of one that is gone, and returns where the attack's card is.
func (b *Bot) anew(ctx context.Context, a Account, n record.Event) (at record.Place, err error) {
	r, err := b.begin(ctx, n)
	if err != nil {
		return at, err
	}
	if at = r.facts.file.Card; at.Message() != n.After || r.tried.told || r.facts.shown.Revision == 0 {
		return at, b.record(ctx, n, place{}) // it has another one already, or is forgotten
	}
	if _, err := b.putCard(ctx, a, n, r, func() error { return nil }); err != nil {
		return at, err
	}
	b.Outdated(n.Account) // what is left of the former
	at.Channel, at.TS, err = b.cfg.Memory.Card(ctx, n.Account, record.AttackID(n.Account, n.Attack.ID))
	return at, err
}

// under is where a reply goes.
type under struct {
	attack  string // whose card it is
	channel string // where the card is posted anew if it is gone
	tried   tried
	takeOff func() error // what waits and is told with it: before it is sent
}

// replyUnder posts a reply under the card of an attack, once. Where the card is gone it is posted anew first: what must be heard isn't lost in a thread
// that nobody sees. Where nobody may reply it goes to the channel.
func (b *Bot) replyUnder(ctx context.Context, a Account, call postCall, u under) (channel, ts string, err error) {
	if call.Channel, call.Thread, err = b.cfg.Memory.Card(ctx, a.Name, u.attack); err != nil {
		return "", "", err
	}
	channel, ts, err = b.replyOnce(ctx, call, u)
	switch {
	case unanswerable(err):
		call.Thread = ""
		return b.replyOnce(ctx, call, u)
	case !gone(err):
		return channel, ts, err
	}
	at, err := b.cardAgain(ctx, a, call, u.attack, u.channel, err)
	if err != nil {
		return "", "", err
	}
	call.Channel, call.Thread = at.Channel, at.TS
	return b.replyOnce(ctx, call, u)
}

func (b *Bot) replyOnce(ctx context.Context, call postCall, u under) (channel, ts string, err error) {
	if channel, ts, err = b.lookFirst(ctx, call, u.tried); ts != "" || err != nil {
		return channel, ts, err
	}
	if err := u.takeOff(); err != nil {
		return "", "", err
	}
	return b.postTried(ctx, call, tried{first: u.tried.first})
}

// cardAgain posts the card of an attack anew, into a channel, because a reply under it failed.
func (b *Bot) cardAgain(ctx context.Context, a Account, reply postCall, attack, channel string, fault error) (at record.Place, err error) {
	n, known, err := b.goneNews(ctx, a.Name, attack, record.Place{Channel: reply.Channel, TS: reply.Thread}, !deleted(fault))
	if err == nil && !known {
		err = errNowhere
	}
	if err != nil {
		return at, fmt.Errorf("post card of %s anew: %w", attack, err)
	}
	n.Channel = channel
	return b.anew(ctx, a, n)
}

// former reads the mark of a card that has a successor, as the memory writes it: the attack's id, and its place.
func former(marked string) (attack string, at record.Place, ok bool) {
	attack, place, ok := strings.Cut(marked, " ")
	return attack, record.ReadPlace(place), ok
}
