// Package paging decides when an attack's pager is called, what it is sent, and when a page is resolved.
package paging

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	pageEvery   = time.Second // how often due and finished pages are looked for
	pagesAtOnce = 8           // how many calls of a pager are under way at a time
)

// Outcomes of calls.
const (
	taken   = "taken"
	failed  = "failed" // and tried again
	refused = "refused"
)

// Pages are the account's pages in the store. An interface because its tests play hours on one clock, which a
// connection to Redis would hold still; so is Triage.
type Pages interface {
	Pages(ctx context.Context, account string) (map[string]record.Page, error)
	// SavePage saves a page together with events.
	SavePage(ctx context.Context, account string, page record.Page, events ...record.Event) error
	DropPage(ctx context.Context, account, attack string) error
}

// Triage is what people did with attacks.
type Triage interface {
	TriageOf(ctx context.Context, account, attack string) (record.Triage, error)
	AllTriage(ctx context.Context, account string) (map[string]record.Triage, error)
	Mutes(ctx context.Context, account string) ([]record.Mute, error)
}

// Notifier learns of stored events and of stale cards. An interface because the real one is above this package.
type Notifier interface {
	Notify(account string, events []record.Event)
	Stale(account string)
}

// Sender sends to one pager. An interface because its tests play hours on one clock, which a call over the wire would
// hold still.
type Sender interface {
	Send(ctx context.Context, e pager.Event) error
	// Lasts is how long the pager keeps an event: until then it has to be sent again. 0: for good.
	Lasts() time.Duration
}

// Clock tells the time. An interface because the real one is the connection's, and its tests play hours on another.
type Clock interface {
	Now() time.Time
}

// Config is what an account's Paging works with.
type Config struct {
	Account  *config.Account
	Clock    Clock             // of its service
	Pagers   map[string]Sender // by the route's match
	SlackURL string            // of the Web API: the links' workspace is beside it
	Runbooks map[string]string // by attack type; "*": any
	Pages    Pages
	Triage   Triage
	Attacks  func() (all []record.AttackState, ok bool) // that have a pager; ok is false as long as they aren't known
	Notifier Notifier
	Calls    *prometheus.CounterVec // by account and outcome: taken, failed (and tried again), refused
	Log      *slog.Logger
}

// Paging calls an account's pagers. The replica that owns the account has the only one.
type Paging struct {
	Config

	mu      sync.Mutex
	pages   map[string]record.Page // by attack, as the store has them
	tries   map[string]*tries      // by page
	failing map[string]bool        // routes whose pager can't be called, which is logged once
	under   map[string]string      // attacks that are taken a step on, by id, and the route whose pager that is about
	unsaved map[string]bool        // routes some of whose pages can't be saved, which is logged once

	rounds sync.WaitGroup
}

// New makes a Paging. Nothing is sent yet.
func New(cfg Config) *Paging {
	cfg.Log = cfg.Log.With("account", cfg.Account.Name)
	if len(cfg.Pagers) > 0 {
		for _, outcome := range []string{taken, failed, refused} {
			cfg.Calls.WithLabelValues(cfg.Account.Name, outcome) // 0 from the start on: the first failure is an increase
		}
	}
	return &Paging{Config: cfg, tries: map[string]*tries{}, failing: map[string]bool{}, under: map[string]string{},
		unsaved: map[string]bool{}}
}

// tries are this replica's of one page.
type tries struct {
	next     time.Time // not before
	failures int
	refused  bool // for good. A restart tries again: the configuration may have been fixed
}

// candidate is an attack that may need a page, with its last page.
type candidate struct {
	id    string
	shown record.AttackState // zero of one that is no longer stored
	page  record.Page
	state Unacknowledged
}

// Run calls the account's pagers until more ends. Calls under way by then are finished, unless held ends.
func (p *Paging) Run(held, more context.Context) {
	every := time.NewTicker(pageEvery)
	defer every.Stop()
	defer p.rounds.Wait()
	for logged := false; ; {
		if err := p.round(held); err != nil && held.Err() == nil && !logged {
			p.Log.ErrorContext(held, "find due pages", "err", err)
			logged = true
		} else if err == nil {
			logged = false
			if len(p.Pagers) == 0 && len(p.stored()) == 0 {
				return // the account has no pager, and no page to resolve
			}
		}
		select {
		case <-more.Done():
			return
		case <-every.C:
		}
	}
}

// round has the pagers of due pages called, and pages resolved that are over.
func (p *Paging) round(ctx context.Context) (err error) {
	if err := p.load(ctx); err != nil {
		return err
	}
	attacks, known := p.Attacks()
	if !known {
		return nil
	}
	todo := p.todo(attacks)
	if len(todo) == 0 {
		return nil
	}
	triages, err := p.Triage.AllTriage(ctx, p.Account.Name)
	if err != nil {
		return err
	}
	mutes, err := p.Triage.Mutes(ctx, p.Account.Name)
	if err != nil {
		return err
	}
	for i, c := range todo {
		_, muted := policy.Muted(mutes, c.shown.Attack, p.Clock.Now())
		todo[i].state = p.unacknowledged(c.shown, triages[c.id], muted)
	}
	for route, all := range p.free(todo) {
		p.rounds.Go(func() { p.roundOf(ctx, route, all) })
	}
	return nil
}

// load reads the account's pages once.
func (p *Paging) load(ctx context.Context) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pages == nil {
		p.pages, err = p.Pages.Pages(ctx, p.Account.Name)
	}
	return err
}

// Test has the pager of a test card called once, or that call resolved.
func (p *Paging) Test(ctx context.Context, page record.Page) error {
	if err := p.load(ctx); err != nil {
		return err
	}
	switch last := p.stored()[page.Attack]; {
	case page.State == record.PageCalling && last.ID != "", page.State == record.PageEnding &&
		last.State != record.PageCalling:
		return nil
	}
	return p.save(ctx, page)
}

// free are the attacks that a step is begun for, with their pages by now, by the route whose pager that is about. A
// pager whose last round goes on begins no other, and holds up no other pager.
func (p *Paging) free(todo []candidate) map[string][]candidate {
	p.mu.Lock()
	defer p.mu.Unlock()
	busy := slices.Collect(maps.Values(p.under))
	byRoute := map[string][]candidate{}
	for _, c := range todo {
		c.page = p.pages[c.id]
		route := c.page.Route
		if !c.page.Open() {
			route = c.state.Route
		}
		if _, goesOn := p.under[c.id]; !goesOn && !slices.Contains(busy, route) {
			p.under[c.id] = route
			byRoute[route] = append(byRoute[route], c)
		}
	}
	return byRoute
}

// roundOf takes the attacks of one pager one step on each.
func (p *Paging) roundOf(ctx context.Context, route string, all []candidate) {
	var g errgroup.Group
	g.SetLimit(pagesAtOnce)
	for _, c := range all {
		g.Go(func() error {
			defer p.release(c.id)
			return delay.Try(p.Log, "a page", func() error { return p.step(ctx, c) })
		})
	}
	err := g.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && ctx.Err() == nil && !p.unsaved[route] {
		p.Log.ErrorContext(ctx, "save pages", "route", route, "err", err)
	}
	p.unsaved[route] = err != nil
}

func (p *Paging) release(attack string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.under, attack)
}

// stored is a copy of the account's pages.
func (p *Paging) stored() map[string]record.Page {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.pages)
}

func (p *Paging) unacknowledged(s record.AttackState, triage record.Triage, muted bool) Unacknowledged {
	u := Unacknowledged{Attack: s.Attack, Quiet: s.Quiet, Muted: muted, Triage: triage}
	if s.Pager != nil {
		u.NotifiedAt, u.WorsenedAt, u.After = s.Pager.NotifiedAt, s.Pager.WorsenedAt, s.Pager.After
		u.Route, _ = p.route(s)
	}
	return u
}

// todo are the attacks that have a pager: whether it is due also their triage says. Open pages of attacks that have
// none any more are resolved, and pages of attacks no longer stored are dropped when they have ended.
func (p *Paging) todo(attacks []record.AttackState) (todo []candidate) {
	open := p.stored()
	for _, s := range attacks {
		id := record.AttackID(p.Account.Name, s.Attack.ID)
		todo = append(todo, candidate{id: id, shown: s})
		delete(open, id)
	}
	for id := range open {
		todo = append(todo, candidate{id: id})
	}
	return todo
}

// step takes an attack one step on.
func (p *Paging) step(ctx context.Context, c candidate) error {
	unknown := c.shown.Pager == nil
	switch {
	case unknown && !c.page.Open():
		return p.drop(ctx, c.id)
	case c.page.Open() && !unknown && c.state.escalates(c.page):
		*p.triesOf(c.page) = tries{}
		return p.resolve(ctx, c, time.Time{}) // by one try: the incident's own pager waits
	case c.page.State == record.PageCalling && c.page.Test && p.Clock.Now().Sub(c.page.Since) < record.DrillFor:
		return p.call(ctx, c)
	case c.page.State == record.PageCalling && (unknown || c.state.over(c.page)):
		return p.resolve(ctx, c, p.Clock.Now().UTC())
	case c.page.State == record.PageEnding:
		return p.end(ctx, c)
	case c.page.State == record.PageCalling:
		return p.call(ctx, c)
	}
	if again := c.state.again(c.page, p.Clock.Now().UTC()); again != c.page {
		return p.save(ctx, again) // first: each replica counts from then
	}
	return p.begin(ctx, c)
}

// resolve has a page end: its pager is tried for as long as pageEndFor after that time, and at least once.
func (p *Paging) resolve(ctx context.Context, c candidate, ended time.Time) error {
	c.page.State, c.page.EndedAt = record.PageEnding, ended
	if err := p.save(ctx, c.page); err != nil {
		return err
	}
	return p.end(ctx, c)
}

// begin calls the pager of an attack that has been unacknowledged for long enough. It saves the page first: another
// replica that goes on with it uses the same id, by which the pager recognises repetitions.
func (p *Paging) begin(ctx context.Context, c candidate) error {
	since, at, ok := c.state.PagesAt(c.page)
	now := p.Clock.Now().UTC()
	if !ok || now.Before(at) {
		return nil
	}
	route, ok := p.route(c.shown)
	if !ok {
		return nil
	}
	c.page = record.Page{ // its id is the same for all that is sent about one time, since then, in which the attack is unacknowledged
		ID: record.DeliveryID(p.Account.Name, c.shown.Attack.ID, "page", int(since.UnixMilli())), Attack: c.id, Route: route,
		Since: since, Severity: string(record.Worst(c.shown.Severity, record.SeverityOf(c.shown.Attack))),
		Incident: c.shown.Attack.Incident(), State: record.PageCalling,
	}
	if err := p.save(ctx, c.page); err != nil {
		return err
	}
	triage, err := p.Triage.TriageOf(ctx, p.Account.Name, c.id) // it may have been acknowledged just now
	if err != nil {
		return err
	}
	if c.state.Triage = triage; c.state.over(c.page) {
		c.page.State, c.page.EndedAt = record.PageEnded, now
		return p.save(ctx, c.page)
	}
	return p.call(ctx, c)
}

// route is the route whose pager is called for an attack: the one that was chosen at its first card; if the
// configuration has no pager for it any more, the one that takes the attack now.
func (p *Paging) route(s record.AttackState) (string, bool) {
	if p.Pagers[s.Pager.Route] != nil {
		return s.Pager.Route, true
	}
	for _, t := range p.Account.Tried(s.Attack) {
		if route := p.Account.MatchText(t.Route.Match); t.Mismatch == "" && p.Pagers[route] != nil {
			return route, true
		}
	}
	return "", false
}

func (p *Paging) drop(ctx context.Context, attack string) error {
	if err := p.Pages.DropPage(ctx, p.Account.Name, attack); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pages, attack)
	return nil
}
