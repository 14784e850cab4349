package main

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// cardLinks are where the cards of attacks can be opened, by attack, as far as that can be found out.
func (a *app) cardLinks(ctx context.Context, account string, attacks []string) map[string]string {
	places, err := a.store.CardsOf(ctx, account, attacks)
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
		due, next := summaryHours(time.Now().In(a.cfg.Timezone), cfg.Summary.At)
		wait := time.Until(next)
		if !due.Equal(last) && time.Since(due) < bot.SummaryLate {
			news := bot.SummaryDue(account, cfg.Channel, due)
			if err := a.store.Announce(ctx, news); err == nil {
				a.bot.Notify(account, []record.Event{news})
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

// summaryHours are the last and the next time at which it is that hour of the day where now is; the hour is as the configuration's check wants it.
func summaryHours(now time.Time, at string) (last, next time.Time) {
	clock, _ := time.Parse("15:04", at)
	on := func(day int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+day, clock.Hour(), clock.Minute(), 0, 0, now.Location())
	}
	if last, next = on(0), on(1); last.After(now) {
		last, next = on(-1), last
	}
	return last, next
}
