package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// reloading is a bot that runs from a file, as it is shipped.
type reloading struct {
	*world
	file     string
	accounts map[string]config.Account
}

// runsFrom has bots run from a file, with more keys for each account that they begin with.
func (w *world) runsFrom(keys map[string]string) *reloading {
	w.t.Helper()
	w.Slack.SetRateLimits(false)
	all, err := demoConfig(w.World)
	require.NoError(w.t, err)
	r := &reloading{world: w, file: filepath.Join(w.t.TempDir(), "wafbot.yaml"), accounts: map[string]config.Account{}}
	for _, a := range all.Accounts {
		r.accounts[a.Name] = a
	}
	r.writes("on", keys)
	return r
}

// writes writes the file, with more keys of each account.
func (r *reloading) writes(changes string, keys map[string]string) {
	r.t.Helper()
	slack := r.cfg.Slack
	text := fmt.Sprintf("slack: {bot_token: %q, app_token: %q, signing_secret: %q, api_url: %q, messages_per_second: 0}\n", slack.BotToken.Reveal(), slack.AppToken.Reveal(), slack.SigningSecret.Reveal(), slack.APIURL) +
		fmt.Sprintf("redis: {url: %q}\nlisten: 127.0.0.1:0\nsources: []\npolicy: {changes: %s, responders: [U0ROB0002], admins: [U0ANN0001]}\n", r.cfg.Redis.URL.Reveal(), changes) +
		"account_defaults: {poll_interval: 250ms}\naccounts:\n"
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		a := r.accounts[name]
		text += fmt.Sprintf("  - {name: %s, api_url: %q, token: %q, client_id: %d, channel: %s%s}\n", name, a.APIURL, a.Token.Reveal(), a.ClientID, a.Channel, keys[name])
	}
	require.NoError(r.t, os.WriteFile(r.file, []byte(text), 0o600))
}

// start starts a bot; stop ends it.
func (r *reloading) start() {
	r.t.Helper()
	before := strings.Count(r.journal.String(), "listening address=")
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, terminal{args: []string{"serve", "--config", r.file}, out: r.journal, err: r.journal})
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		require.Equal(r.t, exitDone, <-ended, "%s", r.journal)
	})
	r.until("it listens", func() bool { return strings.Count(r.journal.String(), "listening address=") > before })
	_, after, _ := strings.Cut(r.journal.String()[strings.LastIndex(r.journal.String(), "listening address="):], "=")
	address, _, _ := strings.Cut(after, " ")
	r.address = "http://" + address
	r.DeliverTo(r.address)
	if r.cfg.Slack.AppToken != "" {
		r.until("links", func() bool { return len(r.Slack.Links()) > 0 })
	}
}

// A bot that is started without an account whose changes are in force says what nothing ends, until the account is back.
func TestARestartWithoutAnAccountSaysWhatNothingEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, miniRedis(t), workspace.IngressEither)
	r := w.runsFrom(map[string]string{"acme": "", "globex": ""})
	r.start()
	w.message("#waf-globex", "wafbot watches globex")
	w.typesIn("#waf-globex", "rob", "patch shop.globex.example/find type=sqli part=get.q for=1h")
	w.until("a patch", func() bool { return len(w.rules("globex", "vpatch")) == 1 })
	w.stop()
	r.writes("on", map[string]string{"acme": ""})
	r.start()
	t.Cleanup(func() { w.stop(); w.requireClean() })
	w.until("it is logged", func() bool {
		return w.journal.has("not in the configuration has changes in force", "account=globex changes=1")
	})
	_, body := w.get("/readyz")
	require.Contains(t, body, `"removed":{"globex":"not in the configuration, but changes of it are in force, which nothing ends: 1"}`)
	found := typed(t, nil, "doctor", "--config", r.file)
	require.Contains(t, found.out, "WRONG account globex: it isn't in the configuration, but changes of it are in force: 1")

	r.writes("on", map[string]string{"acme": "", "globex": ""})
	w.stop()
	r.start()
	w.typesIn("#waf-globex", "rob", "undo")
	w.until("it is ended", func() bool { return len(w.rules("globex", "vpatch")) == 0 })
	_, body = w.get("/readyz")
	require.NotContains(t, body, `"removed"`)
	one := typed(t, nil, "doctor", "--config", r.file, "--account", "globx")
	require.Contains(t, one.out, "WRONG account globx: the configuration has no such account\n      → did you mean globex?")
	one = typed(t, nil, "doctor", "--config", r.file, "--account", "globex")
	require.Equal(t, exitDone, one.code, one.out)
	require.NotContains(t, one.out, "acme")
}
