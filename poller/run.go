package poller

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Run polls, and mirrors lists and rules, until ctx ends; then it returns nil. Failing polls become rarer, down to one
// a minute, or every four intervals if that is less, or every interval if that is more. It begins with what Memory holds:
// another replica may have polled since this one did.
func (p *Poller) Run(ctx context.Context) error {
	p.loaded = false
	var mirror sync.WaitGroup
	mirror.Go(func() { p.mirror(ctx) }) // apart, so that it never delays a poll
	defer mirror.Wait()
	p.loaded = false // who ran before may have lost the account, and Memory may have been emptied since
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
		}
	}
}

// pause is the time to the next poll. The jitter keeps the accounts of one process from polling in step.
func (p *Poller) pause(failures int) time.Duration {
	pause := p.cfg.Interval << min(max(failures-1, 0), 2)
	pause = min(pause, max(time.Minute, p.cfg.Interval))
	return time.Duration(float64(pause) * (0.9 + 0.2*rand.Float64()))
}
