package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/rebuild"
	"github.com/wafbot/wafbot/commands/paging"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// How many accounts are taken up in a second, and how many at a time, when many are taken over at once: all that goes
// on in an account reads Redis then, and its first poll reads everything. A slow machine takes fewer: what it can't do
// in time it would begin again, and never be done.
const (
	startsPerSecond = 200
	startsAtATime   = 16
	startWithin     = time.Second // then the next one is taken up all the same: a service that hangs holds no other account up for long
)

// own does what the account's owner does: poll, notify, page, end what is due. Where its state is to be rebuilt it
// begins as soon as that can be watched. If the rebuild fails, the replica that takes the lease then tries again.
func (a *app) own(held, more context.Context, account string, pending <-chan store.Pending) {
	if a.pace.Wait(more) != nil {
		return // it ended before it was its turn
	}
	var rebuilding *rebuild.Rebuild
	begun := a.rebuilds(more, account, func() (err error) {
		rebuilding, err = a.beginRebuild(more, account)
		return err
	})
	if !begun {
		return
	}
	if a.starts.Acquire(more, 1) != nil {
		return
	}
	taken := sync.OnceFunc(func() { a.starts.Release(1) })
	defer taken()
	more, giveUp := context.WithCancel(more)
	defer giveUp()
	var g sync.WaitGroup
	due, unread := make(chan struct{}, 1), notify.Unread{}
	if rebuilding != nil {
		read := make(chan struct{})
		unread = notify.Unread{Cards: rebuilding.Cards(), Read: read}
		g.Go(func() {
			if a.rebuilds(more, account, func() error { return rebuilding.Finish(more) }) {
				close(read)
			} else {
				giveUp()
			}
		})
	}
	t := a.tenants[account]
	t.paging = a.paging(t) // of this time as the owner: its notifier uses it, too
	each := func(what string, do func()) {
		g.Go(func() { delay.RunAgain(more, a.log, what+" of "+account, do) })
	}
	g.Go(func() { a.notifier.Own(held, more, account, unread) })
	tried := t.poller.Tried()
	g.Go(func() {
		defer taken()
		select {
		case <-tried:
		case <-time.After(startWithin):
		case <-more.Done():
		}
	})
	each("polls", func() { _ = t.poller.Run(more) })
	each("pages", func() { t.paging.Run(held, more) })
	each("changes that are due", func() { a.runner.RunDue(more, account, due) })
	each("changes that lapse", func() { a.runner.RunLapses(more, account) })
	each("what there is to do", func() { a.passOn(more, account, pending, due) })
	g.Wait()
}

// rebuilds reports whether a step of rebuilding an account's state succeeds. Else it says why, and waits a little.
func (a *app) rebuilds(more context.Context, account string, step func() error) bool {
	err := delay.Try(a.log, "a rebuild", step)
	if err == nil {
		return true
	}
	if more.Err() == nil {
		a.log.Error("rebuild the account's state", "account", account, "err", err)
	}
	_ = delay.Sleep(more, time.Second)
	return false
}

// passOn passes on what there is to do for an account until ctx ends.
func (a *app) passOn(ctx context.Context, account string, pending <-chan store.Pending, due chan<- struct{}) {
	for before := (store.Pending{}); ; {
		var d store.Pending
		select {
		case <-ctx.Done():
			return
		case d = <-pending:
		}
		if d.Events > 0 {
			a.notifier.Pending(account, d.Events)
		}
		if d.StaleCards > 0 {
			a.notifier.Stale(account)
		}
		if d.Audited != before.Audited {
			a.tenants[account].efficacy.Refresh() // another replica may have changed something
		}
		before = d
		if d.Due.IsZero() || a.clocks.ServiceNow(account).Before(d.Due) {
			continue
		}
		select {
		case due <- struct{}{}:
		default: // a check is requested already
		}
	}
}

// paging puts an account's paging together.
func (a *app) paging(t *tenant) *paging.Paging {
	pagers := map[string]paging.Sender{}
	for route, p := range t.pagers {
		pagers[route] = p
	}
	return paging.New(paging.Config{
		Account: t.Account, Clock: a.clocks.Service(t.Name), Pagers: pagers, SlackURL: a.cfg.Slack.APIURL,
		Runbooks: a.cfg.Runbooks,
		Pages:    a.Triage, Triage: a.Triage, Attacks: t.poller.WithPager, Notifier: a.notifier, Calls: a.metrics.Pages,
		Log: a.log,
	})
}

// settleFor is how long a message of a dying replica can still arrive at Slack: as long as its lease, and its last
// request, last.
const settleFor = 14 * time.Second

// rebuildTimeout is how long a terminal waits for Slack and Redis. A running bot waits longer.
const rebuildTimeout = 2 * time.Minute

// rebuildFor rebuilds the state of the accounts that a line at the terminal may change, and says so to a person, who
// waits. If it fails, the line itself is refused with the reason.
func (a *app) rebuildFor(ctx context.Context, line record.Line, t terminal) {
	ctx, cancel := context.WithTimeout(ctx, rebuildTimeout)
	defer cancel()
	for _, account := range a.cfg.Accounts {
		if named := line.Keys["account"]; named != "" && named != account.Name || !a.posts(account.Name) {
			continue
		}
		if epoch, err := a.Ledger.Epoch(ctx, account.Name); err == nil && epoch == "" && t.asks {
			fmt.Fprintf(t.err, "wafbot: its store (Redis) is empty: rebuilding the state of %s from Slack\n", account.Name)
		}
		r, err := a.beginRebuild(ctx, account.Name)
		if err == nil && r != nil {
			err = r.Finish(ctx)
		}
		if err != nil {
			a.log.Error("rebuild the account's state", "account", account.Name, "err", err)
		}
	}
}

// beginRebuild begins an account's state when there is none; nil: there is nothing to finish.
func (a *app) beginRebuild(ctx context.Context, account string) (*rebuild.Rebuild, error) {
	t := a.tenants[account]
	return rebuild.Begin(ctx, rebuild.Config{
		Account: t.Account, Channels: t.Channels(), Settle: a.settle, Show: a.server.Rebuilding, Log: a.log,
		Back:  max(2*t.Lookback, t.Policy.LongestDuration) + time.Hour, // a change's message follows a little after it
		Slack: a.slack, Service: t.api, Ledger: a.Ledger, Clocks: a.clocks,
	})
}

// posts reports whether the account's changes are posted to Slack. A terminal can do without: then there is nothing to
// rebuild from, and what it saves is kept when a replica rebuilds.
func (a *app) posts(account string) bool {
	return a.cfg.Slack.BotToken != "" && a.tenants[account].Channel != ""
}
