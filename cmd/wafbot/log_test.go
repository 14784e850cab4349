package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// Libraries log as the program does: each of its commands says where.
func TestLibrariesLogAsConfigured(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	environ := append(openWorld(t).Env(), "WAFBOT_LOG_FORMAT=json")
	for _, line := range [][]string{{"serve"}, {"status"}} {
		var out bytes.Buffer
		var given *slog.Logger
		run(t.Context(), terminal{
			args: line, environ: append(environ, "WAFBOT_LISTEN="+busy.Addr().String()), out: io.Discard, err: &out,
			hangup: make(chan os.Signal, 1), libraries: func(log *slog.Logger) { given = log },
		})
		out.Reset()
		slog.NewLogLogger(given.Handler(), slog.LevelError).Print("http: TLS handshake error")
		require.True(t, json.Valid(out.Bytes()), "%s: %s", line, out.String())
	}
}

func TestTheLogAsConfigured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logAs(&out, config.Log{Level: "warn", Format: "json"}).With("account", "acme")
	log.Info("below")
	log.WarnContext(record.WithRequest(t.Context(), "e12345678"), "above", "path", "/a\u202eb\n{\"level\":\"ERROR\"}")
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	var line map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, []string{"WARN", "above", "acme", "e12345678"}, []string{line["level"], line["msg"], line["account"], line["request_id"]})
	require.NotContains(t, line["path"], "\u202e")

	out.Reset()
	log = logAs(&out, config.Log{Level: "debug", Format: "text"})
	log.Debug("detail")
	require.Contains(t, out.String(), "level=DEBUG msg=detail\n")
	require.NotContains(t, out.String(), "request_id")
}
