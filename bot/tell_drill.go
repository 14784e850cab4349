package bot

import (
	"context"
	"strings"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
)

// Drills remembers each account's last drill.
type Drills interface {
	// Drill is the last one, with its card; the zero Drill when there was none lately.
	Drill(ctx context.Context, account string) (record.Drill, error)
	SaveDrillCard(ctx context.Context, account string, card record.DrillCard) error
}

// drilled is the reason of news about a drill.
const drilled record.EventKind = "drill"

// Drilled is the news that a drill began, or ended.
func Drilled(d record.Drill, channel string) record.Event {
	n := record.Event{ID: "drill " + d.ID, Account: d.Account, Reason: drilled, Channel: channel, At: d.At}
	if !d.Waits() {
		n.ID += " over"
	}
	return n
}

// tellDrill posts a drill's card, and shows later how the drill ended.
func (b *Bot) tellDrill(ctx context.Context, a Account, n record.Event) error {
	d, err := b.cfg.Memory.Drill(ctx, n.Account)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(n.ID, "drill "+d.ID) { // of a drill before
		return b.record(ctx, n, place{})
	}
	switch {
	case d.Card.TS == "" && d.Waits():
		return b.postDrill(ctx, a, n, d)
	case d.Card.TS != "" && !d.Waits() && d.Card.Shown.IsZero():
		if err := b.endDrill(ctx, a, d); err != nil {
			return err
		}
	}
	return b.record(ctx, n, place{})
}

// postDrill posts the card, and looks for it as after a failure.
func (b *Bot) postDrill(ctx context.Context, a Account, n record.Event, d record.Drill) error {
	call := newsCall(n, card.Drill(a.Account, d), "")
	t, err := b.try(ctx, call.Account, call.Delivery)
	if err != nil {
		return err
	}
	channel, ts, err := b.postTried(ctx, call, t)
	if err != nil {
		return err
	}
	card := record.DrillCard{Drill: d.ID, Channel: channel, TS: ts, Posted: b.cfg.Now().UTC()}
	begun := time.Now()
	found, err := b.find(ctx, call, t.first)
	switch {
	case err != nil:
		b.cfg.Log.Warn("look for the card of a drill", "account", n.Account, "err", err)
		card.Fault = "the channel's history can't be read: " + slackTrouble(err)
	case found != ts:
		card.Fault = "it isn't there"
	default:
		card.Found = time.Since(begun)
	}
	if err := b.cfg.Memory.SaveDrillCard(ctx, n.Account, card); err != nil {
		return err
	}
	if t := b.tends(n.Account); t != nil {
		t.drills.look()
	}
	return b.record(ctx, n, place{channel: channel, ts: ts})
}

// endDrill shows on the card how a drill ended, and reports in its thread.
func (b *Bot) endDrill(ctx context.Context, a Account, d record.Drill) error {
	if err := b.bringUpToDate(ctx, "card of drill", place{channel: d.Card.Channel, ts: d.Card.TS}, card.Drill(a.Account, d)); err != nil {
		return err
	}
	d.Card.Shown = b.cfg.Now().UTC()
	report := postCall{Account: d.Account, Channel: d.Card.Channel, Thread: d.Card.TS, Delivery: "drill report " + d.ID, Message: card.Lines(describe.DrillReport(d), nil)}
	if err := b.post(ctx, report); err != nil {
		return err
	}
	return b.cfg.Memory.SaveDrillCard(ctx, d.Account, d.Card)
}

// driller ends an account's drill when nobody answered it in time.
type driller struct {
	bot     *Bot
	account string
	wake    chan struct{}
}

func (r *driller) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// drillAgain is how long to wait when it isn't known whether a drill waits, or it couldn't be ended.
const drillAgain = 5 * time.Second

// run begins with what Redis holds: another replica may have posted the card.
func (r *driller) run(held, more context.Context) {
	for more.Err() == nil {
		var end <-chan time.Time
		d, err := r.bot.cfg.Memory.Drill(held, r.account)
		switch {
		case err != nil:
			end = time.After(drillAgain)
		case d.Waits() && !r.bot.cfg.Now().Before(d.Until):
			if _, err := r.bot.cfg.Runner.Do(held, stopOf(d)); err != nil {
				r.bot.cfg.Log.Warn("end drill", "account", r.account, "err", err)
			}
			end = time.After(drillAgain)
		case d.Waits():
			end = time.After(d.Until.Sub(r.bot.cfg.Now()))
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
