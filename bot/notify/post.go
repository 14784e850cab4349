package notify

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

// Post is a message to be posted once.
type Post struct {
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

// post puts a message that no event is about into a channel once, however often and by whichever replica it is tried.
func (d *deliverer) post(ctx context.Context, p Post) error {
	t, err := d.begin(ctx, p.Account, p.Delivery)
	if err != nil {
		return err
	}
	_, _, err = d.postBegun(ctx, p, t)
	return err
}

// attempt is what is known of a delivery's earlier attempts.
type attempt struct {
	first   time.Time
	again   bool      // it may have been posted before
	done    bool      // it was, and that is recorded
	moved   bool      // to another channel, in which this replica has not tried it yet: nothing of its own is on its way there
	settled time.Time // when what another replica sent has arrived, or never will; zero: this one sent it
}

// begin writes down that a delivery is about to be posted.
func (d *deliverer) begin(ctx context.Context, account, delivery string) (t attempt, err error) {
	t.first, t.again, t.done, err = d.cfg.Stores.Outbox.BeginNotify(ctx, account, delivery, d.cfg.Now())
	if q := d.queue(account); q != nil {
		t.moved = q.wasMoved(delivery)
		if !q.trying(delivery) {
			t.settled = q.since.Add(slackconn.Timeout)
		}
	}
	return t, err
}

// postBegun posts what was written down as tried.
func (d *deliverer) postBegun(ctx context.Context, p Post, t attempt) (channel, ts string, err error) {
	if channel, ts, err = d.verifyBeforeResend(ctx, p, t); ts != "" || err != nil {
		return channel, ts, err
	}
	for try := 1; ; try++ {
		if err := d.awaitSlot(ctx, p); err != nil {
			return "", "", err
		}
		channel, ts, err = d.sendOnce(ctx, p)
		if err == nil {
			d.metrics.posts.Inc()
			return channel, ts, nil
		}
		v, wait := slackconn.Judge(err)
		d.cfg.Log.Warn("post message", "channel", p.Channel, "try", try, "err", err)
		switch v {
		case slackconn.Doubtful:
			if channel, ts, err := d.verify(ctx, p, t.first, []time.Duration{wait, verifyAgain}); ts != "" || err != nil {
				return channel, ts, err
			}
		case slackconn.ContentRefused, slackconn.MetadataRefused:
			plainer, ok := d.plainer(slackconn.MethodPost, p.Message, err)
			if !ok {
				return "", "", err
			}
			p.Message = plainer
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

func (d *deliverer) sendOnce(ctx context.Context, p Post) (channel, ts string, err error) {
	opts := append(p.Message.Options(), slack.MsgOptionMetadata(p.Message.WithDelivery(p.Delivery).Metadata))
	if p.Thread != "" {
		opts = append(opts, slack.MsgOptionTS(p.Thread))
		if p.Broadcast {
			opts = append(opts, slack.MsgOptionBroadcast())
		}
	}
	if err := ctx.Err(); err != nil {
		return "", "", err // of a replica that was paused, the lease is over
	}
	return d.cfg.Slack.Post(ctx, p.Channel, opts...)
}

// awaitSlot waits for the right to post to the channel.
func (d *deliverer) awaitSlot(ctx context.Context, p Post) error {
	if q := d.queue(p.Account); q != nil && q.slot(p.Delivery) {
		return nil
	}
	for {
		wait, err := d.postSlot(ctx, p.Channel, p.Urgent)
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
func (d *deliverer) postSlot(ctx context.Context, channel string, urgent bool) (wait time.Duration, err error) {
	if wait := d.cfg.Slack.HeldFor(slackconn.MethodPost); wait > 0 {
		return wait, nil
	}
	if d.cfg.MessagesPerSecond == 0 {
		return 0, nil
	}
	keep := 1
	if urgent {
		keep = 0
	}
	return d.cfg.Stores.Pace.PostSlot(ctx, channel, d.cfg.MessagesPerSecond, d.cfg.Burst, keep)
}

// withdraw deletes a message that another replica has posted too (chat.delete).
func (d *deliverer) withdraw(ctx context.Context, at place) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*slackconn.Timeout) // also for a replica whose lease is over
	defer cancel()
	for {
		err := d.cfg.Slack.Delete(ctx, at.channel, at.ts)
		v, wait := slackconn.Judge(err)
		if err == nil || v == slackconn.ChannelClosed || v == slackconn.Forbidden {
			d.cfg.Log.Warn("another replica told this too: took it back", "channel", at.channel, "ts", at.ts, "err", err)
			return
		}
		if delay.Sleep(ctx, max(wait, time.Second)) != nil {
			d.cfg.Log.Error("another replica told this too, and it can't be taken back", "channel", at.channel, "ts", at.ts, "err", err)
			return
		}
	}
}
