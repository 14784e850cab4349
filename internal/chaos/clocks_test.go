package chaos

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
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

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/wrongclock"
)

// patchFor is how long a patch lasts that wafbot removes, and denyFor a denial, which the service ends.
const (
	patchFor = 15 * time.Second
	denyFor  = 10 * time.Minute
)

// timed is a play whose replicas may have wrong clocks. The world's and Slack's clocks are right, and Redis' is what
// the test makes of it.
type timed struct {
	*play
	binary string
	wire   *proxytest.Proxy // before Redis
}

func openTimed(t *testing.T, binary string) *timed {
	p := &timed{play: &play{round: &round{t: t, logs: t.TempDir(), single: redistest.Start(t), did: map[string]int{}}}, binary: binary}
	p.wire = proxytest.Start(t, p.single.Addr)
	p.world = openWorld(t, binary, p.logs, balance(t, func() []*replica { return *p.takes.Load() }))
	p.deliverTo()
	return p
}

// addAt starts a replica whose machine's clock is wrong by so much.
func (p *timed) addAt(clock string) *replica {
	p.t.Helper()
	config := filepath.Join(p.logs, fmt.Sprintf("wafbot%d.yaml", len(p.replicas)))
	text := fmt.Sprintf(`
slack: {bot_token: %s, signing_secret: %s, api_url: "%s/slack/api/"}
redis: {url: "redis://%s/0"}
sources: []
policy: {changes: on, admins: [U0ANN0001], durations: {patch: %.0fs, deny: %.0fs}}
accounts:
  - {name: acme, api_url: "%s/service", token: sandbox-token-acme, client_id: 5, channel: C0WAF0001, poll_interval: 500ms, routes: [{match: {min_hits: 1}}]}
`, p.world.env["WAFBOT_SLACK_BOT_TOKEN"], p.world.env["WAFBOT_SLACK_SIGNING_SECRET"], p.world.url, p.wire.Addr(), patchFor.Seconds(), denyFor.Seconds(), p.world.url)
	require.NoError(p.t, os.WriteFile(config, []byte(text), 0o600))
	one := p.add(p.binary, config, clock)
	p.deliverTo(p.replicas...)
	return one
}

// page is what a replica shows at a path.
func (p *timed) page(r *replica, path string) string {
	answer, err := http.Get("http://" + r.at() + path)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	return string(text)
}

// shows waits until a replica shows something at a path.
func (p *timed) shows(r *replica, path, what string) {
	p.t.Helper()
	p.await(path+" of "+fmt.Sprint(r.number)+": "+what, func() bool { return strings.Contains(p.page(r, path), what) })
}

func (p *timed) logged(what string) bool {
	files, err := filepath.Glob(filepath.Join(p.logs, "replica*.err"))
	require.NoError(p.t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte(what))
	})
}

// begin begins an attack, patches it for patchFor, and returns when that was asked.
func (p *timed) begin() (asked time.Time) {
	p.t.Helper()
	p.start()
	p.await("the card", p.posted)
	asked = time.Now()
	p.types("patch attack=" + p.attack)
	p.await("a patch", p.patched)
	return asked
}

// patched reports whether the service has a patch.
func (p *timed) patched() bool {
	s, err := p.world.service("acme")
	require.NoError(p.t, err)
	return slices.ContainsFunc(s.Rules, func(r rule) bool { return r.Type == "vpatch" })
}

// ends waits until the patch is removed, and holds that this wasn't too early. The service counts whole seconds.
func (p *timed) ends(asked time.Time) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return !p.patched() }, time.Minute, 100*time.Millisecond, "the patch is never removed")
	require.GreaterOrEqual(p.t, time.Since(asked), patchFor-2*time.Second, "the patch is removed too early")
}

// denies clicks a denial, and holds that the service ends it when it should.
func (p *timed) denies() {
	p.t.Helper()
	p.click("deny ")
	var made entry
	p.await("a denial", func() bool {
		s, err := p.world.service("acme")
		i := slices.IndexFunc(s.IPRules, func(e entry) bool { return e.List == "black" && e.Subnet == source+"/32" })
		if err == nil && i >= 0 {
			made = s.IPRules[i]
		}
		return i >= 0
	})
	require.InDelta(p.t, denyFor.Seconds(), float64(made.Ends-made.Made), 30, "by the service's clock")
}

// TestReplicasWithWrongClocks compiles the whole program with a clock that can be set wrong, which takes minutes: make
// test has a story instead, of a machine that is an hour ahead.
func TestReplicasWithWrongClocks(t *testing.T) {
	full.Only(t)
	if !*wrongClocks {
		t.Skip("run make chaos")
	}
	besideEachOther(t)
	binary := build(t, wrongclock.Flags(t)...)
	for name, clock := range map[string]string{
		"20 s ahead": "0s:20s", "5 min behind": "0s:-5m", "an hour ahead": "0s:1h", "3 days behind": "0s:-72h", "set forward while it runs": "0s:0s,8s:3h", "set back while it runs": "0s:0s,8s:-26h,16s:2h",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openTimed(t, binary)
			one := p.addAt(clock)
			asked := p.begin()
			p.denies()
			p.await("a line in the log", func() bool { return p.logged("this machine's clock and redis' are apart") })
			require.Regexp(t, `wafbot_clock_offset_seconds\{against="redis"\} -?\d`, p.page(one, "/metrics"))
			require.Regexp(t, `wafbot_clock_offset_seconds\{against="service"\} -?\d`, p.page(one, "/metrics"))
			p.ends(asked)
		})
	}
	t.Run("beside a right one", func(t *testing.T) {
		t.Parallel()
		p := openTimed(t, binary)
		wrong := p.addAt("0s:1h")
		p.shows(wrong, "/readyz", `"last_good"`)
		p.deliverTo(wrong)
		asked := p.begin()
		one := p.addAt("")
		p.shows(one, "/readyz", `"acme":{"elsewhere":true}`)
		p.deliverTo(wrong)
		p.denies()
		p.ends(asked)
		wrong.kill()
		p.deliverTo(one)
		p.shows(one, "/readyz", `"last_good"`)
		asked = p.begin()
		require.NoError(t, wrong.start())
		p.shows(wrong, "/readyz", `"acme":{"elsewhere":true}`)
		one.kill()
		p.deliverTo(wrong)
		p.shows(wrong, "/readyz", `"last_good"`) // alone it continues what the right one began
		p.ends(asked)
	})
	t.Run("no two clocks agree", func(t *testing.T) {
		t.Parallel()
		p := openTimed(t, binary)
		one := p.addAt("0s:1h")
		asked := p.begin()
		p.wire.SetFilters(nil, func(chunk []byte) ([]byte, bool) { return redistest.WrongTime(chunk, -2*time.Hour), true })
		p.await("Redis' is another", func() bool { return strings.Contains(p.page(one, "/metrics"), `against="redis"} -10`) }) // -10800 s
		p.ends(asked)                                                                                                          // by the service's
	})
	t.Run("Redis is wrong", func(t *testing.T) {
		t.Parallel()
		p := openTimed(t, binary)
		p.wire.SetFilters(nil, func(chunk []byte) ([]byte, bool) { return redistest.WrongTime(chunk, 4*time.Minute), true }) // over 5 min no signature is fresh
		p.addAt("")
		p.await("a line in the log", func() bool { return p.logged("this machine's clock and redis' are apart") })
		asked := p.begin()
		p.denies()
		p.ends(asked)
	})
}

var restarts = flag.Int("chaos.restarts", 3, "how often the configuration is changed while people click; one in four is broken")

// What logs say, once for each time.
const (
	listens = "msg=listening "
	refuses = `msg="configuration can't be used: the one before counts"`
)

// widestGap is for how long an app with one replica may be without a link at a restart.
const widestGap = 2 * time.Second

// A changed configuration is taken by a restart in place, one replica after the other, and a broken one isn't, while
// people click and attacks arrive.
func TestRestartsInPlace(t *testing.T) {
	full.Only(t)
	binary := build(t)
	for _, c := range []struct {
		name string
		plan plan
	}{
		{"http", plan{seed: 3, mix: kept, replicas: 1}},
		{"socket mode, two replicas", plan{seed: 1, mix: kept, replicas: 2}},
		{"socket mode, one replica", plan{seed: 1, mix: kept, replicas: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			besideEachOther(t)
			r := openRound(t, binary, c.plan)
			gaps := r.restart(*restarts)
			v := r.settle()
			t.Logf("%s: %d changes, %d requests, %d not acknowledged, %d cards; links gone for %v",
				c.name, *restarts, len(r.requests), len(r.unheard), v.attacks, gaps)
			require.True(t, v.clean(), "lost or done twice; logs in %s\n%s", r.logs, v.lines())
			if r.ways == "http" || c.plan.replicas > 1 {
				require.Empty(t, r.unheard, "not acknowledged; logs in %s", r.logs)
				require.True(t, r.ways == "http" || len(gaps) == 0, "there was no link: %v", gaps)
				return
			}
			for _, gap := range gaps {
				require.Less(t, gap, widestGap)
			}
		})
	}
}

// restart changes the configuration so many times under load. It returns for how long there was no link.
func (r *round) restart(times int) (gaps []time.Duration) {
	ctx, stop := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() { r.attack(ctx, r.plan.random(1)) })
	for n := range 2 * len(people()) {
		busy.Go(func() { r.act(ctx, people()[n%len(people())], r.plan.random(uint64(10+n))) })
	}
	busy.Go(func() { gaps = r.gaps(ctx) })
	defer busy.Wait()
	defer stop()
	file := r.replicas[0].config
	good, err := os.ReadFile(file)
	require.NoError(r.t, err)
	many := 15 * len(r.replicas) // between two changes: Slack lets an app open 50 links a minute
	for n := range times {
		r.acted(many)
		text, says := fmt.Appendf(slices.Clone(good), "runbooks: {sqli: 'https://runbooks.example.com/%d'}\n", n), listens
		if n%4 == 2 {
			text, says = append(text, "polcy: {}\n"...), refuses
		}
		require.NoError(r.t, os.WriteFile(file, text, 0o600))
		before := r.logged(says)
		for _, one := range r.replicas {
			one.process.signal(syscall.SIGHUP)
		}
		require.Eventually(r.t, func() bool {
			now := r.logged(says)
			for i := range now {
				if now[i] == before[i] {
					return false
				}
			}
			return true
		}, startPatience, 20*time.Millisecond, "change %d: %s; logs in %s", n, says, r.logs)
	}
	r.acted(many)
	return gaps
}

// logged is how often each replica's log says something.
func (r *round) logged(what string) (all []int) {
	for _, one := range r.replicas {
		log, err := os.ReadFile(filepath.Join(r.logs, fmt.Sprintf("replica%d.001.err", one.number)))
		require.NoError(r.t, err)
		all = append(all, bytes.Count(log, []byte(what)))
	}
	return all
}

// acted waits until people have acted so many times more.
func (r *round) acted(times int) {
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.requests)
	}
	before := count()
	enough := func() bool { return count() >= before+times }
	require.Eventually(r.t, enough, startPatience, 20*time.Millisecond, "nobody acts")
}

// gaps are the times for which there was no link, until the context ends.
func (r *round) gaps(ctx context.Context) (all []time.Duration) {
	if r.ways == "http" {
		return nil
	}
	var since time.Time
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for ctx.Err() == nil {
		<-look.C
		var slack struct{ Links int }
		if err := r.world.get("/slack", &slack); err != nil {
			r.t.Errorf("look for links: %v", err)
			return all
		}
		switch {
		case slack.Links == 0 && since.IsZero():
			since = time.Now()
		case slack.Links > 0 && !since.IsZero():
			all = append(all, time.Since(since).Round(time.Millisecond))
			since = time.Time{}
		}
	}
	return all
}
