package notify

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
)

// drillChanged posts a drill's card, and shows later how the drill ended.
func (n *Notifier) drillChanged(ctx context.Context, a Account, e record.Event, changed record.DrillFacts) error {
	d, err := n.cfg.Stores.Drills.Drill(ctx, e.Account)
	if err != nil {
		return err
	}
	if changed.Drill != d.ID { // of a drill before
		return n.deliver.drop(ctx, e)
	}
	switch {
	case d.Card.TS == "" && d.Waits():
		return n.postDrill(ctx, a, e, d)
	case d.Card.TS != "" && !d.Waits() && d.Card.Shown.IsZero():
		if err := n.endDrill(ctx, a, d); err != nil {
			return err
		}
	}
	return n.deliver.drop(ctx, e)
}

// postDrill posts the card, and looks for it as after a failure.
func (n *Notifier) postDrill(ctx context.Context, a Account, e record.Event, d record.Drill) error {
	call := eventPost(e, card.Drill(a.Account, d), "")
	t, err := n.deliver.begin(ctx, call.Account, call.Delivery)
	if err != nil {
		return err
	}
	channel, ts, err := n.deliver.postBegun(ctx, call, t)
	if err != nil {
		return err
	}
	card := record.DrillCard{Drill: d.ID, Channel: channel, TS: ts, Posted: n.cfg.Now().UTC()}
	begun := time.Now()
	found, err := n.deliver.find(ctx, call, t.first)
	switch {
	case err != nil:
		n.cfg.Log.Warn("look for the card of a drill", "account", e.Account, "err", err)
		card.Fault = "the channel's history can't be read: " + slackconn.Brief(err)
	case found != ts:
		card.Fault = "it isn't there"
	default:
		card.Found = time.Since(begun)
	}
	if err := n.cfg.Stores.Drills.SaveDrillCard(ctx, e.Account, card); err != nil {
		return err
	}
	if o := n.own(e.Account); o != nil {
		signal(o.drills.wake)
	}
	return n.deliver.record(ctx, e, place{channel: channel, ts: ts})
}

// endDrill shows on the card how a drill ended, and reports in its thread.
func (n *Notifier) endDrill(ctx context.Context, a Account, d record.Drill) error {
	if err := n.deliver.bringUpToDate(ctx, "card of drill", place{channel: d.Card.Channel, ts: d.Card.TS}, card.Drill(a.Account, d)); err != nil {
		return err
	}
	d.Card.Shown = n.cfg.Now().UTC()
	report := Post{Account: d.Account, Channel: d.Card.Channel, Thread: d.Card.TS, Delivery: "drill report " + d.ID, Message: card.Lines(describe.Drill(d), nil)}
	if err := n.deliver.post(ctx, report); err != nil {
		return err
	}
	return n.cfg.Stores.Drills.SaveDrillCard(ctx, d.Account, d.Card)
}

// drillClock ends an account's drill when it was not answered in time.
type drillClock struct {
	notifier *Notifier
	account  string
	wake     chan struct{}
}

// drillAgain is how long to wait when it isn't known whether a drill waits, or it couldn't be ended.
const drillAgain = 5 * time.Second

// run begins with what Redis holds: another replica may have posted the card.
func (r *drillClock) run(held, more context.Context) {
	for more.Err() == nil {
		var end <-chan time.Time
		d, err := r.notifier.cfg.Stores.Drills.Drill(held, r.account)
		switch {
		case err != nil:
			end = time.After(drillAgain)
		case d.Waits() && !r.notifier.cfg.Now().Before(d.Until):
			if _, err := r.notifier.cfg.Runner.Do(held, stopOf(d)); err != nil {
				r.notifier.cfg.Log.Warn("end drill", "account", r.account, "err", err)
			}
			end = time.After(drillAgain)
		case d.Waits():
			end = time.After(d.Until.Sub(r.notifier.cfg.Now()))
		}
		select {
		case <-more.Done():
		case <-r.wake:
		case <-end:
		}
	}
}

// stopOf is the clock's request to end a drill.
func stopOf(d record.Drill) call.Invocation {
	return call.Invocation{
		ID: "over " + d.ID, At: time.Now(), Actor: record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock},
		Line: record.Line{Name: "drill", Words: []string{"stop"}}.With("account", d.Account),
	}
}
