package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxLogged is how much of one value a line of the log shows, in characters: an attacker's path may have 100,000, and
// journald cuts lines of 48 kB.
const maxLogged = 1_000

// logAs is the program's log as the configuration wants it, one line an event. Values are sanitized and cut: strangers
// wrote some of them.
func logAs(out io.Writer, cfg config.Log) *slog.Logger {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(cfg.Level)) // which was checked
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: logged}
	var lines slog.Handler = slog.NewTextHandler(out, options)
	if cfg.Format == config.LogJSON {
		lines = slog.NewJSONHandler(out, options)
	}
	return slog.New(ofRequest{lines})
}

// ofRequest names the request that a line is logged for.
type ofRequest struct{ slog.Handler }

// Handle implements slog.Handler.
func (h ofRequest) Handle(ctx context.Context, r slog.Record) error {
	if id := record.RequestOf(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h ofRequest) WithAttrs(all []slog.Attr) slog.Handler {
	return ofRequest{h.Handler.WithAttrs(all)}
}

// WithGroup implements slog.Handler.
func (h ofRequest) WithGroup(name string) slog.Handler { return ofRequest{h.Handler.WithGroup(name)} }

func logged(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string, error, []string:
		a.Value = slog.StringValue(text.Sanitize(fmt.Sprint(v), maxLogged))
	}
	return a
}

// boundMemory sets Go's memory limit to nine tenths of the container's (its cgroup's). Otherwise the heap grows to
// twice what is live before garbage is collected, and the kernel kills wafbot. GOMEMLIMIT in the environment wins.
func boundMemory(log *slog.Logger) {
	limit, err := memlimit.Set()
	switch {
	case errors.Is(err, memlimit.ErrCgroupsNotSupported), errors.Is(err, memlimit.ErrNoCgroup):
	case err != nil:
		log.Warn("memory limit of the container can't be read: set GOMEMLIMIT to nine tenths of it", "err", err)
	case limit < math.MaxInt64:
		log.Info("memory is limited", "bytes", limit)
	}
}
