package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
)

// postCall is a message to be posted once.
type postCall struct {
	Account   string
	Channel   string
	Thread    string // "": not a reply
	Broadcast bool   // a reply that the channel sees too
	Urgent    bool   // it goes ahead of what isn't
	Delivery  string // what makes it this message, whoever posts it
	Message   card.Message
}

// errNowhere marks a channel that can't be posted to.
var errNowhere = errors.New("channel can't be posted to")

// postTries is how often one call of post sends at most; its caller comes back later.
const postTries = 3

// post puts a message that is no news into a channel once, however often and by whomever it is tried.
func (b *Bot) post(ctx context.Context, c postCall) error {
	t, err := b.try(ctx, c.Account, c.Delivery)
	if err != nil {
		return err
	}
	_, _, err = b.postTried(ctx, c, t)
	return err
}

// tried is what is known of a delivery's earlier attempts.
type tried struct {
	first   time.Time
	again   bool      // it may have been posted before
	told    bool      // it was, and that is recorded
	moved   bool      // to another channel, in which this replica has not tried it yet: nothing of its own is on its way there
	settled time.Time // when what another replica sent has arrived, or never will; zero: this one sent it
}

// try writes down that a delivery is about to be posted.
func (b *Bot) try(ctx context.Context, account, delivery string) (t tried, err error) {
	t.first, t.again, t.told, err = b.cfg.Memory.BeginNotify(ctx, account, delivery, b.cfg.Now())
	if tends := b.tends(account); tends != nil {
		t.moved = tends.teller.wasMoved(delivery)
		if !tends.teller.trying(delivery) {
			t.settled = tends.teller.since.Add(slackconn.Timeout)
		}
	}
	return t, err
}

// postTried posts what was written down as tried.
func (b *Bot) postTried(ctx context.Context, c postCall, t tried) (channel, ts string, err error) {
	if channel, ts, err = b.lookFirst(ctx, c, t); ts != "" || err != nil {
		return channel, ts, err
	}
	for try := 1; ; try++ {
		if err := b.awaitSlot(ctx, c); err != nil {
			return "", "", err
		}
		channel, ts, err = b.sendOnce(ctx, c)
		if err == nil {
			b.metrics.posts.Inc()
			return channel, ts, nil
		}
		v, wait := slackconn.Judge(err)
		b.cfg.Log.Warn("post message", "channel", c.Channel, "try", try, "err", err)
		switch v {
		case slackconn.Doubtful:
			if channel, ts, err := b.look(ctx, c, t.first, []time.Duration{wait, lookAgain}); ts != "" || err != nil {
				return channel, ts, err
			}
		case slackconn.ContentRefused, slackconn.MetadataRefused:
			plainer, ok := b.plainer(slackconn.MethodPost, c.Message, err)
			if !ok {
				return "", "", err
			}
			c.Message = plainer
			continue // not one of the tries: it becomes no plainer than plain
		case slackconn.NotSent:
			if err := delay.Sleep(ctx, wait); err != nil {
				return "", "", err
			}
		case slackconn.ChannelClosed:
			return "", "", fmt.Errorf("%w: %w", errNowhere, err)
		case slackconn.Forbidden:
			return "", "", err
		}
		if try >= postTries {
			return "", "", err
		}
	}
}

// lookFirst looks for a message that may have been posted before: as long as this replica's own can still be on its way, twice; that of
// another replica, which sends nothing since this one tends the account, when it must have arrived.
func (b *Bot) lookFirst(ctx context.Context, c postCall, t tried) (channel, ts string, err error) {
	switch {
	case !t.again:
		return "", "", nil
	case !t.settled.IsZero():
		return b.look(ctx, c, t.first, []time.Duration{time.Until(t.settled)})
	case b.cfg.Now().Sub(t.first) < inFlight && !t.moved:
		return b.look(ctx, c, t.first, []time.Duration{time.Second, lookAgain})
	}
	return b.look(ctx, c, t.first, []time.Duration{0})
}

func (b *Bot) sendOnce(ctx context.Context, c postCall) (channel, ts string, err error) {
	opts := append(c.Message.Options(), slack.MsgOptionMetadata(c.Message.WithDelivery(c.Delivery).Metadata))
	if c.Thread != "" {
		opts = append(opts, slack.MsgOptionTS(c.Thread))
		if c.Broadcast {
			opts = append(opts, slack.MsgOptionBroadcast())
		}
	}
	if err := ctx.Err(); err != nil {
		return "", "", err // of a replica that was paused, the lease is over
	}
	return b.cfg.Slack.Post(ctx, c.Channel, opts...)
}

// awaitSlot waits for the right to post to the channel.
func (b *Bot) awaitSlot(ctx context.Context, c postCall) error {
	if tends := b.tends(c.Account); tends != nil && tends.teller.slot(c.Delivery) {
		return nil
	}
	for {
		wait, err := b.postSlot(ctx, c.Channel, c.Urgent)
		if err != nil || wait == 0 {
			return err
		}
		if err := delay.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// postSlot takes the right to post one message to a channel; wait is how long until there is one, 0 if it was given. What isn't urgent leaves one
// for what is.
func (b *Bot) postSlot(ctx context.Context, channel string, urgent bool) (wait time.Duration, err error) {
	if wait := b.cfg.Slack.HeldFor(slackconn.MethodPost); wait > 0 {
		return wait, nil
	}
	if b.cfg.MessagesPerSecond == 0 {
		return 0, nil
	}
	keep := 1
	if urgent {
		keep = 0
	}
	return b.cfg.Memory.PostSlot(ctx, channel, b.cfg.MessagesPerSecond, b.cfg.Burst, keep)
}

const (
	inFlight  = 30 * time.Second // how long after it was sent a message can still arrive
	lookAgain = 5 * time.Second
)

// look searches for a message of unknown outcome, after each of the pauses. Only without the scope for it, or where the channel is closed to wafbot,
// does it give up, and the message may come twice rather than never: what the channel doesn't take either goes elsewhere.
func (b *Bot) look(ctx context.Context, c postCall, first time.Time, pauses []time.Duration) (channel, ts string, err error) {
	for _, pause := range pauses {
		if err := delay.Sleep(ctx, pause); err != nil {
			return "", "", err
		}
		ts, err = b.find(ctx, c, first)
		switch slackconn.ErrorName(err) {
		case "missing_scope":
			b.cfg.Log.Warn("can't look whether a message is there: the history scope is missing", "channel", c.Channel)
			return "", "", nil
		case "channel_not_found", "not_in_channel":
			b.cfg.Log.Warn("can't look whether a message is there: the channel can't be read", "channel", c.Channel, "err", err)
			return "", "", nil
		}
		if ts != "" || err != nil {
			return c.Channel, ts, err
		}
	}
	return "", "", nil
}

// find searches the channel, or the thread, for the message, from a minute before it was first tried.
func (b *Bot) find(ctx context.Context, c postCall, first time.Time) (ts string, err error) {
	self, err := b.cfg.Slack.Self(ctx)
	if err != nil {
		return "", err
	}
	oldest := fmt.Sprintf("%d.000000", first.Add(-time.Minute).Unix())
	for cursor := ""; ; {
		msgs, next, err := b.page(ctx, c, oldest, cursor)
		if err != nil {
			return "", fmt.Errorf("look for message in %s: %w", c.Channel, slackconn.WithoutURL(err))
		}
		for _, m := range msgs {
			if m.BotID == self.Bot && m.Metadata().EventPayload["delivery"] == c.Delivery {
				return m.TS, nil
			}
		}
		if next == "" {
			return "", nil
		}
		cursor = next
	}
}

func (b *Bot) page(ctx context.Context, c postCall, oldest, cursor string) (msgs []slackconn.HistoryMessage, next string, err error) {
	return b.cfg.Slack.History(ctx, slackconn.HistoryQuery{Channel: c.Channel, Thread: c.Thread, Oldest: oldest, Cursor: cursor})
}

// takeBack deletes a message that another replica has posted too (chat.delete).
func (b *Bot) takeBack(ctx context.Context, at place) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*slackconn.Timeout) // also for a replica whose lease is over
	defer cancel()
	for {
		err := b.cfg.Slack.Delete(ctx, at.channel, at.ts)
		v, wait := slackconn.Judge(err)
		if err == nil || v == slackconn.ChannelClosed || v == slackconn.Forbidden {
			b.cfg.Log.Warn("another replica told this too: took it back", "channel", at.channel, "ts", at.ts, "err", err)
			return
		}
		if delay.Sleep(ctx, max(wait, time.Second)) != nil {
			b.cfg.Log.Error("another replica told this too, and it can't be deleted", "channel", at.channel, "ts", at.ts, "err", err)
			return
		}
	}
}
