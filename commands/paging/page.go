package paging

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	pageAgain   = time.Minute      // the longest pause between two tries, unless the pager asks for a longer one
	pageEndFor  = 24 * time.Hour   // how long a page is tried to be resolved
	pageSave    = 2 * time.Second  // bounds saving the outcome of a call
	pageRefresh = 60 * time.Second // how often a pager that drops events by itself is sent them again
)

// call calls the pager, if its time has come.
func (p *Paging) call(ctx context.Context, c candidate) error {
	to, t, taken := p.Pagers[c.page.Route], p.triesOf(c.page), !c.page.TakenAt.IsZero()
	switch {
	case to == nil:
		return p.gone(ctx, c)
	case t.refused, time.Now().Before(t.next), taken && to.Lasts() == 0:
		return nil
	}
	err := p.send(ctx, to, c, t)
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // the replica that goes on with it sends it again
	case taken:
		return nil
	case err == nil:
		c.page.TakenAt, c.page.Fault = p.Clock.Now().UTC(), ""
	case (t.refused || t.failures > 1) && c.page.Fault != err.Error(): // one try may fail anywhere
		c.page.Fault = err.Error()
	default:
		return nil
	}
	return p.save(ctx, c.page)
}

// end resolves a page at its pager. A page that was refused for good isn't known there.
func (p *Paging) end(ctx context.Context, c candidate) error {
	to, t := p.Pagers[c.page.Route], p.triesOf(c.page)
	switch {
	case to == nil:
		return p.gone(ctx, c)
	case !t.refused && t.failures > 0 && time.Now().Before(t.next):
		return nil
	}
	if !t.refused {
		err := p.send(ctx, to, c, t)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !t.refused && p.Clock.Now().Sub(c.page.EndedAt) <= pageEndFor:
			return nil
		case err != nil:
			p.Log.ErrorContext(ctx, "the page was not resolved at the pager: resolve it there by hand", "attack", c.id,
				"why", err)
		}
	}
	c.page.State, c.page.Fault = record.PageEnded, ""
	return p.save(ctx, c.page)
}

// gone ends a page whose pager the configuration doesn't have any more.
func (p *Paging) gone(ctx context.Context, c candidate) error {
	p.Log.ErrorContext(ctx, "the pager of a route was called, and the route has none any more: resolve it there by hand",
		"route", c.page.Route, "attack", c.id)
	c.page.State = record.PageEnded
	return p.save(ctx, c.page)
}

// send sends a page and notes how it went. Its error is in words for people.
func (p *Paging) send(ctx context.Context, to Sender, c candidate, t *tries) error {
	e := p.message(c.page, c.shown, c.state.Triage)
	e.Until = p.Clock.Now()
	if !e.Resolve {
		e.Until = e.Until.Add(to.Lasts())
	}
	err := to.Send(ctx, e)
	failure := (*pager.Failure)(nil)
	switch {
	case err == nil:
		*t = tries{next: time.Now().Add(pageRefresh)}
		p.outcome(c.page.Route, taken, nil)
		return nil
	case !errors.As(err, &failure):
		return err
	}
	t.failures++
	t.refused = failure.Final
	t.next = time.Now().Add(max(delay.Backoff(t.failures-1, pageEvery, pageAgain), failure.RetryAfter))
	p.outcome(c.page.Route, map[bool]string{true: refused, false: failed}[failure.Final], err)
	return errors.New(failure.Text)
}

// outcome counts the outcome of a call, and logs when a pager begins to fail and when it works again.
func (p *Paging) outcome(route, outcome string, err error) {
	p.Calls.WithLabelValues(p.Account.Name, outcome).Inc()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch was := p.failing[route]; {
	case err != nil && !was:
		p.Log.Error("the pager can't be called", "route", route, "err", err)
	case err == nil && was:
		p.Log.Info("the pager can be called again", "route", route)
	}
	p.failing[route] = err != nil
}

// triesOf are this replica's tries of a page. One step at a time changes them.
func (p *Paging) triesOf(page record.Page) *tries {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tries[page.ID] == nil {
		p.tries[page.ID] = &tries{}
	}
	return p.tries[page.ID]
}

// save saves a page. That a route's pager can't be called becomes an event in the account's channel, once for all pages
// of the route.
func (p *Paging) save(ctx context.Context, page record.Page) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var events []record.Event
	if last := p.pages[page.Attack]; page.Test && last.State == record.PageEnding && page.State == record.PageCalling {
		page.State, page.EndedAt = last.State, last.EndedAt // it was acknowledged during the call
	}
	page.FaultNotified = page.FaultNotified && page.Fault != ""
	notified := func(other record.Page) bool { return other.Open() && other.Route == page.Route && other.FaultNotified }
	if page.Fault != "" && page.State == record.PageCalling &&
		!slices.ContainsFunc(slices.Collect(maps.Values(p.pages)), notified) {
		page.FaultNotified = true
		events = []record.Event{p.pagerUnreachable(page)}
	}
	ctx, cancel := context.WithTimeout(ctx, pageSave)
	defer cancel()
	if err := p.Pages.SavePage(ctx, p.Account.Name, page, events...); err != nil {
		return err
	}
	p.pages[page.Attack] = page
	if page.State == record.PageEnded {
		delete(p.tries, page.ID)
	}
	p.Notifier.Notify(p.Account.Name, events)
	p.Notifier.Stale(p.Account.Name)
	return nil
}

// pagerUnreachable is the event that a route's pager can't be called, for the account's channel. Its id is unique per
// page.
func (c Config) pagerUnreachable(page record.Page) record.Event {
	account := c.Account.Name
	return record.Event{
		ID: record.DeliveryID(account, page.ID, record.PagerUnreachable, 0), Account: account, Kind: record.PagerUnreachable,
		Channel: c.Account.Channel, At: c.Clock.Now().UTC(),
		Detail: record.PagerFault{Route: page.Route, Why: page.Fault},
	}
}

// Unacknowledged is all that decides whether an attack's pager is called.
type Unacknowledged struct {
	Attack     apiclient.Attack
	Quiet      bool
	Muted      bool
	NotifiedAt time.Time     // its card was posted, or was to be: an outage of Slack delays no page
	WorsenedAt time.Time     // it last became worse; zero: never
	Route      string        // whose pager it is; "": none is left
	After      time.Duration // the pager is called when the attack has been unacknowledged for so long
	Triage     record.Triage
}

// since is when the attack became unacknowledged; false if its pager isn't called as long as nothing changes.
func (u Unacknowledged) since() (time.Time, bool) {
	since := record.Later(u.NotifiedAt, u.Triage.UnackedAt)
	if v := u.Triage.Verdict; v != nil && (v.Is == "false_positive" || v.Is == "test") {
		if !u.WorsenedAt.After(v.At) {
			return time.Time{}, false
		}
		since = record.Later(since, u.WorsenedAt) // the verdict was about a milder attack
	}
	return since, u.Triage.Owner == nil && !u.Muted && !u.Attack.FalsePositive()
}

// PagesAt is when the pager is called if nothing changes, given the last page; false if it isn't called. The pager is
// called once for each time in which the attack is unacknowledged and not silenced, and for an attack that is over only
// if it is an incident. An attack that becomes an incident calls the incident's pager, even after another pager was
// called.
func (u Unacknowledged) PagesAt(last record.Page) (since, at time.Time, ok bool) {
	since, ok = u.since()
	since = record.Later(since, last.AgainAt)
	switch {
	case !ok, last.Open(), !since.After(last.Since) && !u.escalates(last), u.Quiet && !u.Attack.Incident():
		return time.Time{}, time.Time{}, false
	}
	return since, since.Add(u.After), true
}

// again is the last page, with when its attack needs a page again though no one acknowledged it: a mute or a verdict
// ended the call, and is gone now.
func (u Unacknowledged) again(last record.Page, now time.Time) record.Page {
	since, wanted := u.since()
	switch {
	case !wanted:
		last.AgainAt = time.Time{}
	case last.AgainAt.IsZero() && !last.EndedAt.IsZero() && !since.After(last.Since) && !u.escalates(last):
		last.AgainAt = now
	}
	return last
}

// escalates reports whether the attack has become an incident since, which has another pager.
func (u Unacknowledged) escalates(last record.Page) bool {
	return u.Attack.Incident() && !last.Incident && u.Route != "" && u.Route != last.Route
}

// over reports whether an open page is to be resolved: the attack was acknowledged meanwhile, or it needs no page any
// more.
func (u Unacknowledged) over(open record.Page) bool {
	since, wanted := u.since()
	return !wanted || since.After(open.Since)
}
