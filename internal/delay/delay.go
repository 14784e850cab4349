// Package delay holds how wafbot waits before it tries something again.
package delay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
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

// ErrPanic marks what was interrupted by a panic.
var ErrPanic = errors.New("a fault of wafbot's: its log says where")

var panics atomic.Int64

// Panics is how many panics Try has recovered in this process.
func Panics() int64 { return panics.Load() }

// Try does something and makes ErrPanic of a panic, which it logs with its stack and counts. Each goroutine begins with
// it or another function of this file: what comes over a network must not end the process, and whatever else it does.
func Try(log *slog.Logger, what string, do func() error) (err error) {
	defer func() {
		if why := recover(); why != nil {
			panics.Add(1)
			log.Error("a fault of wafbot's: please report it", "in", what, "panic", fmt.Sprint(why), "stack",
				string(debug.Stack()))
			err = fmt.Errorf("%s: %w", what, ErrPanic)
		}
	}()
	return do()
}

// Run is Try for what can't fail. It reports whether that ended without a panic.
func Run(log *slog.Logger, what string, do func()) bool {
	return Try(log, what, func() error { do(); return nil }) == nil
}

// Again does something until it ends by itself: after each panic once more, with a pause, until the context ends.
func Again(ctx context.Context, log *slog.Logger, what string, do func() error) error {
	for try := 0; ; try++ {
		err := Try(log, what, do)
		if !errors.Is(err, ErrPanic) || Sleep(ctx, Backoff(try, time.Second, time.Minute)) != nil {
			return err
		}
	}
}

// RunAgain is Again for what can't fail.
func RunAgain(ctx context.Context, log *slog.Logger, what string, do func()) {
	_ = Again(ctx, log, what, func() error { do(); return nil })
}
