// Package poller reads the attacks of one account, compares them with what is stored, and has people notified of each
// event once. One reading of the service is a snapshot; decide, a pure function of snapshot and state, makes an update
// of it; Poll reads, saves and wakes.
package poller

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// Poller polls one account. Poll and Run must not run at the same time; all else may.
type Poller struct {
	cfg   Config
	asks  chan struct{} // for a reading of lists and rules
	first chan struct{} // closed once Run has tried a poll

	loaded   bool      // st is what the store holds. It and the next four are Poll's alone
	failures int       // of the service, in this outage
	causes   []string  // of this outage, in words for people
	failing  time.Time // since when polls fail, on this machine's monotonic clock
	foreign  int64     // records of other clients that are logged
	alarmed  int64     // the day on which people were notified of some

	mu       sync.Mutex // held while the fields below are written, and where another goroutine than Poll's reads them
	st       *state
	health   record.PollHealth
	settings record.Settings
}

// New makes a poller, which does nothing yet.
func New(cfg Config) *Poller {
	cfg.Limits = cmp.Or(cfg.Limits, defaultLimits())
	cfg.Log = cmp.Or(cfg.Log, slog.Default()).With("account", cfg.Account.Name)
	if cfg.Clock == nil {
		cfg.Clock = clock.New().Service(cfg.Account.Name)
	}
	cfg.routes = cfg.Account.InForce()
	return &Poller{cfg: cfg, asks: make(chan struct{}, 1), first: make(chan struct{}),
		st: newState(cfg.Account.OngoingFor)}
}

// Run polls, and mirrors lists and rules, until ctx ends; then it returns nil. Failing polls become rarer once the
// outage is an event, down to one a minute, or every four intervals if that is less, or every interval if that is more.
// It begins with what the store holds: another replica may have polled since this one did.
func (p *Poller) Run(ctx context.Context) error {
	defer p.reset()
	var beside sync.WaitGroup // so that neither delays a poll
	beside.Go(func() {
		delay.RunAgain(ctx, p.cfg.Log, "lists and rules", func() { p.mirror(ctx) })
	})
	defer beside.Wait()
	failures := 0
	for first := true; ; first = false {
		if failures++; p.Poll(ctx) == nil {
			failures = 0
		}
		if first {
			close(p.first)
		}
		if delay.Sleep(ctx, p.pause(failures)) != nil {
			return nil
		}
	}
}

// Tried is closed once Run has tried its first poll.
func (p *Poller) Tried() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first
}

// reset drops what is known of the account: another replica may poll it next, and change what the store holds.
func (p *Poller) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded, p.st, p.health, p.settings, p.failures, p.causes = false, newState(p.cfg.Account.OngoingFor),
		record.PollHealth{},
		record.Settings{}, 0, nil
	p.first = make(chan struct{})
}

// pause is the time to the next poll. Its jitter keeps the accounts of one process from polling in step.
func (p *Poller) pause(failures int) time.Duration {
	longest := min(4*p.cfg.Account.PollInterval, max(time.Minute, p.cfg.Account.PollInterval))
	return spread(delay.Backoff(max(failures-outageAfter-1, 0), p.cfg.Account.PollInterval, longest))
}

// WithPager returns the attacks that have a pager, as the store holds them. ok is false as long as they aren't known.
func (p *Poller) WithPager() (all []record.AttackState, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.st.withPager {
		all = append(all, p.st.attacks.of(id))
	}
	return all, p.st.withPager != nil
}

// StillTrying reports whether one of these denied addresses is still trying, as far as the service says.
func (p *Poller) StillTrying(addresses []netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.cfg.Clock.Now()
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool { return p.st.stillTrying(a, now, nil) })
}

// GoesOn reports whether an attack goes on whose id is meant: it was hit lately, or a source of it is still trying. A
// storm goes on when one of the attacks that it groups does.
func (p *Poller) GoesOn(meant func(attackid string) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.st.goesOn(meant, p.cfg.Clock.Now())
}

// Health returns how polling goes.
func (p *Poller) Health() record.PollHealth {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.health
	h.Capped, h.TooLong, h.Attacks = p.st.cap.Says(), p.st.cap.TooLong, len(p.st.records)
	return h
}

// Settings returns what is in force at the service, which must not be changed.
func (p *Poller) Settings() record.Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// RefreshSettings has the settings read again as soon as Run can, as after a change. It never blocks.
func (p *Poller) RefreshSettings() {
	select {
	case p.asks <- struct{}{}:
	default: // it is asked for already
	}
}
