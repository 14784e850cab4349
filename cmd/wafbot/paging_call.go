package main

import (
	"context"
	"errors"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

const (
	pageAgain   = time.Minute      // the longest pause between two tries, unless the pager asks for a longer one
	pageEndFor  = 24 * time.Hour   // how long it is tried to tell a pager that a call is over
	pageSave    = 2 * time.Second  // bounds writing down what came of a call
	pageRefresh = 60 * time.Second // how often a pager that forgets calls by itself is reminded
)

// call tells the pager, if it is time to.
func (p *paging) call(ctx context.Context, w waiting) error {
	to := p.pagers[w.page.Route]
	t := p.triesOf(w.page)
	switch {
	case to == nil:
		return p.gone(ctx, w)
	case t.refused, time.Now().Before(t.next), !w.page.TakenAt.IsZero() && to.Lasts() == 0:
		return nil
	}
	err := p.send(ctx, to, w, &t)
	if ctx.Err() != nil {
		return ctx.Err() // whoever goes on with it tells it again
	}
	p.setTries(w.page, t)
	before := w.page
	switch taken := !w.page.TakenAt.IsZero(); {
	case err == nil && !taken:
		w.page.TakenAt, w.page.Fault = time.Now().UTC(), ""
	case err != nil && !taken && (t.refused || t.failures > 1): // one try may fail anywhere
		w.page.Fault = err.Error()
	}
	if w.page == before {
		return nil
	}
	return p.save(ctx, w.page)
}

// end tells the pager that a call is over. One that was refused for good isn't known there.
func (p *paging) end(ctx context.Context, w waiting) error {
	to := p.pagers[w.page.Route]
	t := p.triesOf(w.page)
	switch {
	case to == nil:
		return p.gone(ctx, w)
	case time.Now().Before(t.next) && !t.refused && t.failures > 0:
		return nil
	}
	if !t.refused {
		err := p.send(ctx, to, w, &t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.setTries(w.page, t)
		if givenUp := time.Since(w.page.EndedAt) > pageEndFor; err != nil && !t.refused && !givenUp {
			return nil
		} else if err != nil {
			p.app.log.Error("the pager was not told that a call is over: end it there by hand", "account", p.account.Name, "attack", w.id, "why", err)
		}
	}
	w.page.State, w.page.Fault = record.PageEnded, ""
	return p.save(ctx, w.page)
}

// gone ends a page whose pager the configuration has no more.
func (p *paging) gone(ctx context.Context, w waiting) error {
	p.app.log.Error("the pager of a route was called, and the route has none any more: end it there by hand", "account", p.account.Name,
		"route", w.page.Route, "attack", w.id)
	w.page.State = record.PageEnded
	return p.save(ctx, w.page)
}

// send sends an event and notes how it went. Its error is in words for people.
func (p *paging) send(ctx context.Context, to *pager.Pager, w waiting, t *tries) error {
	e := p.app.pageEvent(p.account, w.page, w.shown, w.state.Case)
	e.Until = time.Now().Add(to.Lasts())
	if e.Resolve {
		e.Until = time.Now()
	}
	err := to.Send(ctx, e)
	failure := (*pager.Failure)(nil)
	switch {
	case err == nil:
		*t = tries{next: time.Now().Add(pageRefresh)}
		p.outcome(w.page.Route, "taken", nil)
		return nil
	case !errors.As(err, &failure):
		return err
	}
	t.failures++
	t.refused = failure.Final
	t.next = time.Now().Add(max(delay.Backoff(t.failures-1, pageEvery, pageAgain), failure.RetryAfter))
	p.outcome(w.page.Route, map[bool]string{true: "refused", false: "failed"}[failure.Final], err)
	return errors.New(failure.Text)
}

// outcome counts what came of a call, and logs when a pager begins to fail and when it is back.
func (p *paging) outcome(route, outcome string, err error) {
	p.app.calls.WithLabelValues(p.account.Name, outcome).Inc()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch was := p.failing[route]; {
	case err != nil && !was:
		p.app.log.Error("the pager can't be called", "account", p.account.Name, "route", route, "err", err)
	case err == nil && was:
		p.app.log.Info("the pager can be called again", "account", p.account.Name, "route", route)
	}
	p.failing[route] = err != nil
}

func (p *paging) triesOf(page record.Page) tries {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tries[page.ID]
}

func (p *paging) setTries(page record.Page, t tries) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries[page.ID] = t
}

// save writes a page down. That a pager can't be called is said in the account's channel, once for all who wait for it.
func (p *paging) save(ctx context.Context, page record.Page) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var news []record.Event
	page.FaultNotified = page.FaultNotified && page.Fault != ""
	if page.Fault != "" && page.State == record.PageCalling && !p.said(page.Route) {
		page.FaultNotified = true
		news = []record.Event{poller.NewPagerAway(p.account.Name, p.account.Channel, page.ID, page.Route, page.Fault)}
	}
	ctx, cancel := context.WithTimeout(ctx, pageSave)
	defer cancel()
	if err := p.app.store.Pages.SavePage(ctx, p.account.Name, page, news...); err != nil {
		return err
	}
	p.pages[page.Attack] = page
	if page.State == record.PageEnded {
		delete(p.tries, page.ID)
	}
	p.app.bot.Wake(p.account.Name, news)
	p.app.bot.Outdated(p.account.Name)
	return nil
}

// said reports whether people were told that a route's pager can't be called.
func (p *paging) said(route string) bool {
	for _, page := range p.pages {
		if page.Open() && page.Route == route && page.FaultNotified {
			return true
		}
	}
	return false
}
