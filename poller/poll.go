package poller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// rememberEvery is how often Memory hears of polls without news. After a restart the time since is read once more,
// which harms nothing.
const rememberEvery = 30 * time.Second

// memoryError tells errors of Memory from those of the service.
type memoryError struct{ err error }

func (e *memoryError) Error() string { return e.err.Error() }
func (e *memoryError) Unwrap() error { return e.err }

// Poll reads the service once, remembers what is news and wakes the teller for it. Its errors are those of the service
// (*apiclient.Error) and of Memory. When the service breaks off, what it gave before is judged all the same; when
// Memory does, nothing is told and the next poll begins with loading it anew: who knows what it has kept.
func (p *Poller) Poll(ctx context.Context) error {
	begin := time.Now()
	err := p.poll(ctx)
	if ctx.Err() == nil {
		p.note(err, begin)
		p.tellBlind(ctx, err)
	}
	return err
}

func (p *Poller) poll(ctx context.Context) error {
	if err := p.load(ctx); err != nil {
		return &memoryError{fmt.Errorf("load state: %w", err)}
	}
	r, readErr := p.read(ctx)
	if broken := (*memoryError)(nil); errors.As(readErr, &broken) {
		return broken
	}
	if readErr != nil && (ctx.Err() != nil || len(r.attacks) == 0 || p.lastGood.IsZero()) {
		return readErr // a first start is told as a whole
	}
	u := p.decide(ctx, r)
	p.bridge(&u, r, readErr == nil)
	if err := p.witness(ctx, &u, r); err != nil {
		p.loaded = false
		return &memoryError{fmt.Errorf("load evidence: %w", err)}
	}
	if readErr == nil {
		u.LastGood = r.at
	}
	if r.ended {
		u.Forget = p.forgettable(r, u)
	}
	u.Seen = p.count(r)
	relisted := p.redrawRelisted(&u)
	if err := p.settle(ctx, r, u, readErr == nil); err != nil {
		return err
	}
	p.forgetRelisted(relisted)
	if readErr == nil {
		p.observe(ctx, r)
	}
	return readErr
}

// settle remembers an update, takes it over, and wakes the teller for its news.
func (p *Poller) settle(ctx context.Context, r reading, u Update, good bool) error {
	if err := p.remember(ctx, u); err != nil {
		p.loaded = false
		return &memoryError{fmt.Errorf("remember state: %w", err)}
	}
	p.commit(r, u, good)
	if len(u.Events) > 0 {
		p.cfg.Notifier.Notify(p.cfg.Account, u.Events)
	}
	return nil
}

// tellFirst tells the news of a poll's first page before the others are read: they may be many, and somebody waits.
// A first start is told as a whole.
func (p *Poller) tellFirst(ctx context.Context, r reading) error {
	if p.lastGood.IsZero() {
		return nil
	}
	u := p.decide(ctx, r)
	if p.bridge(&u, r, false); len(u.Events) == 0 {
		return nil
	}
	if err := p.witness(ctx, &u, r); err != nil {
		p.loaded = false
		return &memoryError{fmt.Errorf("load evidence: %w", err)}
	}
	return p.settle(ctx, r, u, false)
}

// load makes Memory's state the poller's own, unless it is already. Everything is read again then.
func (p *Poller) load(ctx context.Context) error {
	if p.loaded {
		return nil
	}
	m, err := p.cfg.Memory.Load(ctx, p.cfg.Account)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = maps.Clone(m.Shown)
	if p.shown == nil {
		p.shown = map[string]record.AttackState{}
	}
	p.latest = make(map[string]*sighting, len(p.shown))
	for id, s := range p.shown {
		if s.Storm == nil {
			p.latest[id] = &sighting{s.Attack, s.SeenAt, true}
		}
	}
	p.loadStorms()
	p.unobserved = unobserved{before: map[string]*apiclient.Attack{}}
	p.began, p.paces = m.Began, map[string]pace{}
	p.agenda, p.paged = agenda{}, map[string]bool{}
	for id := range p.shown {
		p.plan(id)
	}
	p.seen, p.uncounted, p.counted = nil, true, time.Time{}
	p.lastGood, p.remembered, p.blind, p.sweep, p.loaded = m.LastGood, m.LastGood, m.Blind, time.Time{}, true
	return nil
}

func (p *Poller) remember(ctx context.Context, u Update) error {
	nothing := len(u.Shown)+len(u.Forget)+len(u.Events)+len(u.Evidence)+len(u.Outdated) == 0 && u.Blind == nil && u.Seen == nil
	if nothing && u.LastGood.Sub(p.remembered).Abs() < rememberEvery {
		return nil
	}
	if err := p.cfg.Memory.Remember(ctx, p.cfg.Account, u); err != nil {
		return err
	}
	p.remembered = u.LastGood
	if u.Blind != nil {
		p.blind = *u.Blind
	}
	return nil
}

// commit takes over what has been remembered.
func (p *Poller) commit(r reading, u Update, good bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, a := range r.attacks {
		p.latest[id] = &sighting{attack: a, at: r.at}
	}
	p.keepStorms(u)
	maps.Copy(p.shown, u.Shown)
	for id := range r.attacks {
		p.plan(id)
	}
	for id := range u.Shown {
		p.plan(id)
	}
	for _, id := range u.Forget {
		delete(p.latest, id)
		delete(p.shown, id)
		delete(p.paged, id)
		p.agenda.drop(id)
	}
	if u.Seen != nil {
		p.seen = u.Seen
	}
	p.keepPaces(u)
	p.held = u.held
	p.lastGood, p.skew = u.LastGood, r.at.Sub(r.begin)
	if r.ended {
		p.sweep, p.listed = r.begin.Add(spread(sweepEvery)), r.begin
		maps.DeleteFunc(p.knocked, func(_ netip.Addr, last time.Time) bool { return r.at.Sub(last) >= p.cfg.OngoingFor })
	}
	if r.listed {
		p.listed = r.begin
	}
	if good {
		p.health.LastGood = time.Now()
	}
}
