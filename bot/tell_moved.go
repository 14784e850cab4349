package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// tellMoved posts the card of an attack that became an incident where its route now wants it. What it leaves behind becomes a link to it: the
// memory marks that card when it records this one.
func (b *Bot) tellMoved(ctx context.Context, a Account, n poller.News) error {
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
	return slices.Contains([]string{
		"message_not_found", "cant_update_message", "edit_window_closed", "block_mismatch", "thread_not_found", "is_inactive", "is_archived", "channel_not_found", "not_in_channel",
	}, errorName(err))
}

// replace has the card of an attack posted anew if that is what the error of an edit asks for.
func (b *Bot) replace(ctx context.Context, account, attack string, err error) error {
	if _, _, left := former(attack); left || !gone(err) {
		return nil
	}
	n, known, err := b.goneNews(ctx, account, attack)
	if err != nil || !known {
		return err
	}
	if err := b.cfg.Memory.Announce(ctx, n); err != nil {
		return err
	}
	b.Wake(account, []poller.News{n})
	return nil
}

// goneNews is the news that an attack's card is gone; known is false if the attack or its card isn't.
func (b *Bot) goneNews(ctx context.Context, account, attack string) (n poller.News, known bool, err error) {
	channel, ts, err := b.cfg.Memory.Card(ctx, account, attack)
	if err != nil || ts == "" {
		return n, false, err
	}
	shown, known, err := b.cfg.Memory.Shown(ctx, account, attack)
	return poller.NewAnew(account, shown.Attack.Brief(), channel, ts, b.cfg.Now()), known, err
}

// anew posts an attack's card once more, silently, in the place of one that is gone, and returns where the attack's card is.
func (b *Bot) anew(ctx context.Context, a Account, n poller.News) (at commands.Place, err error) {
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
	at.Channel, at.TS, err = b.cfg.Memory.Card(ctx, n.Account, commands.AttackID(n.Account, n.Attack.ID))
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
// that nobody sees.
func (b *Bot) replyUnder(ctx context.Context, a Account, call postCall, u under) (channel, ts string, err error) {
	if call.Channel, call.Thread, err = b.cfg.Memory.Card(ctx, a.Name, u.attack); err != nil {
		return "", "", err
	}
	channel, ts, err = b.replyOnce(ctx, call, u)
	if !gone(err) {
		return channel, ts, err
	}
	at, err := b.cardAgain(ctx, a, u.attack, u.channel)
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

// cardAgain posts the card of an attack anew, into a channel, because it is gone.
func (b *Bot) cardAgain(ctx context.Context, a Account, attack, channel string) (at commands.Place, err error) {
	n, known, err := b.goneNews(ctx, a.Name, attack)
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
func former(marked string) (attack string, at commands.Place, ok bool) {
	attack, place, ok := strings.Cut(marked, " ")
	return attack, commands.ReadPlace(place), ok
}

// shrink makes one line of a card that has a successor, with a link to that one (chat.update). Its thread stays. For whoever reads back what was
// told it is no card any more.
func (b *Bot) shrink(ctx context.Context, a Account, attack string, at commands.Place, o outdated) error {
	channel, ts, err := b.cfg.Memory.Card(ctx, a.Name, attack)
	if err != nil {
		return err
	}
	shown, known, err := b.cfg.Memory.Shown(ctx, a.Name, attack)
	if err != nil {
		return err
	}
	if !known || ts == "" || ts == at.TS && channel == at.Channel {
		return b.cfg.Memory.Redrawn(ctx, a.Name, o.attack, o.mark)
	}
	link, err := b.cfg.Slack.Permalink(ctx, channel, ts)
	if err != nil {
		return err
	}
	msg := moved(a, attack, shown, commands.Place{Channel: channel, TS: ts}, link)
	if err := b.edit(ctx, place{channel: at.Channel, ts: at.TS}, msg); err != nil {
		return err
	}
	return b.cfg.Memory.Redrawn(ctx, a.Name, o.attack, o.mark)
}

// moved is what is left of a card that has a successor.
func moved(a Account, attack string, shown poller.Shown, to commands.Place, link string) Message {
	line := commands.Say(commands.Bold("INCIDENT"), " · ", commands.TypeName(shown.Attack.Type), " · ", a.AppName(shown.Attack.App), " ", commands.Code(attack), ": its card is in ",
		commands.Channel(to.Channel), " now: ", commands.Link{Label: "open it", URL: link})
	msg := linesMessage([]commands.Text{line}, nil)
	msg.Metadata = bounded(metaMessage, map[string]any{"version": "1", "account": commands.Visible(a.Name, maxMeta), "attack": commands.Visible(attack, maxMeta)})
	return msg
}
