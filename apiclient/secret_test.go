package apiclient_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

func TestASecretShowsNowhere(t *testing.T) {
	t.Parallel()
	cfg := apiclient.Config{BaseURL: "http://service.example.com", Token: goodToken}
	c, err := apiclient.New(cfg)
	require.NoError(t, err)
	nested := struct{ inner *apiclient.Client }{c}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "token", cfg.Token, "config", cfg, "client", c)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "token", cfg.Token, "config", cfg, "client", c)
	encoded, err := json.Marshal([]any{cfg.Token, cfg, &cfg, c})
	require.NoError(t, err)
	seen := log.String() + string(encoded)
	for _, verb := range "vsqxXdtoUT" {
		for _, flag := range []string{"", "+", "#", "10"} {
			seen += fmt.Sprintf("%"+flag+string(verb), cfg.Token) + fmt.Sprintf("%"+flag+string(verb), cfg) +
				fmt.Sprintf("%"+flag+string(verb), c) + fmt.Sprintf("%"+flag+string(verb), nested)
		}
	}
	require.NotContains(t, seen, goodToken)
	require.NotContains(t, seen, fmt.Sprintf("%x", goodToken))
	require.Contains(t, seen, "[redacted]")
	require.Equal(t, goodToken, cfg.Token.Reveal())
}

func TestNewRefusesWhatCanNotWork(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for want, cfg := range map[string]apiclient.Config{
		"base address is missing":        {Token: goodToken},
		"must begin with http":           {BaseURL: "ftp://x", Token: goodToken},
		"has no host":                    {BaseURL: "https:///v1", Token: goodToken},
		"is no URL":                      {BaseURL: "https://%zz", Token: goodToken},
		"user or password":               {BaseURL: "https://u:hunter2@x", Token: goodToken},
		"query or fragment":              {BaseURL: "https://x?y", Token: goodToken},
		"either a token or a token file": {BaseURL: "https://x"},
		"no such file":                   {BaseURL: "https://x", TokenFile: "/nowhere/token"},
		"token is empty":                 {BaseURL: "https://x", TokenFile: empty},
		"line break or a character":      {BaseURL: "https://x", Token: "a\nb"},
		"must not be negative":           {BaseURL: "https://x", Token: goodToken, Tries: -1},
	} {
		_, err := apiclient.New(cfg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestATokenFileIsReread(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string, at time.Time) {
		require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
		require.NoError(t, os.Chtimes(file, at, at))
	}
	tokens := func(s *service) (out []string) {
		for _, r := range s.requests() {
			out = append(out, r.Token)
		}
		return out
	}
	begin := time.Unix(1795000000, 0)
	s := newService(t)
	s.token = "first-1"
	write("first-1", begin)
	c := s.start(func(cfg *apiclient.Config) { cfg.TokenFile = file })
	_, err := c.CreateRule(t.Context(), patch())
	require.NoError(t, err)

	write("second-2-longer", begin) // its time is the same
	s.token = "second-2-longer"
	_, err = c.CreateRule(t.Context(), patch())
	require.NoError(t, err)

	s.token = "third-33-longer"
	s.fault = times(1, func(w http.ResponseWriter, _ *http.Request) bool { // replaced after it was read
		write(s.token, begin)
		answer(w, 401, nil)
		return true
	})
	_, err = c.CreateRule(t.Context(), patch())
	require.NoError(t, err)

	require.NoError(t, os.Remove(file)) // in the middle of a rotation the last good one stays
	_, err = c.CreateRule(t.Context(), patch())
	require.NoError(t, err)
	require.Equal(t, []string{"first-1", "second-2-longer", "second-2-longer", "third-33-longer", "third-33-longer"}, tokens(s))

	s.token = "unknown" // refused, and the file has nothing else: not sent again
	_, err = c.CreateRule(t.Context(), patch())
	require.Equal(t, apiclient.Unauthenticated, apiclient.KindOf(err))
	require.Len(t, tokens(s), 6)
	require.Len(t, s.lists["/v1/objects/hint"], 4)
}

func TestTheTokenDoesNotFollowRedirects(t *testing.T) {
	t.Parallel()
	other := newService(t)
	elsewhere := httptest.NewServer(other)
	t.Cleanup(elsewhere.Close)
	s := newService(t)
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusPermanentRedirect)
		return true
	}
	_, err := s.start(func(cfg *apiclient.Config) {
		cfg.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	}).User(t.Context())
	require.ErrorContains(t, err, "a redirect, which is not followed")
	require.Len(t, s.requests(), 1)
	require.Empty(t, other.requests())
}
