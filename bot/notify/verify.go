package notify

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// verifyBeforeResend searches the history for a message that an earlier attempt may have posted. Until an empty history counts, the event is handled
// again later. Only without the scope for it, or where the channel is closed to wafbot, does it give up, and the message may come twice rather than
// never: what the channel doesn't take either goes elsewhere.
func (d *deliverer) verifyBeforeResend(ctx context.Context, p Post, t *trial) (at record.Place, err error) {
	due, now := t.verifications(p.place()), time.Now()
	ahead := slices.IndexFunc(due, now.Before) // of those still to come the first
	switch {
	case t.posted.TS != "":
		return t.posted, nil
	case len(due) == 0:
		return at, nil
	case ahead == 0:
		return at, &laterError{due: d.readings.tick(due[0])}
	case ahead < 0:
		ahead = len(due)
	}
	read := due[ahead-1]
	ts, current, err := d.readings.find(ctx, p, t.first, read)
	switch name := slackconn.ErrorName(err); {
	case name == "missing_scope" || name == "channel_not_found" || name == "not_in_channel":
		d.cfg.Log.WarnContext(ctx, "can't verify whether a message was posted", "channel", p.Channel, "err", err)
	case err != nil && nowhere(err):
		return at, err
	case err != nil:
		t.unread++
		return at, &laterError{due: now.Add(delay.Backoff(t.unread-1, verifyFirst, verifyPause)), cause: err}
	case ts != "":
		at = record.Place{Channel: p.Channel, TS: ts}
	case !t.counts(p.place(), read, current):
		return at, &laterError{due: d.readings.tick(due[ahead])}
	}
	d.settle(p, t)
	return at, nil
}

// verifyEverywhere is verifyBeforeResend, also where another replica may have posted a card that goes to another channel by now.
func (d *deliverer) verifyEverywhere(ctx context.Context, p Post, t *trial) (at record.Place, err error) {
	if at, err = d.verifyBeforeResend(ctx, p, t); at.TS != "" || err != nil || p.begunIn == "" {
		return at, err
	}
	p.Channel = p.begunIn
	if at, err = d.verifyBeforeResend(ctx, p, t); nowhere(err) {
		return at, nil // a card that stands there can't be edited either
	}
	return at, err
}

// doubt notes that an attempt to post, sent at a time, may have posted.
func (d *deliverer) doubt(p Post, t *trial, sent time.Time, err error) error {
	now, answered := time.Now(), slackconn.Answered(err)
	t.doubt(p.place(), sent, now, answered)
	d.readings.expect(p, expected{first: t.first, answered: answered, failed: now})
	return &laterError{due: d.readings.tick(t.doubts[p.place()].due[0]), failed: true, cause: err}
}

// settle notes that no attempt of this replica is in doubt any more at a post's place.
func (d *deliverer) settle(p Post, t *trial) {
	delete(t.doubts, p.place())
	t.unread = 0
	d.readings.settled(p.place(), p.Delivery)
}

// place is the channel and the thread that a post goes to.
func (p Post) place() record.Place { return record.Place{Channel: p.Channel, TS: p.Thread} }
