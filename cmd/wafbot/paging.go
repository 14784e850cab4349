package main

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

const (
	pageEvery   = time.Second // how often it is looked whether somebody has to be called, or need not be any more
	pagesAtOnce = 8           // how many calls are under way at a time
)

// paging calls an account's pagers, as the one replica that tends the account.
type paging struct {
	app     *app
	account config.Account
	pagers  map[string]*pager.Pager // by the route's match

	mu      sync.Mutex
	pages   map[string]record.Page // by attack, as Redis has them
	tries   map[string]tries       // by page
	failing map[string]bool        // routes whose pager can't be called, which is logged once
}

// tries are this replica's of one page.
type tries struct {
	next     time.Time // not before
	failures int
	refused  bool // for good. A restart tries again: the configuration may have been mended
}

// waiting is an attack that a pager may have to be called for, with its last page.
type waiting struct {
	id    string
	shown record.AttackState // zero of one that is forgotten
	page  record.Page
	state commands.Unclaimed
}

// page calls the account's pagers until more ends. What was told by then is finished, unless held ends.
func (a *app) page(held, more context.Context, account string) {
	p := &paging{app: a, account: a.configured(account), pagers: a.pagers[account], tries: map[string]tries{}, failing: map[string]bool{}}
	every := time.NewTicker(pageEvery)
	defer every.Stop()
	for said := false; ; {
		if err := p.look(held); err != nil && held.Err() == nil && !said {
			a.log.Error("look whom to call", "account", account, "err", err)
			said = true
		} else if err == nil {
			said = false
			if len(p.pagers)+len(p.pages) == 0 {
				return // there is nobody to call, and nothing to end
			}
		}
		select {
		case <-more.Done():
			return
		case <-every.C:
		}
	}
}

// look calls whom to call, and ends what is over.
func (p *paging) look(ctx context.Context) (err error) {
	if p.pages == nil {
		if p.pages, err = p.app.store.Pages.Pages(ctx, p.account.Name); err != nil {
			return err
		}
	}
	attacks, known := p.app.pollers[p.account.Name].WithPager()
	if !known {
		return nil
	}
	todo := p.todo(attacks, time.Now())
	if len(todo) == 0 {
		return nil
	}
	cases, err := p.app.store.Triage.AllTriage(ctx, p.account.Name)
	if err != nil {
		return err
	}
	mutes, err := p.app.store.Triage.Mutes(ctx, p.account.Name)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(pagesAtOnce)
	for _, w := range todo {
		_, muted := describe.Muted(mutes, w.shown.Attack, time.Now())
		w.state = p.unclaimed(w.shown, cases[w.id], muted)
		g.Go(func() error { return p.step(ctx, w) })
	}
	return g.Wait()
}

func (p *paging) unclaimed(s record.AttackState, said record.Triage, muted bool) commands.Unclaimed {
	u := commands.Unclaimed{Attack: s.Attack, Quiet: s.Quiet, Muted: muted, Case: said}
	if s.Pager != nil {
		u.Told, u.Worse, u.After = s.Pager.NotifiedAt, s.Pager.WorsenedAt, s.Pager.After
		u.Route, _ = p.route(s)
	}
	return u
}

// todo are the attacks whose time may have come, whatever was said about them, and those whose page is open. Pages of attacks that are
// forgotten are forgotten when they are over.
func (p *paging) todo(attacks []record.AttackState, now time.Time) (todo []waiting) {
	open := maps.Clone(p.pages)
	for _, s := range attacks {
		id := record.AttackID(p.account.Name, s.Attack.ID)
		page := p.pages[id]
		delete(open, id)
		if page.Open() || !now.Before(s.Pager.NotifiedAt.Add(s.Pager.After)) {
			todo = append(todo, waiting{id: id, shown: s, page: page})
		}
	}
	for id, page := range open {
		todo = append(todo, waiting{id: id, page: page})
	}
	return todo
}

// step takes an attack one step on.
func (p *paging) step(ctx context.Context, w waiting) error {
	forgotten := w.shown.Pager == nil
	switch {
	case forgotten && !w.page.Open():
		return p.drop(ctx, w.id)
	case w.page.Open() && !forgotten && w.state.Escalates(w.page):
		w.page.State, w.page.EndedAt = record.PageEnding, time.Time{} // it is told once: the incident's own pager waits
		if err := p.save(ctx, w.page); err != nil {
			return err
		}
		p.setTries(w.page, tries{})
		return p.end(ctx, w)
	case w.page.State == record.PageCalling && (forgotten || w.state.Over(w.page)):
		w.page.State, w.page.EndedAt = record.PageEnding, time.Now().UTC()
		if err := p.save(ctx, w.page); err != nil {
			return err
		}
		return p.end(ctx, w)
	case w.page.State == record.PageEnding:
		return p.end(ctx, w)
	case w.page.State == record.PageCalling:
		return p.call(ctx, w)
	}
	return p.begin(ctx, w)
}

// begin calls the pager of an attack that nobody has been on for long enough. That is written down first: another replica that goes on with it
// uses the same id, by which the pager knows repetitions.
func (p *paging) begin(ctx context.Context, w waiting) error {
	since, at, ok := w.state.PagesAt(w.page)
	now := time.Now().UTC()
	if !ok || now.Before(at) {
		return nil
	}
	route, ok := p.route(w.shown)
	if !ok {
		return nil
	}
	w.page = record.Page{
		ID: poller.PageDelivery(p.account.Name, w.shown.Attack.ID, since), Attack: w.id, Route: route, Since: since, Severity: severity(w.shown),
		Incident: w.shown.Attack.Incident(), State: record.PageCalling,
	}
	if err := p.save(ctx, w.page); err != nil {
		return err
	}
	said, err := p.app.store.Triage.TriageOf(ctx, p.account.Name, w.id) // somebody may have claimed it just now
	if err != nil {
		return err
	}
	if w.state.Case = said; w.state.Over(w.page) {
		w.page.State, w.page.EndedAt = record.PageEnded, now
		return p.save(ctx, w.page)
	}
	return p.call(ctx, w)
}

// route is the route whose pager is called for an attack: the one that was chosen when it was told; where the configuration has it no more, the
// one that takes the attack now.
func (p *paging) route(s record.AttackState) (string, bool) {
	if p.pagers[s.Pager.Route] != nil {
		return s.Pager.Route, true
	}
	for _, t := range poller.Explain(p.account.PollerRoutes(), s.Attack) {
		if route := t.Route.Match.String(); t.Mismatch == "" && p.pagers[route] != nil {
			return route, true
		}
	}
	return "", false
}

func (p *paging) drop(ctx context.Context, attack string) error {
	if err := p.app.store.Pages.DropPage(ctx, p.account.Name, attack); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pages, attack)
	return nil
}
