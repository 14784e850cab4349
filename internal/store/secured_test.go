package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// secured is how wafbot is configured for servers that are secured so.
func secured(by *redistest.Secured, url string) store.Config {
	o := address.Options{URL: url, TLS: address.TLS{CAFile: by.CAFile, CertFile: by.CertFile, KeyFile: by.KeyFile}}
	return store.Config{Address: o, KeyPrefix: "wafbot:"}
}

// With TLS, and as a user that may do no more than docs/config.md says, everything works, also after a failover.
func TestSecured(t *testing.T) {
	full.Only(t)
	t.Parallel()
	by := redistest.NewSecured(t)
	for name, start := range map[string]func(t *testing.T) (url string, failOver func()){
		"one": func(t *testing.T) (string, func()) {
			s := redistest.StartSecured(t, by)
			return s.URL(), func() {}
		},
		"cluster": func(t *testing.T) (string, func()) {
			set := redistest.StartCluster(t, by)
			return set.URL, killAMaster(t, set)
		},
		"sentinel": func(t *testing.T) (string, func()) {
			set := redistest.StartSentinel(t, by)
			return set.URL, killAMaster(t, set)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, failOver := start(t)
			s := openWith(t, secured(by, url))
			leaveEverything(t, s)
			requireRefused(t, by, url)
			failOver()
			require.Eventually(t, func() bool { return s.Ping(t.Context()) == nil }, patience, 20*time.Millisecond)
		})
	}
}

func killAMaster(t *testing.T, set *redistest.Set) func() {
	return func() {
		require.NoError(t, failure(set.KillMaster(0)))
	}
}

func isRefused(err error) bool {
	return err != nil && refusal.TroubleOf(err).Is != ""
}

// hungUp is what else a client may read who wrote before it heard that its certificate is refused: TLS 1.3 tells it
// late, and the server hangs up.
const hungUp = "|reset by peer|broken pipe"

// requireRefused holds that nothing is stored with less than what the servers ask for, and that no error shows a
// password.
func requireRefused(t *testing.T, by *redistest.Secured, url string) {
	stranger := redistest.NewSecured(t)
	plain := strings.NewReplacer("rediss://", "redis://", "redis-clusters://", "redis-cluster://", "redis-sentinels://", "redis-sentinel://").Replace(url)
	type way struct {
		says  string // a regular expression
		spoil func(o *address.Options)
	}
	all := []way{
		{"EOF", func(o *address.Options) { o.URL, o.TLS = plain, address.TLS{} }},
		{"unknown authority", func(o *address.Options) { o.TLS.CAFile = "" }},
		{"unknown authority", func(o *address.Options) { o.TLS.CAFile = stranger.CAFile }},
		{"not localhost", func(o *address.Options) { o.URL = strings.ReplaceAll(url, "127.0.0.1", "localhost") }},
		{"certificate required" + hungUp, func(o *address.Options) { o.TLS.CertFile, o.TLS.KeyFile = "", "" }},
		{"remote error: tls" + hungUp, func(o *address.Options) { o.TLS.CertFile, o.TLS.KeyFile = stranger.CertFile, stranger.KeyFile }},
		{"WRONGPASS", func(o *address.Options) { o.URL = strings.Replace(url, by.Password, "hunter-wrong", 1) }},
		{"NOAUTH", func(o *address.Options) { o.URL = strings.Replace(url, by.Username+":"+by.Password+"@", "", 1) }},
	}
	if strings.HasPrefix(url, "redis-sentinels") {
		all = append(all,
			way{"WRONGPASS", func(o *address.Options) { o.URL = strings.Replace(url, by.SentinelPassword, "hunter-wrong", 1) }},
			way{"NOAUTH", func(o *address.Options) { o.URL, _, _ = strings.Cut(url, "?") }})
	}
	for _, tt := range all {
		cfg := secured(by, url)
		tt.spoil(&cfg.Address)
		err := openWith(t, cfg).Ping(t.Context())
		require.Error(t, err)
		require.Regexp(t, tt.says, err.Error())
		require.NotContains(t, err.Error(), "hunter")
		_, before, _ := strings.Cut(url, "?")
		_, spoilt, _ := strings.Cut(cfg.Address.URL, "?")
		require.Equal(t, spoilt != before, store.OfSentinels(err) && isRefused(err), "%v", err)
	}
	cfg := secured(by, url)
	cfg.Timeout = patience
	require.NoError(t, openWith(t, cfg).Ping(t.Context()))
	cfg.KeyPrefix = "other:"
	require.ErrorContains(t, openWith(t, cfg).Ping(t.Context()), "NOPERM")
}
