package delay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

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
			log.Error("a fault of wafbot's: please report it", "in", what, "panic", fmt.Sprint(why), "stack", string(debug.Stack()))
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
