package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// verifyBeforeResend looks for a message that may have been posted before: as long as this replica's own can still be on its way, twice; that of
// another replica, which sends nothing since this one owns the account, when it must have arrived.
func (d *deliverer) verifyBeforeResend(ctx context.Context, p Post, t attempt) (at record.Place, err error) {
	switch {
	case !t.again:
		return at, nil
	case !t.settled.IsZero():
		return d.verify(ctx, p, t.first, time.Until(t.settled))
	case d.cfg.Now().Sub(t.first) < inFlight && !t.moved:
		return d.verify(ctx, p, t.first, time.Second, verifyAgain)
	}
	return d.verify(ctx, p, t.first, 0)
}

const (
	inFlight    = 30 * time.Second // how long after it was sent a message can still arrive
	verifyAgain = 5 * time.Second
)

// verify searches for a message of unknown outcome, after each of the pauses. Only without the scope for it, or where the channel is closed to wafbot,
// does it give up, and the message may come twice rather than never: what the channel doesn't take either goes elsewhere.
func (d *deliverer) verify(ctx context.Context, p Post, first time.Time, pauses ...time.Duration) (record.Place, error) {
	for _, pause := range pauses {
		if err := delay.Sleep(ctx, pause); err != nil {
			return record.Place{}, err
		}
		ts, err := d.find(ctx, p, first)
		switch slackconn.ErrorName(err) {
		case "missing_scope", "channel_not_found", "not_in_channel":
			d.cfg.Log.Warn("can't verify whether a message is there", "channel", p.Channel, "err", err)
			return record.Place{}, nil
		}
		if ts != "" || err != nil {
			return record.Place{Channel: p.Channel, TS: ts}, err
		}
	}
	return record.Place{}, nil
}

// find searches the channel, or the thread, for the message, from a minute before it was first tried.
func (d *deliverer) find(ctx context.Context, p Post, first time.Time) (ts string, err error) {
	self, err := d.cfg.Slack.Self(ctx)
	if err != nil {
		return "", err
	}
	oldest := fmt.Sprintf("%d.000000", first.Add(-time.Minute).Unix())
	for cursor := ""; ; {
		msgs, next, err := d.cfg.Slack.History(ctx, slackconn.HistoryQuery{Channel: p.Channel, Thread: p.Thread, Oldest: oldest, Cursor: cursor})
		if err != nil {
			return "", fmt.Errorf("find message in %s: %w", p.Channel, slackconn.WithoutURL(err))
		}
		for _, m := range msgs {
			if m.BotID == self.Bot && m.Metadata().EventPayload["delivery"] == p.Delivery {
				return m.TS, nil
			}
		}
		if next == "" {
			return "", nil
		}
		cursor = next
	}
}
