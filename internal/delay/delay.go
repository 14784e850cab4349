// Package delay holds how wafbot waits before it tries something again.
package delay

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d. It returns the context's error if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Backoff is the wait after a try, counted from 0, that failed: first, doubled with each further try, longest at most.
func Backoff(try int, first, longest time.Duration) time.Duration {
	d := first
	for range try {
		if d >= longest-d { // doubled it would be too long, or overflow
			return longest
		}
		d *= 2
	}
	return min(d, longest)
}

// Jitter is a random time from least to most: clients that failed together don't come back together.
func Jitter(least, most time.Duration) time.Duration {
	return least + rand.N(most-least+1)
}
