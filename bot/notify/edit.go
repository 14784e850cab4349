package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
)

// editSlot takes the right to edit one message in the workspace; wait is how long until there is one, 0 if it was given. Who can wait leaves
// some edits for who can't.
func (d *deliverer) editSlot(ctx context.Context, canWait bool) (wait time.Duration, err error) {
	if wait := d.cfg.Slack.HeldFor(slackconn.MethodUpdate); wait > 0 {
		return wait, nil
	}
	self, err := d.cfg.Slack.Self(ctx)
	if err != nil {
		return 0, err
	}
	keep := 0
	if canWait {
		keep = d.cfg.EditsPerMinute / 10
	}
	return d.cfg.Stores.Pace.EditSlot(ctx, self.Team, d.cfg.EditsPerMinute, keep)
}

// awaitEdit waits for the right to edit one message that people wait for.
func (d *deliverer) awaitEdit(ctx context.Context) error {
	for {
		wait, err := d.editSlot(ctx, false)
		if err != nil || wait == 0 {
			return err
		}
		if err := delay.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// edit puts a message in the place of another (chat.update), plainer when Slack refuses what is in it. Without metadata that of the other stays.
// The right to edit was taken.
func (d *deliverer) edit(ctx context.Context, at place, msg card.Message) error {
	for {
		opts := msg.Options()
		if msg.Metadata.EventType != "" {
			opts = append(opts, slack.MsgOptionMetadata(msg.Metadata))
		}
		if err := ctx.Err(); err != nil {
			return err // of a replica that was paused, the lease is over, and with it what it knows
		}
		err := d.cfg.Slack.Update(ctx, at.channel, at.ts, opts...)
		if err == nil {
			d.metrics.edits.Inc()
			return nil
		}
		plainer, ok := d.plainer(slackconn.MethodUpdate, msg, err)
		if !ok {
			return err
		}
		msg = plainer
		if err := d.awaitEdit(ctx); err != nil {
			return err
		}
	}
}

// bringUpToDate edits a message that is no attack's card. One that can't be edited, because it was deleted, is left as it is.
func (d *deliverer) bringUpToDate(ctx context.Context, what string, at place, msg card.Message) error {
	if err := d.awaitEdit(ctx); err != nil {
		return fmt.Errorf("edit %s: %w", what, err)
	}
	err := d.edit(ctx, at, msg)
	if err == nil {
		return nil
	}
	if v, _ := slackconn.Judge(err); v == slackconn.NotSent || v == slackconn.Doubtful || v == slackconn.Forbidden {
		return fmt.Errorf("edit %s: %w", what, err)
	}
	d.cfg.Log.Warn("edit message", "what", what, "channel", at.channel, "ts", at.ts, "err", err)
	return nil
}
