package paging

import (
	"context"
	"errors"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	pageAgain   = time.Minute      // the longest pause between two tries, unless the pager asks for a longer one
	pageEndFor  = 24 * time.Hour   // how long a page is tried to be resolved
	pageSave    = 2 * time.Second  // bounds saving the outcome of a call
	pageRefresh = 60 * time.Second // how often a pager that forgets events by itself is sent them again
)

// call calls the pager, if its time has come.
func (p *Paging) call(ctx context.Context, c candidate) error {
	to := p.cfg.Pagers[c.page.Route]
	t := p.triesOf(c.page)
	switch {
	case to == nil:
		return p.gone(ctx, c)
	case t.refused, time.Now().Before(t.next), !c.page.TakenAt.IsZero() && to.Lasts() == 0:
		return nil
	}
	err := p.send(ctx, to, c, &t)
	if ctx.Err() != nil {
		return ctx.Err() // the replica that goes on with it sends it again
	}
	p.setTries(c.page, t)
	before := c.page
	switch taken := !c.page.TakenAt.IsZero(); {
	case err == nil && !taken:
		c.page.TakenAt, c.page.Fault = time.Now().UTC(), ""
	case err != nil && !taken && (t.refused || t.failures > 1): // one try may fail anywhere
		c.page.Fault = err.Error()
	}
	if c.page == before {
		return nil
	}
	return p.save(ctx, c.page)
}

// end resolves a page at its pager. A page that was refused for good isn't known there.
func (p *Paging) end(ctx context.Context, c candidate) error {
	to := p.cfg.Pagers[c.page.Route]
	t := p.triesOf(c.page)
	switch {
	case to == nil:
		return p.gone(ctx, c)
	case time.Now().Before(t.next) && !t.refused && t.failures > 0:
		return nil
	}
	if !t.refused {
		err := p.send(ctx, to, c, &t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.setTries(c.page, t)
		if givenUp := time.Since(c.page.EndedAt) > pageEndFor; err != nil && !t.refused && !givenUp {
			return nil
		} else if err != nil {
			p.cfg.Log.Error("the page was not resolved at the pager: resolve it there by hand", "account", p.cfg.Account.Name, "attack", c.id, "why", err)
		}
	}
	c.page.State, c.page.Fault = record.PageEnded, ""
	return p.save(ctx, c.page)
}

// gone ends a page whose pager the configuration doesn't have any more.
func (p *Paging) gone(ctx context.Context, c candidate) error {
	p.cfg.Log.Error("the pager of a route was called, and the route has none any more: resolve it there by hand", "account", p.cfg.Account.Name,
		"route", c.page.Route, "attack", c.id)
	c.page.State = record.PageEnded
	return p.save(ctx, c.page)
}

// send sends a page and notes how it went. Its error is in words for people.
func (p *Paging) send(ctx context.Context, to Sender, c candidate, t *tries) error {
	e := p.cfg.message(c.page, c.shown, c.state.Triage)
	e.Until = time.Now().Add(to.Lasts())
	if e.Resolve {
		e.Until = time.Now()
	}
	err := to.Send(ctx, e)
	failure := (*pager.Failure)(nil)
	switch {
	case err == nil:
		*t = tries{next: time.Now().Add(pageRefresh)}
		p.outcome(c.page.Route, "taken", nil)
		return nil
	case !errors.As(err, &failure):
		return err
	}
	t.failures++
	t.refused = failure.Final
	t.next = time.Now().Add(max(delay.Backoff(t.failures-1, pageEvery, pageAgain), failure.RetryAfter))
	p.outcome(c.page.Route, map[bool]string{true: "refused", false: "failed"}[failure.Final], err)
	return errors.New(failure.Text)
}

// outcome counts the outcome of a call, and logs when a pager begins to fail and when it works again.
func (p *Paging) outcome(route, outcome string, err error) {
	p.cfg.Calls.WithLabelValues(p.cfg.Account.Name, outcome).Inc()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch was := p.failing[route]; {
	case err != nil && !was:
		p.cfg.Log.Error("the pager can't be called", "account", p.cfg.Account.Name, "route", route, "err", err)
	case err == nil && was:
		p.cfg.Log.Info("the pager can be called again", "account", p.cfg.Account.Name, "route", route)
	}
	p.failing[route] = err != nil
}

func (p *Paging) triesOf(page record.Page) tries {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tries[page.ID]
}

func (p *Paging) setTries(page record.Page, t tries) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries[page.ID] = t
}

// save saves a page. That a route's pager can't be called becomes an event in the account's channel, once for all pages of the route.
func (p *Paging) save(ctx context.Context, page record.Page) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var events []record.Event
	page.FaultNotified = page.FaultNotified && page.Fault != ""
	if page.Fault != "" && page.State == record.PageCalling && !p.notified(page.Route) {
		page.FaultNotified = true
		events = []record.Event{p.cfg.pagerUnreachable(page)}
	}
	ctx, cancel := context.WithTimeout(ctx, pageSave)
	defer cancel()
	if err := p.cfg.Pages.SavePage(ctx, p.cfg.Account.Name, page, events...); err != nil {
		return err
	}
	p.pages[page.Attack] = page
	if page.State == record.PageEnded {
		delete(p.tries, page.ID)
	}
	p.cfg.Notifier.Notify(p.cfg.Account.Name, events)
	p.cfg.Notifier.Stale(p.cfg.Account.Name)
	return nil
}

// notified reports whether the account's channel was notified that a route's pager can't be called.
func (p *Paging) notified(route string) bool {
	for _, page := range p.pages {
		if page.Open() && page.Route == route && page.FaultNotified {
			return true
		}
	}
	return false
}

// pagerUnreachable is the event that a route's pager can't be called, for the account's channel. Its id is unique per page.
func (c Config) pagerUnreachable(page record.Page) record.Event {
	account := c.Account.Name
	return record.Event{
		ID: record.DeliveryID(account, page.ID, record.PagerUnreachable, 0), Account: account, Kind: record.PagerUnreachable, Channel: c.Channel, At: time.Now().UTC(),
		Payload: record.PagerFault{Route: page.Route, Why: page.Fault},
	}
}
