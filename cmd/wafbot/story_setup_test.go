package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/version"
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
	if r.cfg.Slack.SigningSecret != "" {
		r.verifyEvents()
	}
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
	w.verifyEvents()
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

const testCard = "Test card: nothing happened"

func TestADrillInSlack(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.types("vic", "drill")
		w.ephemeral("vic", "drill needs the role responder")
		w.types("ann", "drill")
		w.ephemeral("ann", "Drill begun, with 1 test card")
		card := w.message("#waf", testCard, "Anna Weber tests whether cards are seen here")
		w.click("rob", card, "Acknowledge")
		w.ephemeral("rob", "Thank you: acknowledged after")
		report := w.message("#waf", "Drill of acme, asked for by Anna Weber", "acknowledged by Rob Diaz after", "Not tried: denying and undoing", "no route has one")
		require.Equal(t, card.TS, report.ThreadTS)
		require.False(t, report.Broadcast)
		shown := w.message("#waf", testCard, "Acknowledged by Rob Diaz after")
		require.Equal(t, card.TS, shown.TS, "one card")
		w.types("ann", "attacks --all")
		w.ephemeral("ann", "0 attacks")
		require.Empty(t, w.sent())
		require.True(t, w.journal.has(`"audit"`, "drill ack=d", `"outcome":"done"`, "U0ROB0002"))
	})
}

// A test card goes to each route's channel, with its mention. The replica that posted them is gone when they are acknowledged.
func TestADrillAcrossARestart(t *testing.T) {
	several := func(w *world) {
		w.cfg.Accounts[0].Routes = []config.Route{{Match: incidents(), Channel: "C0RANDOM3", Mention: "U0ANN0001"}, {}, {}}
	}
	story(t, several, func(t *testing.T, w *world) {
		w.types("ann", "drill")
		w.ephemeral("ann", "Drill begun, with 2 test cards")
		first := w.message("#random", testCard)
		second := w.message("#waf", testCard)
		w.stop()
		w.start()
		w.click("rob", second, "Acknowledge")
		w.message("#waf", testCard, "Acknowledged by Rob Diaz after")
		w.click("ann", first, "Acknowledge")
		w.message("#random", testCard, "Acknowledged by Anna Weber after")
		report := w.message("#random", "Drill of acme", "acknowledged by Anna Weber after", "acknowledged by Rob Diaz after")
		require.Equal(t, first.TS, report.ThreadTS)
		require.Len(t, w.shown("#random"), 1, "one card, with its report in the thread")
	})
}

func TestADrillFromTheTerminal(t *testing.T) {
	alone := func(w *world) {
		none := w.atShell("drill")
		require.Equal(t, exitFailed, none.code)
		require.Contains(t, none.err, "No wafbot serve is running on this Redis")
	}
	story(t, alone, func(t *testing.T, w *world) {
		begun := w.atShell("drill")
		require.Equal(t, exitDone, begun.code, begun.err)
		require.Contains(t, begun.out, "test card")
		w.message("#waf", testCard)
		waits := w.atShell("drill", "--json")
		require.Equal(t, exitDone, waits.code, waits.err)
		require.Contains(t, waits.out, "nobody has acknowledged it yet")
	})
}

// page=yes calls the pager for real. Who acknowledges there acknowledges the card.
func TestADrillThatPages(t *testing.T) {
	var p *pagerDuty
	story(t, func(w *world) { p = newPagerDuty(w) }, func(t *testing.T, w *world) {
		w.types("ann", "drill page=yes")
		action, key := p.next()
		require.Equal(t, "trigger", action)
		w.message("#waf", testCard, "Press Acknowledge")
		require.Equal(t, http.StatusOK, p.sends("/pager/oncall", p.event("01BTA", "incident.acknowledged", key), pagerSecret))
		action, ended := p.next()
		require.Equal(t, []string{"resolve", key}, []string{action, ended})
		w.message("#waf", testCard, "Acknowledged by PagerDuty: Tenex")
		w.message("#waf", "Drill of acme", "its pager is called: acknowledged by PagerDuty: Tenex")
	})
}

func TestReadsTyped(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		spec := injection()
		spec.Vulnerability = sqlHole()
		w.attack(spec)
		id := w.card(attacker).id()
		for line, parts := range map[string][]string{
			"":                 {"Status of acme", "Going on: 1 attack", id, "Nothing of wafbot's is in force", "live: changes are made"},
			"status":           {"Status of acme", "Going on: 1 attack", id},
			"incidents":        {"acme: 1 incident in the last 24 h", "INCIDENT SQL injection on Shop"},
			"attacks since=2h": {"acme: 1 attack in the last 2 h", "POST shop.example.com/login"},
			"attack " + id[:5]: {"It worked, says the service: vulnerability 812", attacker + " FR "},
			"lists":            {"acme: 0 entr"},
			"mode Shop":        {"Mode of Shop by rules: monitoring"},
			"audit":            {"acme: "},
			"whoami":           {"Vic Lee: viewer"},
			"help":             {"deny 203.0.113.7 4h", "undo your last change"},
			"help all":         {"deny [TARGET…]", "undo [CHANGE…]"},
			"help deny":        {"put sources on the denylist"},
			"atack 1":          {"Unknown command: atack", "did you mean attack?"},
			"deny 'x":          {"A quote is not closed"},
		} {
			w.types("vic", line)
			w.ephemeral("vic", parts...)
		}
		attack := plain(w.ephemeral("vic", "It worked, says the service"))
		require.Regexp(t, attacker+` FR (79|80) %`, attack, "its share grows a little meanwhile")
		require.Len(t, w.shown("#waf"), 2, "answers are for the one who asks")
		require.Empty(t, w.sent())
	})
}

func TestADenialTypedWithoutACard(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.types("rob", `deny 198.51.100.99 for=1h reason="from the night shift"`)
		w.ephemeral("rob", "Deny 198.51.100.99 everywhere for 1 h: accepted by the service")
		require.Contains(t, w.entries("acme")[0].Reason, "Rob Diaz (U0ROB0002): from the night shift")
		line := w.message("#waf", "Deny 198.51.100.99 everywhere for 1 h · Rob Diaz")
		w.types("rob", "lists")
		w.ephemeral("rob", "1 entr", "198.51.100.99")

		w.click("ann", line, "Undo")
		w.ephemeral("ann", "Undo of: Deny 198.51.100.99")
		require.Empty(t, w.entries("acme"))
		w.message("#waf", "Undo of: Deny 198.51.100.99", "Anna Weber")
		w.click("rob", line, "Undo")
		w.ephemeral("rob", "undone already by Anna Weber")

		w.types("rob", "deny 198.51.100.98")
		w.message("#waf", "Deny 198.51.100.98")
		w.types("rob", "undo")
		w.ephemeral("rob", "Undo of: Deny 198.51.100.98")
		require.Empty(t, w.entries("acme"))
	})
}

func TestADryRunSendsNothing(t *testing.T) {
	dryRun := func(w *world) { w.cfg.Policy.Changes = "dry_run" }
	story(t, dryRun, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("DRY RUN", attacker)
		w.types("rob", "contain attack="+card.id())
		w.ephemeral("rob", "Dry run: Deny "+attacker+" everywhere for 4 h. Nothing was sent",
			"add to list black: "+attacker, "by Rob Diaz (U0ROB0002)", "create vpatch sqli in post.form_urlencoded.login")
		w.types("rob", "mode Shop block")
		w.confirms("rob", "Before you do")
		w.ephemeral("rob", "Dry run: Switch Shop to block for 2 h", "create mode block", "delete rule")
		w.types("ann", "allow 198.51.100.1")
		w.ephemeral("ann", "Dry run: Allow 198.51.100.1")
		require.Empty(t, w.sent(), "no request that changes anything reached the service")
		require.Len(t, w.shown("#waf"), 2)
		require.True(t, w.journal.has(`"outcome":"dry_run"`, "U0ROB0002"), "audited as what it was")
	})
}

// What a running bot shows follows Prometheus' conventions, holds what happened, and nothing that an attacker wrote.
func TestMetricsOfARunningBot(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.message("#waf", "wafbot watches acme")
		w.attack(waf.AttackSpec{Path: "/x9k-written-by-an-attacker", Hits: 100, Vulnerability: sqlHole()})
		w.card("/x9k-written-by-an-attacker").click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker)
		w.types("vic", "deny 203.0.113.9")
		w.ephemeral("vic", "responder")

		_, page := w.get("/metrics")
		found, err := promlint.New(strings.NewReader(page)).Lint()
		require.NoError(t, err)
		require.Empty(t, found)
		require.NotContains(t, page, "x9k")
		build := version.Get()
		require.Contains(t, page, `wafbot_build_info{commit="`+build.Commit+`",go_version="`+build.Go+`",version="`+build.Version+`"} 1`)
		for series, want := range map[string]float64{
			`wafbot_account_owned{account="acme"}`: 1, `wafbot_account_reachable{account="acme"}`: 1, `wafbot_account_capped{account="acme"}`: 0,
			`wafbot_account_permission_lost{account="acme"}`: 0, `wafbot_account_poll_interval_seconds{account="acme"}`: 0.25,
			`wafbot_changes_total{outcome="done",verb="deny"}`: 1, `wafbot_changes_total{outcome="refused",verb="deny"}`: 1,
			`wafbot_redis_up`: 1, `wafbot_slack_up`: 1, `wafbot_replicas`: 1, `wafbot_requests_waiting`: 0, `wafbot_approvals_waiting{account="acme"}`: 0,
		} {
			require.Equal(t, want, w.metric(series), series)
		}
		require.Positive(t, w.metric(`wafbot_account_attacks{account="acme"}`), "what the denial stops may be listed as one, too")
		require.Positive(t, w.metric(`wafbot_slack_calls_total{method="chat.postMessage",outcome="ok"}`))
		require.Positive(t, w.metric(`wafbot_poll_duration_seconds_count{account="acme"}`))
		require.WithinDuration(t, time.Now(), time.UnixMilli(int64(1000*w.metric(`wafbot_account_last_good_poll_timestamp_seconds{account="acme"}`))), time.Minute)
		require.Positive(t, w.metric("go_goroutines"))
		require.Positive(t, w.metric("process_start_time_seconds"))
		_, ready := w.get("/readyz")
		require.Contains(t, ready, `"version":"`+build.String()+`"`)
	})
}

// metric is the value of a series in /metrics; below 0: there is none.
func (w *world) metric(series string) float64 {
	w.t.Helper()
	_, page := w.get("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(page)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(w.t, err)
	return value
}

// Slack delivers over one way or the other. Should a delivery ever come over both, it has one effect all the same.
func TestTheSameOverBothWays(t *testing.T) {
	overOne(t, workspace.IngressBoth, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "contain attack="+card.id())
		w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted", "Patch exactly POST shop.example.com/login")
		card.says("Deny "+attacker+" · ", "Rob Diaz", "Patch POST shop.example.com/login")
		require.Len(t, w.entries("acme"), 1)
		require.Len(t, w.rules("acme", "vpatch"), 1)

		w.writes("rob", "#waf", card.ts, `@wafbot note "the partner's scanner"`)
		w.types("rob", "note attack="+card.id()+" seen")
		card.says("2 notes under Details")
		w.types("ann", "handover to=@me attack="+card.id())
		card.says("<@U0ANN0001> is on it")
		done := plain(w.ephemeral("rob", "Deny "+attacker, "accepted"))
		w.types("rob", "extend "+changeIn(done)+" for=1h")
		w.ephemeral("rob", "Extend")
		w.types("ann", "undo "+changeIn(done))
		w.ephemeral("ann", "Undo of: Deny "+attacker)
		w.until("nothing denied", func() bool { return len(w.entries("acme")) == 0 })
		require.Len(t, w.rules("acme", "vpatch"), 1, "each has its own undo")
		_, patch, _ := strings.Cut(done, "Patch exactly")
		w.types("ann", "undo "+changeIn(patch))
		w.ephemeral("ann", "Undo of: Patch exactly")
		require.Empty(t, w.rules("acme", "vpatch"))
		w.types("rob", "attack "+card.id())
		answer := w.ephemeral("rob", "First hit").Plain()
		require.Equal(t, 1, strings.Count(answer, "the partner's scanner"), answer)
		require.Equal(t, 1, strings.Count(answer, "seen"), answer)
		w.types("rob", "note attack="+card.id()+" last") // whatever was answered twice came before
		card.says("3 notes under Details")
		require.Len(t, w.ephemerals("rob", "First hit"), 1)
		require.Empty(t, w.ephemerals("rob", "done already"))
		w.until("the thread says who has it", func() bool { return len(card.replies("takes this attack over")) > 0 })
		require.Len(t, card.replies("takes this attack over"), 1)
	})
}

// A replica whose machine's clock is an hour ahead takes clicks, and what it denies ends when it should. It says that its clock is wrong.
func TestAMachineWhoseClockIsAnHourAhead(t *testing.T) {
	ahead := func(w *world) { w.clocks = clock.NewAhead(time.Hour) }
	story(t, ahead, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("SQL injection", attacker)
		began := time.Now()
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted by the service", "by Rob Diaz")
		ends := w.expires(attacker + "/32")
		require.WithinRange(t, ends, began.Add(4*time.Hour-time.Second), time.Now().Add(4*time.Hour+time.Second), "by the service's clock, in whole seconds")
		card.shows(ends)
		w.types("ann", "deny 198.51.100.96/28 for=1h attack="+card.id())
		w.ephemeral("ann", "Deny 198.51.100.96/28 everywhere for 1 h: accepted")

		w.until("a warning", func() bool {
			return w.journal.has("this machine's clock and redis' are apart", "ahead=1h0m0s")
		})
		status, _ := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		_, metrics := w.get("/metrics")
		for _, against := range []string{"redis", "service"} {
			require.InDelta(t, -time.Hour.Seconds(), clockOffset(t, metrics, against), 5, against)
		}
	})
}

// clockOffset is what /metrics says of how far a clock is from the machine's, in seconds.
func clockOffset(t *testing.T, metrics, against string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^wafbot_clock_offset_seconds\{against="` + against + `"\} (\S+)$`).FindStringSubmatch(metrics)
	require.NotNil(t, found, against)
	offset, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return offset
}
