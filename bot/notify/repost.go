package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// moveCard posts the card of an attack that became an incident where its route now wants it. What it leaves behind becomes a link to it: the
// store marks that card when it records this one.
func (k *cardKeeper) moveCard(ctx context.Context, a Account, e record.Event) error {
	r, err := k.draft(ctx, e)
	if err != nil {
		return err
	}
	if r.tried.done {
		return k.deliver.drop(ctx, e)
	}
	waiting, err := k.waiting(ctx, e)
	if err != nil {
		return err
	}
	_, err = k.putCard(ctx, a, e, r, func() error { return k.supersede(ctx, waiting, e.ID, r.facts.shown.Revision) })
	k.notifier.Stale(e.Account)
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

// unanswerable reports whether an error says that no one may reply to a message, which is there.
func unanswerable(err error) bool {
	return slices.Contains([]string{"cannot_reply_to_message", "restricted_action_thread_locked", "restricted_action_non_threadable_channel"}, slackconn.ErrorName(err))
}

// How long a card that was posted again stands at least where it can't be edited, either: each that is posted is one more to read.
const (
	repostEvery = 5 * time.Minute
	repostActed = time.Minute // where a person waits to see what came of an action
)

// replace has a card posted again if that is what the error of its edit asks for; of one that only can't be edited any more figures alone are no reason. wait
// is how long that is too early. Of one that has a successor already a reply under it tells.
func (k *cardKeeper) replace(ctx context.Context, account string, o stale, at record.Place, err error) (wait time.Duration, failed error) {
	if !gone(err) || uneditable(err) && o.mark.Urgency.Figures() {
		return 0, nil
	}
	attack, _, left := former(o.attack)
	if left && deleted(err) {
		return 0, nil
	}
	every := repostEvery
	if o.mark.Urgency == record.UrgentActed {
		every = repostActed
	}
	if again, _ := record.Reposted(at.Delivery); again && uneditable(err) && !left {
		if wait := every - k.cfg.Now().Sub(slackconn.ParseTS(at.TS)); wait > 0 {
			return wait, nil
		}
	}
	e, known, failed := k.lostEvent(ctx, account, attack, at, !deleted(err))
	if failed != nil || !known {
		return 0, failed
	}
	if left {
		e.ID, e.Kind = "left:"+e.ID, record.CardLeft
	}
	return 0, k.notifier.emit(ctx, e)
}

// lostEvent is the event that an attack's card at a place is gone, or stands and can't be edited; known is false if the attack isn't.
func (k *cardKeeper) lostEvent(ctx context.Context, account, attack string, at record.Place, stands bool) (e record.Event, known bool, err error) {
	shown, known, err := k.cfg.Stores.Attacks.AttackState(ctx, account, attack)
	return record.NewCardLost(account, shown.Attack.Brief(), at, stands, k.cfg.Now()), known, err
}

// repost posts an attack's card once more, silently, in the place of one that is gone, and returns where the attack's card is.
func (k *cardKeeper) repost(ctx context.Context, a Account, e record.Event) (at record.Place, err error) {
	r, err := k.draft(ctx, e)
	if err != nil {
		return at, err
	}
	if at = r.facts.file.Card; at.Message() != formerCard(e).Message() || r.tried.done || r.facts.shown.Revision == 0 {
		return at, k.deliver.drop(ctx, e) // it has another one already, or is forgotten
	}
	if _, err := k.putCard(ctx, a, e, r, func() error { return nil }); err != nil {
		return at, err
	}
	k.notifier.Stale(e.Account) // what is left of the former
	at.Channel, at.TS, err = k.cfg.Stores.Cards.Card(ctx, e.Account, record.AttackID(e.Account, e.Attack().ID))
	return at, err
}

// under is where a reply goes.
type under struct {
	attack  string // whose card it is
	channel string // where the card is posted again if it is gone
	tried   attempt
	takeOff func() error // what waits and is told with it: before it is sent
}

// replyUnder posts a reply under the card of an attack, once. Where the card is gone it is posted again first: what must be heard isn't lost in a thread
// that nobody sees. Where no one may reply it goes to the channel.
func (k *cardKeeper) replyUnder(ctx context.Context, a Account, call Post, u under) (channel, ts string, err error) {
	if call.Channel, call.Thread, err = k.cfg.Stores.Cards.Card(ctx, a.Name, u.attack); err != nil {
		return "", "", err
	}
	channel, ts, err = k.replyOnce(ctx, call, u)
	switch {
	case unanswerable(err):
		call.Thread = ""
		return k.replyOnce(ctx, call, u)
	case !gone(err):
		return channel, ts, err
	}
	at, err := k.cardAgain(ctx, a, call, u.attack, u.channel, err)
	if err != nil {
		return "", "", err
	}
	call.Channel, call.Thread = at.Channel, at.TS
	return k.replyOnce(ctx, call, u)
}

func (k *cardKeeper) replyOnce(ctx context.Context, call Post, u under) (channel, ts string, err error) {
	if channel, ts, err = k.deliver.verifyBeforeResend(ctx, call, u.tried); ts != "" || err != nil {
		return channel, ts, err
	}
	if err := u.takeOff(); err != nil {
		return "", "", err
	}
	return k.deliver.postBegun(ctx, call, attempt{first: u.tried.first})
}

// cardAgain posts the card of an attack again, into a channel, because a reply under it failed.
func (k *cardKeeper) cardAgain(ctx context.Context, a Account, reply Post, attack, channel string, fault error) (at record.Place, err error) {
	e, known, err := k.lostEvent(ctx, a.Name, attack, record.Place{Channel: reply.Channel, TS: reply.Thread}, !deleted(fault))
	if err == nil && !known {
		err = errNowhere
	}
	if err != nil {
		return at, fmt.Errorf("post card of %s again: %w", attack, err)
	}
	e.Channel = channel
	return k.repost(ctx, a, e)
}

// former reads the mark of a card that has a successor, as the store writes it: the attack's id, and its place.
func former(marked string) (attack string, at record.Place, ok bool) {
	attack, place, ok := strings.Cut(marked, " ")
	return attack, record.ReadPlace(place), ok
}

// cardLost posts an attack's card again in the place of one that is gone.
func (k *cardKeeper) cardLost(ctx context.Context, a Account, e record.Event) error {
	_, err := k.repost(ctx, a, e)
	return err
}

// shrink makes one line of a card that has a successor, with a link to that one (chat.update). Its thread stays. For a rebuild from
// Slack it is no card any more.
func (k *cardKeeper) shrink(ctx context.Context, a Account, attack string, at record.Place, s stale) error {
	line, ok, err := k.notifier.successor(ctx, a, attack, at)
	if err != nil {
		return err
	}
	if ok {
		if err := k.deliver.edit(ctx, place{channel: at.Channel, ts: at.TS}, card.Moved(a.Account, attack, line)); err != nil {
			return err
		}
	}
	return k.cfg.Stores.Redraws.Redrawn(ctx, a.Name, s.attack, s.mark)
}

// successor is the line that leads from a former card of an attack to its card; ok is false if it has none elsewhere.
func (n *Notifier) successor(ctx context.Context, a Account, attack string, at record.Place) (line text.Text, ok bool, err error) {
	channel, ts, err := n.cfg.Stores.Cards.Card(ctx, a.Name, attack)
	if err != nil {
		return nil, false, err
	}
	shown, known, err := n.cfg.Stores.Attacks.AttackState(ctx, a.Name, attack)
	if err != nil || !known || ts == "" || ts == at.TS && channel == at.Channel {
		return nil, false, err
	}
	link, err := n.cfg.Slack.Permalink(ctx, channel, ts)
	if err != nil {
		return nil, false, err
	}
	return card.MovedLine(a.Account, attack, shown, record.Place{Channel: channel, TS: ts}, link), true, nil
}
