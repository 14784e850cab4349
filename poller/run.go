package poller

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
)

// Run polls, and mirrors lists and rules, until ctx ends; then it returns nil. Failing polls become rarer once that is
// news, down to one a minute, or every four intervals if that is less, or every interval if that is more. It begins with what
// Memory holds: another replica may have polled since this one did.
func (p *Poller) Run(ctx context.Context) error {
	if p.cfg.Starts != nil && p.cfg.Starts.Wait(ctx) != nil {
		return nil // ctx has ended
	}
	defer p.forget()
	var mirror sync.WaitGroup
	mirror.Go(func() { p.mirror(ctx) }) // apart, so that it never delays a poll
	defer mirror.Wait()
	failures := 0
	for {
		if err := p.Poll(ctx); err != nil {
			failures++
		} else {
			failures = 0
		}
		pause := time.NewTimer(p.pause(failures))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		case <-p.hurry:
			pause.Stop()
		}
	}
}

// Hurry has the next poll begin as soon as Run can, as when somebody asked for something that a poll does. It never blocks.
func (p *Poller) Hurry() {
	select {
	case p.hurry <- struct{}{}:
	default: // asked for already
	}
}

// forget drops what is known of the account: another replica may watch it next, and change what Memory holds.
func (p *Poller) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded, p.failures, p.reported, p.held = false, 0, nil, nil
	p.shown, p.latest, p.paces, p.paged, p.agenda, p.knocked = nil, map[string]*sighting{}, nil, nil, agenda{}, map[netip.Addr]time.Time{}
	p.storms, p.came = nil, arrivals{}
	p.health, p.settings = Health{}, Settings{}
}

// pause is the time to the next poll. Its jitter keeps the accounts of one process from polling in step.
func (p *Poller) pause(failures int) time.Duration {
	longest := min(4*p.cfg.Interval, max(time.Minute, p.cfg.Interval))
	return spread(delay.Backoff(max(failures-blindAfter-1, 0), p.cfg.Interval, longest))
}

// spread is a duration give or take a tenth.
func spread(d time.Duration) time.Duration { return delay.Jitter(d*9/10, d*11/10) }
