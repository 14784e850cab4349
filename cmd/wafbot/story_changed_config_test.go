package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// reloading is a bot that runs from a file, as it is shipped.
type reloading struct {
	*world
	file     string
	hangup   chan os.Signal
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
	r.hangup = make(chan os.Signal, 1)
	serve := terminal{args: []string{"serve", "--config", r.file}, hangup: r.hangup, out: r.journal, err: r.journal}
	serve.again = func(h handover) error {
		again := serve
		again.handed = &h
		if code := run(ctx, again); code != exitDone {
			return fmt.Errorf("it ended with %d", code)
		}
		return nil
	}
	go func() { ended <- run(ctx, serve) }()
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

// openPatch is said of a patch of globex that is open.
const openPatch = "Patch exactly shop.globex.example/find, every application, field q, SQL injection only for 1 h, until 20"

// hup sends SIGHUP, and waits for what the log then says.
func (r *reloading) hup(says string) {
	r.t.Helper()
	before := strings.Count(r.journal.String(), says)
	r.hangup <- syscall.SIGHUP
	r.until(says, func() bool { return strings.Count(r.journal.String(), says) > before })
}

// What the log says of a changed configuration.
const (
	taken = "msg=listening address="
	kept  = `msg="configuration can't be used: the one before counts"`
)

// An account comes with a changed configuration, at the same address. It goes once nothing is open on it; until then the
// file is refused.
func TestAChangedConfiguration(t *testing.T) {
	for _, way := range []workspace.Ingress{workspace.IngressHTTP, workspace.IngressSocket} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, aRedis(t), way)
			r := w.runsFrom(map[string]string{"acme": ""})
			r.start()
			t.Cleanup(func() { w.stop(); w.requireClean() })
			w.message("#waf", "wafbot watches acme")

			r.writes("on", map[string]string{"acme": "", "globex": ""})
			r.hup(taken + w.address[len("http://"):])
			w.message("#waf-globex", "wafbot watches globex")
			w.until("links", func() bool { return way == workspace.IngressHTTP || len(w.Slack.Links()) > 0 })
			w.typesIn("#waf-globex", "rob", "patch shop.globex.example/find type=sqli part=get.q for=1h")
			w.until("a patch", func() bool { return len(w.rules("globex", "vpatch")) == 1 })

			r.writes("on", map[string]string{"acme": ""})
			r.hup(kept)
			require.True(t, w.journal.has("account globex was taken out, and nothing would end what is open on it: c", openPatch), "%s", w.journal)
			w.typesIn("#waf-globex", "rob", "undo")
			w.until("it is ended", func() bool { return len(w.rules("globex", "vpatch")) == 0 })
			w.until("nothing is open", func() bool {
				looked := func() int { return strings.Count(w.journal.String(), taken) + strings.Count(w.journal.String(), kept) }
				before, n := strings.Count(w.journal.String(), taken), looked()
				r.hangup <- syscall.SIGHUP
				w.until("it is looked", func() bool { return looked() > n })
				return strings.Count(w.journal.String(), taken) > before
			})
			w.until("links", func() bool { return way == workspace.IngressHTTP || len(w.Slack.Links()) > 0 })
			w.typesIn("#random", "ann", "status account=globex")
			w.ephemeral("ann", "Unknown account: globex. One of: acme")
		})
	}
}

// A file that can't be used leaves the bot as it is, and it says so.
func TestAConfigurationThatCantBeUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, aRedis(t), workspace.IngressEither)
	w.rough = true // Slack refuses tokens
	r := w.runsFrom(map[string]string{"acme": ""})
	data, err := os.ReadFile(r.file)
	require.NoError(t, err)
	good, secrets := string(data), w.cfg.Slack
	r.start()
	t.Cleanup(func() { w.stop(); w.requireClean() })
	w.message("#waf", "wafbot watches acme")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = busy.Close() })
	for _, c := range []struct{ name, text, says string }{
		{"unknown key", "polcy: {}\n" + good, `key=polcy`},
		{"no account", "sources: []\n", `there is none; write one into the file`},
		{"no YAML", "[", `fix the syntax`},
		{"a token of none", strings.Replace(good, secrets.BotToken.Reveal(), "xoxb-0000-wrong", 1), `slack doesn't take a new token`},
		{"an app token of none", strings.Replace(good, secrets.AppToken.Reveal(), "xapp-0000-wrong", 1), `slack doesn't take a new token`},
		{"an address that is taken", strings.Replace(good, "127.0.0.1:0", busy.Addr().String(), 1), `address already in use`},
	} {
		require.NoError(t, os.WriteFile(r.file, []byte(c.text), 0o600))
		r.hup(kept)
		require.True(t, w.journal.has(c.says), "%s: %s", c.name, w.journal)
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, `"failed":"the file as it is now can't be used: the one before counts. The log has why"`)
		require.InDelta(t, 0, w.metric("wafbot_config_last_reload_successful"), 0)
		require.Contains(t, w.answer("rob", "status"), "Status of acme")
	}
	require.NoError(t, os.WriteFile(r.file, data, 0o600))
	r.hup(taken)
	w.until("it is ready", func() bool { status, _ := w.get("/readyz"); return status == http.StatusOK })
	_, body := w.get("/readyz")
	require.NotContains(t, body, `"failed"`)
	require.InDelta(t, 1, w.metric("wafbot_config_last_reload_successful"), 0)
}

// While Redis is away a good configuration waits.
func TestAChangedConfigurationWaitsForRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, aRedis(t), workspace.IngressHTTP)
	w.rough = true
	r := w.runsFrom(map[string]string{"acme": ""})
	r.start()
	t.Cleanup(func() { w.stop(); w.requireClean() })
	w.message("#waf", "wafbot watches acme")
	w.redis.away()
	r.hup(`msg="a changed configuration has to wait"`)
	w.redis.back()
	w.until("it is taken", func() bool { return strings.Count(w.journal.String(), taken) == 2 })
}

// A configuration that Kubernetes mounted is taken when its content is replaced; of two replicas one then switches
// changes off for both.
func TestAMountedConfigurationSwitchesChangesOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, aRedis(t), workspace.IngressHTTP) // links would go to either replica
	r := w.runsFrom(map[string]string{"acme": ""})
	r.start()
	first, address := w.stop, w.address
	w.message("#waf", "wafbot watches acme")
	dir := t.TempDir()
	mount := func(version, changes string) {
		r.file = filepath.Join(dir, version, "wafbot.yaml")
		require.NoError(t, os.Mkdir(filepath.Dir(r.file), 0o700))
		r.writes(changes, map[string]string{"acme": ""})
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		r.file = filepath.Join(dir, "wafbot.yaml")
	}
	mount("..1", "on")
	require.NoError(t, os.Symlink("..data/wafbot.yaml", filepath.Join(dir, "wafbot.yaml")))
	r.start()
	t.Cleanup(func() { w.stop(); first(); w.requireClean() })
	cfg, err := config.Load(r.file, nil)
	require.NoError(t, err)
	before := mounted(cfg)
	mount("..2", "on")
	require.Equal(t, before, mounted(cfg), "it was touched")
	mount("..3", "off")
	require.NotEqual(t, before, mounted(cfg))
	w.until("it is taken", func() bool { return w.journal.has("changes=off") && w.journal.has("its files were replaced") })
	w.DeliverTo(address) // the other replica, whose own configuration says on
	w.until("the other one has heard of it", func() bool {
		return strings.Contains(w.answer("vic", "status"), "only watching: changes are switched off")
	})
	w.types("rob", "deny "+attacker)
	w.ephemeral("rob", "changes are switched off (policy.changes: off)")
	require.Empty(t, w.sent())
}

// A bot that starts without an account whose changes are active says what nothing ends, until the account is back.
func TestARestartWithoutAnAccountSaysWhatNothingEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, aRedis(t), workspace.IngressEither)
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
		return w.journal.has("not in the configuration has open changes", "account=globex", openPatch, "UTC)")
	})
	_, body := w.get("/readyz")
	require.Regexp(t, `"removed":{"globex":"not in the configuration, and nothing ends what is open: c\w+ \(`+openPatch, body)
	require.InDelta(t, 1, w.metric("wafbot_removed_account_changes"), 0)
	found := typed(t, nil, "doctor", "--config", r.file)
	require.Equal(t, exitFailed, found.code)
	require.Regexp(t, `WRONG account globex: it isn't in the configuration, and nothing ends what is open on it: c\w+ \(`+openPatch, found.out)

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
