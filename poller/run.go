package poller

import (
	"context"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
)

// Run polls, and mirrors lists and rules, until ctx ends; then it returns nil. Failing polls become rarer once the outage is
// an event, down to one a minute, or every four intervals if that is less, or every interval if that is more. It begins with what
// the store holds: another replica may have polled since this one did.
func (p *Poller) Run(ctx context.Context) error {
	if p.cfg.Starts != nil && p.cfg.Starts.Wait(ctx) != nil {
		return nil // ctx has ended
	}
	defer p.reset()
	var mirror sync.WaitGroup
	mirror.Go(func() { p.mirror.run(ctx) }) // apart, so that it never delays a poll
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
		case <-p.soon:
			pause.Stop()
		}
	}
}

// reset drops what is known of the account: another replica may poll it next, and change what the store holds.
func (p *Poller) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded, p.st = false, newState(p.cfg.OngoingFor)
	p.health.reset()
	p.mirror.reset()
}

// pause is the time to the next poll. Its jitter keeps the accounts of one process from polling in step.
func (p *Poller) pause(failures int) time.Duration {
	longest := min(4*p.cfg.Interval, max(time.Minute, p.cfg.Interval))
	return spread(delay.Backoff(max(failures-outageAfter-1, 0), p.cfg.Interval, longest))
}

// spread is a duration give or take a tenth.
func spread(d time.Duration) time.Duration { return delay.Jitter(d*9/10, d*11/10) }
