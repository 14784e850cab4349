package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/wafbot/wafbot/internal/text"
)

// maxLogged is how much of one value a line of the log shows, in characters: an attacker's path may have 100,000, and journald cuts lines of 48 kB.
const maxLogged = 1_000

// newLog is the program's log, one line an event. Values are sanitized and cut: strangers wrote some of them.
func newLog(out io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: logged}))
}

func logged(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(text.Sanitize(v, maxLogged))
	case error:
		a.Value = slog.StringValue(text.Sanitize(v.Error(), maxLogged))
	case []string:
		a.Value = slog.StringValue(text.Sanitize(fmt.Sprint(v), maxLogged))
	}
	return a
}
