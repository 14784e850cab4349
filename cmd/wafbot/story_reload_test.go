package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
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
	r.hangup = make(chan os.Signal, 1)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, terminal{args: []string{"serve", "--config", r.file}, hangup: r.hangup, out: r.journal, err: r.journal})
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

// reloads has the file loaded again, and waits for what the log then says.
func (r *reloading) reloads(says string) {
	r.t.Helper()
	before := strings.Count(r.journal.String(), says)
	r.hangup <- syscall.SIGHUP
	r.until(says, func() bool { return strings.Count(r.journal.String(), says) > before })
}

const (
	loaded = `msg="configuration loaded again" `
	kept   = `msg="configuration not loaded again: the one before counts"`
)

// An account comes, changes and goes while people act and attacks begin: every acknowledged click is done once, and what was in force on the account that goes is ended.
func TestAccountsComeChangeAndGo(t *testing.T) {
	for i, way := range []workspace.Ingress{workspace.IngressHTTP, workspace.IngressSocket} {
		redis := []func(testing.TB) redisServer{miniRedis, aRedis}[i]
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, redis(t), way)
			r := w.runsFrom(map[string]string{"acme": ""})
			r.start()
			t.Cleanup(func() { w.stop(); w.requireClean() })
			w.message("#waf", "wafbot watches acme")
			ids := w.manyAttacks(8)
			n := w.notes(ids, unhurried)

			// It comes.
			r.writes("on", map[string]string{"acme": "", "globex": ", routes: [{}]"})
			r.reloads(loaded)
			w.message("#waf-globex", "wafbot watches globex")
			w.attack(stuffing())
			card := w.cardIn("#waf-globex", "/signin")
			card.click("rob", "Deny "+attacker)
			card.says("Deny "+attacker+" · ", "Rob Diaz")

			// It changes.
			r.writes("on", map[string]string{"acme": "", "globex": ", routes: [{}], policy: {responders: []}"})
			r.reloads(loaded)
			w.typesIn("#waf-globex", "rob", "deny 198.51.100.7")
			w.ephemeral("rob", "needs the role responder; yours is viewer")
			w.typesIn("#waf-globex", "ann", "patch shop.globex.example/find type=sqli part=get.q for=10s")
			w.until("a patch", func() bool { return len(w.rules("globex", "vpatch")) == 1 })

			// It goes.
			acked, _ := n.written()
			r.writes("on", map[string]string{"acme": ""})
			r.reloads(loaded)
			w.until("notes after it", func() bool { now, _ := n.written(); return now > acked })
			n.stop()
			n.busy.Wait() // before each attack has its 100 notes
			w.typesIn("#random", "ann", "status account=globex")
			w.ephemeral("ann", "Unknown account: globex. One of: acme")
			status, body := w.get("/readyz")
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, body, `"removed":{"globex":"taken out of the configuration: what is due is still ended"}`)
			w.until("the patch is ended", func() bool { return len(w.rules("globex", "vpatch")) == 0 })
			w.until("it is said", func() bool { return w.journal.has(`"account":"globex"`, `"via":"clock"`, `"outcome":"done"`) })
			_, lost := n.written()
			require.Zero(t, lost, "deliveries that no bot took: %s\n%s", n.why, w.journal)
			w.requireNotes(n.acked, ids)
		})
	}
}

// A wrong file, and a token that Slack doesn't take, leave the bot as it is, and it says so.
func TestABrokenReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, miniRedis(t), workspace.IngressEither)
	w.rough = true // Slack refuses the token
	r := w.runsFrom(map[string]string{"acme": ""})
	good, err := os.ReadFile(r.file)
	require.NoError(t, err)
	r.start()
	t.Cleanup(func() { w.stop(); w.requireClean() })
	w.message("#waf", "wafbot watches acme")
	hash := func() (hash string) {
		_, body := w.get("/readyz")
		_, after, _ := strings.Cut(body, `"hash":"`)
		return after[:12]
	}
	before := hash()
	stays := func(name, text, says string) {
		require.NoError(t, os.WriteFile(r.file, []byte(text), 0o600))
		r.reloads(kept)
		require.True(t, w.journal.has(says), "%s: %s", name, w.journal)
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, `"failed":"the configuration was loaded again, and is wrong: the one before counts. The log has why"`)
		require.Equal(t, before, hash())
		n := len(w.ephemerals("rob", "Status of acme"))
		w.types("rob", "status")
		w.until("an answer", func() bool { return len(w.ephemerals("rob", "Status of acme")) > n })
	}
	stays("unknown key", "polcy: {}\n"+string(good), `key=polcy`)
	stays("no account", "sources: []\n", `there is none; write one into the file`)
	stays("no YAML", "[", `fix the syntax`)
	stays("a token of none", strings.Replace(string(good), w.cfg.Slack.BotToken.Reveal(), "xoxb-0000-wrong", 1), `slack doesn't take the new token`)

	require.NoError(t, os.WriteFile(r.file, append([]byte("listen: 127.0.0.1:1\ntimezone: Europe/Berlin\n"), []byte(strings.Replace(string(good), "listen: 127.0.0.1:0\n", "", 1))...), 0o600))
	r.reloads(loaded)
	require.True(t, w.journal.has("these keys count only after a restart", "listen"))
	require.NotEqual(t, before, hash())
	_, body := w.get("/readyz")
	require.NotContains(t, body, `"failed"`)
	r.reloads(`msg="configuration loaded again: nothing changed"`)
}

// A configuration that Kubernetes mounted is loaded again when it is replaced; of two replicas one then switches changes off for both.
func TestAMountedConfigurationSwitchesChangesOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, miniRedis(t), workspace.IngressHTTP) // links would go to either replica
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
	}
	mount("..1", "on")
	require.NoError(t, os.Symlink("..data/wafbot.yaml", filepath.Join(dir, "wafbot.yaml")))
	r.file = filepath.Join(dir, "wafbot.yaml")
	r.start()
	t.Cleanup(func() { w.stop(); first(); w.requireClean() })

	mount("..2", "off")
	w.until("it is loaded", func() bool { return w.journal.has(loaded, "changes=off", "its files were replaced") })
	w.DeliverTo(address) // the other replica, whose own configuration says on
	w.until("the other one has heard of it", func() bool {
		n := len(w.ephemerals("vic"))
		w.types("vic", "status")
		w.until("an answer", func() bool { return len(w.ephemerals("vic")) > n })
		return strings.Contains(plain(w.ephemerals("vic")[n]), "only watching: changes are switched off")
	})
	w.types("rob", "deny "+attacker)
	w.ephemeral("rob", "changes are switched off (policy.changes: off)")
	require.Empty(t, w.sent())
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
	r.reloads(loaded)
	w.typesIn("#waf-globex", "rob", "undo")
	w.until("it is ended", func() bool { return len(w.rules("globex", "vpatch")) == 0 })
	_, body = w.get("/readyz")
	require.NotContains(t, body, `"removed"`)
	other := written(t, "slack: {bot_token: xoxb-1, signing_secret: s}\nredis: {url: \""+w.cfg.Redis.URL.Reveal()+"\"}\naccounts: [{name: acme, api_url: 'http://127.0.0.1:1', token: t, channel: C0ACME}]\n")
	require.Regexp(t, `warn +config of replicas: this is [0-9a-f]{12}; others run on .* \([0-9a-f]{12}\)`, typed(t, nil, "doctor", "--config", other).out)
	one := typed(t, nil, "doctor", "--config", r.file, "--account", "globx")
	require.Contains(t, one.out, "WRONG account globx: the configuration has no such account\n      → did you mean globex?")
	one = typed(t, nil, "doctor", "--config", r.file, "--account", "globex")
	require.Equal(t, exitDone, one.code, one.out)
	require.NotContains(t, one.out, "acme")
}

// A patch that is being planned when its account is taken out is stored by the bot that leaves, and ended like any other.
func TestAnAccountGoesWhileAChangeOfItIsPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, miniRedis(t), workspace.IngressEither)
	r := w.runsFrom(map[string]string{"acme": "", "globex": ""})
	r.start()
	t.Cleanup(func() { w.stop(); w.requireClean() })
	w.message("#waf-globex", "wafbot watches globex")
	listed := func() int { return w.state("globex").Requests["POST /v1/objects/hint"] }
	w.until("its rules were read", func() bool { return listed() > 0 })
	require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "globex", Endpoint: "POST /v1/objects/hint", Kind: "slow"}))
	before := listed()
	w.typesIn("#waf-globex", "rob", "patch shop.globex.example/find type=sqli part=get.q for=10s")
	require.Eventually(t, func() bool { return listed() > before }, patience, 20*time.Millisecond, "it is being planned") // of which nothing else is seen
	r.writes("on", map[string]string{"acme": ""})
	r.hangup <- syscall.SIGHUP
	w.until("it is counted", func() bool {
		return w.journal.has("account was taken out of the configuration", "account=globex changes=0")
	})
	w.WAF.ClearFaults()
	w.until("a patch", func() bool { return len(w.rules("globex", "vpatch")) == 1 })
	w.until("the patch is ended", func() bool { return len(w.rules("globex", "vpatch")) == 0 })
}

// An account is taken out before it is read back what Redis lost of it: that is done all the same, and ends what was in force.
func TestAnAccountGoesBeforeItIsReadBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, miniRedis(t), workspace.IngressEither)
	w.rough = true
	r := w.runsFrom(map[string]string{"acme": "", "globex": ""})
	r.start()
	t.Cleanup(func() { w.stop(); w.requireClean() })
	w.message("#waf-globex", "wafbot watches globex")
	w.typesIn("#waf-globex", "rob", "patch shop.globex.example/find type=sqli part=get.q for=20s")
	w.message("#waf-globex", "Patch", "shop.globex.example/find", "Rob Diaz")
	r.writes("on", map[string]string{"acme": ""})
	w.redis.empty(t)
	r.reloads(loaded)
	_, body := w.get("/readyz")
	require.Contains(t, body, `"removed":{"globex":"taken out of the configuration: what is due is still ended"}`)
	w.until("the patch is ended", func() bool { return len(w.rules("globex", "vpatch")) == 0 })
}
