package apiclient

import (
	"context"
	"errors"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
)

const (
	longestPause  = 30              // first pauses
	lockedPause   = 5               // first pauses: locks last for seconds to minutes
	maxRetryAfter = 2 * time.Minute // beyond it the call fails instead of waiting
)

// pause is how long to wait before the call is sent again, and whether it may be. Being locked, limited or not
// connected means that nothing was done, so that even the creation of a rule may be repeated.
func (c *Client) pause(e *Error, repeatable bool, try int) (time.Duration, bool) {
	if try >= c.tries || e.RetryAfter > maxRetryAfter || errors.Is(e.Err, errTooLong) {
		return 0, false
	}
	broken := e.Kind == Network || e.Kind == Server && e.Status/100 != 3
	switch {
	case e.Kind == Locked:
		return max(lockedPause*c.step, e.RetryAfter), true
	case e.Kind == RateLimited, broken && repeatable, e.Kind == Network && !e.unknown:
		step := delay.Backoff(try-1, c.step, longestPause*c.step)
		return max(delay.Jitter(step, step*3/2), e.RetryAfter), true
	}
	return 0, false
}

// endsWithin reports whether the context ends before a pause does: then the caller learns the reason at once.
func endsWithin(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= pause
}
