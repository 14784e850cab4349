package main

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// tookOver calls those who were on attacks that somebody took over all at once.
func (a *app) tookOver(ctx context.Context, t call.TakeOver) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	a.announce(ctx, bot.TakenOver(t, a.configured(t.Account).Channel))
}

// cardLinks are where the cards of attacks can be opened, by attack, as far as that can be found out.
func (a *app) cardLinks(ctx context.Context, account string, attacks []string) map[string]string {
	places, err := a.store.Cards.CardsOf(ctx, account, attacks)
	if err != nil {
		return nil
	}
	links := map[string]string{}
	for attack, place := range places {
		link, err := a.slack.Permalink(ctx, place[0], place[1])
		if err != nil {
			return nil
		}
		links[attack] = link
	}
	return links
}

// announceAgain is how long to wait before a hand-over is announced again that could not be.
const announceAgain = time.Second

// handOver has an account handed over each day at its hour, by whichever replica tends it then. It is announced again by one that comes later:
// the outbox knows what was told.
func (a *app) handOver(ctx context.Context, account string) {
	cfg := a.configured(account)
	if cfg.Summary.At == "" {
		return
	}
	var last time.Time
	for {
		due, next := cfg.Summary.Around(time.Now().In(a.cfg.Timezone))
		wait := time.Until(next)
		if !due.Equal(last) && time.Since(due) < bot.SummaryLate {
			news := bot.SummaryDue(account, cfg.Channel, due)
			if err := a.store.Outbox.Announce(ctx, news); err == nil {
				a.bot.Wake(account, []record.Event{news})
				last = due
			} else {
				a.log.Warn("announce hand-over", "account", account, "err", err)
				wait = announceAgain
			}
		}
		if delay.Sleep(ctx, wait) != nil {
			return
		}
	}
}
