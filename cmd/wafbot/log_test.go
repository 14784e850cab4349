package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

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
