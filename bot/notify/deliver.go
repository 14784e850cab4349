package notify

import (
	"context"
	"errors"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// deliverer posts and edits messages, verifies before a resend, and records what was delivered.
type deliverer struct {
	cfg     Config
	metrics *metrics
	queue   func(account string) *queue // nil: another replica owns the account
}

// place is where a message is.
type place struct {
	channel, ts string
	card        bool // it is its attack's card
}

// recordAgain is how long to wait before a delivery is recorded once more.
const recordAgain = time.Second

// record takes a delivered event off the outbox, however long Redis is away: nobody knows whether a recording whose answer was lost took
// place, and the event could be posted twice. A message that another replica has posted, too, is withdrawn.
func (d *deliverer) record(ctx context.Context, e record.Event, at place) error {
	for {
		double, err := d.cfg.Stores.Outbox.Notified(context.WithoutCancel(ctx), e, at.channel, at.ts, at.card) // a stop must not undo what was delivered
		if double {
			d.withdraw(ctx, at)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		d.cfg.Log.Error("record delivery", "account", e.Account, "kind", e.Kind, "err", err)
		if err := delay.Sleep(ctx, recordAgain); err != nil {
			return err
		}
	}
}

// drop takes an event off the outbox that needs no message of its own.
func (d *deliverer) drop(ctx context.Context, e record.Event) error { return d.record(ctx, e, place{}) }

// send posts the message of an event and records it.
func (d *deliverer) send(ctx context.Context, e record.Event, p Post) error {
	t, err := d.begin(ctx, p.Account, p.Delivery)
	if err != nil {
		return err
	}
	if t.done {
		return d.drop(ctx, e) // the event was stored again
	}
	channel, ts, err := d.postBegun(ctx, p, t)
	if err != nil {
		return err
	}
	return d.record(ctx, e, place{channel: channel, ts: ts})
}

// reply is the message that a handler makes of an event. The zero reply says nothing.
type reply struct {
	message   card.Message
	under     record.Place // the card in whose thread it goes; zero: it is no reply
	broadcast bool         // the channel sees it, too
	urgent    bool
	channel   string        // of one that is no reply; "": the event's
	elsewhere *card.Message // goes there where the card's thread can't be posted to; nil: nothing does
	repost    string        // the attack whose card is posted again first if it is gone; "": none is
}

// message is a reply in the event's channel.
func message(e record.Event, msg card.Message) reply { return reply{message: msg, urgent: urgent(e)} }

// say posts what was made of an event, and records it. Where the card of a reply is gone that is posted again first, if the reply wants it.
func (n *Notifier) say(ctx context.Context, a Account, e record.Event, r reply) error {
	if r.message.Text == "" {
		return n.deliver.drop(ctx, e)
	}
	own := eventPost(e, r.message, "")
	own.Urgent = r.urgent
	if r.channel != "" {
		own.Channel = r.channel
	}
	if r.under.TS == "" {
		return n.deliver.send(ctx, e, own)
	}
	threaded := own
	threaded.Channel, threaded.Thread, threaded.Broadcast = r.under.Channel, r.under.TS, r.broadcast
	err := n.deliver.send(ctx, e, threaded)
	if gone(err) && r.repost != "" {
		if at, fault := n.cards.cardAgain(ctx, a, threaded, r.repost, r.under.Channel, err); fault == nil {
			threaded.Channel, threaded.Thread = at.Channel, at.TS
			err = n.deliver.send(ctx, e, threaded)
		}
	}
	if !errors.Is(err, errNowhere) && !gone(err) {
		return err
	}
	if r.elsewhere == nil {
		return n.deliver.drop(ctx, e)
	}
	own.Message = *r.elsewhere
	return n.deliver.send(ctx, e, own)
}

// eventPost is the message of an event; with thread it is a reply that the channel sees too.
func eventPost(e record.Event, msg card.Message, thread string) Post {
	return Post{Account: e.Account, Channel: e.Channel, Thread: thread, Broadcast: thread != "", Urgent: urgent(e), Delivery: e.ID, Message: msg}
}
