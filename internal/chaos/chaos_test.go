// Package chaos runs several replicas of the shipped program under faults, against the emulated world and real Redis
// servers. It checks that nothing is lost and nothing is done twice.
package chaos

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/redistest"
)

var (
	seed     = flag.Uint64("chaos.seed", 1, "what decides what is done; the next rounds count up from it")
	lasts    = flag.Duration("chaos.for", 40*time.Second, "how long things go wrong in a round")
	replicas = flag.Int("chaos.replicas", 3, "how many replicas there are")
	which    = flag.String("chaos.mix", string(kept), "what Redis is and what happens to it, each in a round of its own: some of kept,emptied,cluster,sentinel,tls,reshard,outside")
	rounds   = flag.Int("chaos.rounds", 1, "how many rounds of each")

	wrongClocks = flag.Bool("chaos.clocks", false, "whether TestReplicasWithWrongClocks runs")
)

// TestChaos plays rounds. Each prints the command that repeats it.
func TestChaos(t *testing.T) {
	full.Only(t)
	besideEachOther(t)
	binary := build(t)
	for n := range *rounds {
		for name := range strings.SplitSeq(*which, ",") {
			p := plan{seed: *seed + uint64(n), mix: mix(name), lasts: *lasts, replicas: *replicas}
			if p.mix == outside {
				p.replicas = 1 + int(p.seed%2)
			}
			t.Run(fmt.Sprintf("%s/%d", p.mix, p.seed), func(t *testing.T) {
				fmt.Println("chaos:", p)
				r := openRound(t, binary, p)
				if r.intruder != nil {
					r.playOutside()
				} else {
					r.play()
				}
				v := r.settle()
				report := r.report(v)
				fmt.Print(report)
				if !v.clean() {
					r.dump()
				}
				require.True(t, v.clean(), "lost or done twice; %s; logs in %s\n%s", p, r.logs, v.lines())
			})
		}
	}
}

// besideEachOther runs a test in parallel with others, which mostly wait, unless it is a long round, which needs the
// whole machine.
func besideEachOther(t *testing.T) {
	if *struck != "all" {
		t.Parallel()
	}
}

// building is held while the program is compiled: the second time only links it.
var building sync.Mutex

// build compiles the program as it is shipped, but without -trimpath: so it shares what it compiles with the tests that
// run without the race detector.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	binary := filepath.Join(t.TempDir(), "wafbot")
	cmd := exec.Command("go", slices.Concat([]string{"build", "-ldflags", "-s -w", "-o", binary}, flags, []string{"../../cmd/wafbot"})...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// How long the bot may take to reach the wanted state, and how long it must stay there. A change of unknown outcome is
// verified for half a minute or more before the account's next change, and there may be several.
const (
	settlePatience = 4 * time.Minute
	settled        = 8 * time.Second
)

// settle waits until nothing is wrong and nothing changes any more, or until the time is over.
func (r *round) settle() *verdict {
	r.t.Helper()
	var last *verdict
	since, end := time.Now(), time.Now().Add(settlePatience)
	every := time.NewTicker(2 * time.Second)
	defer every.Stop()
	for {
		v := judge(r.observe())
		if !v.same(last) || !v.clean() {
			since = time.Now()
		}
		if last != nil && len(v.lost) < len(last.lost) { // a channel takes a message a second: what waited for a minute goes on being posted
			end = time.Now().Add(settlePatience)
		}
		last = v
		if now := <-every.C; now.Sub(since) >= settled || now.After(end) {
			return v
		}
	}
}

// report is the round's table.
func (r *round) report(v *verdict) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "chaos, seed %d, %s, wait_replicas %d, %d replicas, deliveries by %s\n\nfault\tdone\n", r.plan.seed, r.plan.mix, r.plan.copies(), r.plan.replicas, r.ways)
	sum := 0
	for _, name := range slices.Sorted(maps.Keys(r.did)) {
		sum += r.did[name]
		fmt.Fprintf(table, "%s\t%d\n", name, r.did[name])
	}
	fmt.Fprintf(table, "all\t%d\n\n\tnumber\tonce\trefused in words\n", sum)
	fmt.Fprintf(table, "attacks posted\t%d\t%d\t\n", v.attacks, v.postedOnce)
	fmt.Fprintf(table, "became incidents\t%d\t\t\n", v.worse)
	fmt.Fprintf(table, "acknowledged clicks and lines\t%d\t%d\t%d\n\n", v.acknowledged, v.effect, v.worded)
	fmt.Fprintf(table, "lost\t%d\ntwice\t%d\norphans\t%d\nunaudited\t%d\n", len(v.lost), len(v.twice), len(v.orphans), len(v.unaudited))
	fmt.Fprintf(table, "only Redis held it (apart)\t%d\nprolonged\t%d\n", len(v.apart), v.prolonged)
	_ = table.Flush()
	return b.String() + lines("apart", v.apart)
}

// dump has the replicas that live write what their goroutines do into their logs, and end.
func (r *round) dump() {
	for _, one := range r.replicas {
		if p := one.process; p != nil {
			p.signal(syscall.SIGQUIT)
			<-p.ended
		}
	}
}

// lines lists what is wrong.
func (v *verdict) lines() string {
	return lines("lost", v.lost) + lines("twice", v.twice) + lines("orphan", v.orphans) + lines("unaudited", v.unaudited)
}

func lines(kind string, found []string) string {
	var b strings.Builder
	for _, what := range found {
		fmt.Fprintf(&b, "%s: %s\n", kind, what)
	}
	return b.String()
}

// mix is what kind of Redis a round has, and what is done to it.
type mix string

// The mixes.
const (
	kept     mix = "kept"     // one that is killed, and back with all it held
	emptied  mix = "emptied"  // one that also comes back empty
	cluster  mix = "cluster"  // three masters with a replica each, masters are killed
	sentinel mix = "sentinel" // a master with two replicas, masters are killed
	secured  mix = "tls"      // a cluster over TLS, whose user may do no more than it must; masters are killed
	reshard  mix = "reshard"  // the same, and slots are moved from master to master
)

// plan is a round: with the same plan the same is done.
type plan struct {
	seed     uint64
	mix      mix
	lasts    time.Duration
	replicas int
	brief    bool // attacks, what is done against them, and what is stored of both end within minutes
}

// copies is wait_replicas: how many replicas of Redis must have what counts.
func (p plan) copies() int {
	switch p.mix {
	case cluster, sentinel:
		return int(p.seed % 2)
	case secured, reshard:
		return 1
	}
	return 0
}

// String is how the round is played again.
func (p plan) String() string {
	return fmt.Sprintf("-chaos.seed=%d -chaos.mix=%s -chaos.for=%s -chaos.replicas=%d", p.seed, p.mix, p.lasts, p.replicas)
}

// random gives each of the round's actors its own random source, so that the actors don't influence each other.
func (p plan) random(actor uint64) *rand.Rand { return rand.New(rand.NewPCG(p.seed, actor)) }

// round is a plan being played.
type round struct {
	verified atomic.Bool // the events address answered its challenge
	t        testing.TB
	plan     plan
	logs     string
	world    *world
	replicas []*replica
	wires    []*wire
	single   *redistest.Server // nil: it is a set
	set      *redistest.Set
	intruder *intruder // nil: nobody stands between
	begun    time.Time
	ways     string // in which Slack delivers

	mu        sync.Mutex
	requests  []*request
	unheard   []string // requests that weren't acknowledged at once
	incidents []incident
	losses    []loss         // when Redis lost data
	did       map[string]int // faults by name
}

// loss is a time when Redis may have lost what it held.
type loss struct {
	At    time.Time
	What  mix
	Posts []string // deliveries that only the killed master knew to be under way
}

// openRound starts everything and waits until the bot polls.
func openRound(t testing.TB, binary string, p plan) *round {
	t.Helper()
	logs := logsOf(t, "chaos")
	r := &round{t: t, plan: p, logs: logs, did: map[string]int{}}
	r.world = openWorld(t, binary, logs, balance(t, func() []*replica { return r.replicas }))
	upstream := r.world.url[len("http://"):]
	redis, slack, service := r.openBetween(upstream)
	config := filepath.Join(logs, "wafbot.yaml")
	require.NoError(t, os.WriteFile(config, []byte(r.config(redis, slack, service)), 0o600))
	for range p.replicas {
		r.add(binary, config, "")
	}
	r.ways = []string{"http", "socket", "either"}[p.seed%3]
	require.NoError(t, r.world.post("/slack/ingress", map[string]string{"ingress": r.ways}, &struct{}{}))
	r.awaitWatch()
	r.begun = time.Now()
	return r
}

// openBetween starts the round's Redis and what stands between the replicas and the rest. It returns how they are
// configured for Redis, and the hosts of Slack and the service.
func (r *round) openBetween(upstream string) (redis, slack, service string) {
	r.t.Helper()
	if r.plan.mix == outside {
		return r.openOutside(upstream)
	}
	toSlack, toService := newWire(r.t, "slack", upstream), newWire(r.t, "service", upstream)
	r.wires = []*wire{toSlack, toService}
	return r.openRedis(), toSlack.proxy.Addr(), toService.proxy.Addr()
}

// openRedis starts the round's Redis and returns how the replicas are configured for it.
func (r *round) openRedis() string {
	r.t.Helper()
	switch r.plan.mix {
	case cluster:
		r.set = redistest.StartCluster(r.t, nil)
	case sentinel:
		r.set = redistest.StartSentinel(r.t, nil)
	case kept, emptied:
		r.single = redistest.StartDurable(r.t)
		w := newWire(r.t, "redis", r.single.Addr)
		r.wires = append(r.wires, w)
		return fmt.Sprintf(`url: "redis://%s/0"`, w.proxy.Addr())
	case secured, reshard:
		by := redistest.NewSecured(r.t)
		r.set = redistest.StartCluster(r.t, by)
		return fmt.Sprintf(`url: "%s", key_prefix: "wafbot:", tls: {ca_file: %s, cert_file: %s, key_file: %s}`, r.set.URL, by.CAFile, by.CertFile, by.KeyFile)
	default:
		r.t.Fatalf("there is no mix %q", r.plan.mix)
	}
	return fmt.Sprintf(`url: "%s"`, r.set.URL) // its servers name each other, so nothing can stand between
}

// config is the replicas' configuration.
func (r *round) config(redis, slack, service string) string {
	durations, lookback, keep, hits := "", "24h", "400d", 1
	if r.plan.brief {
		durations, lookback, keep, hits = ", durations: {deny: 1m, patch: 1m, mode: 1m}", "45s, ongoing_for: 30s", "1m", leastHits
	}
	text := fmt.Sprintf(`
slack: {bot_token: %s, app_token: %s, signing_secret: %s, api_url: "http://%s/slack/api/"}
redis: {%s, wait_replicas: %d}
sources: [{name: our CDN, ranges: [192.0.2.0/24]}]
policy: {changes: on, admins: [U0ANN0001], responders: [U0ROB0002, U0VIC0003]%s}
audit: {keep: %s}
accounts:
`, r.world.env["WAFBOT_SLACK_BOT_TOKEN"], r.world.env["WAFBOT_SLACK_APP_TOKEN"], r.world.env["WAFBOT_SLACK_SIGNING_SECRET"], slack, redis, r.plan.copies(), durations, keep)
	every := []string{"250ms", "500ms", "1s"}[r.plan.seed/3%3]
	for _, a := range accounts() {
		text += fmt.Sprintf(`
  - {name: %s, api_url: "http://%s/service", token: sandbox-token-%s, client_id: %d, channel: %s, poll_interval: %s, lookback: %s, storm: {over: 100000},
     routes: [{match: {type: xss, min_hits: %d}, channel: %s}, {match: {min_hits: %d}}]}
`, a.name, service, a.name, a.client, a.channel, every, lookback, hits, elsewhere, hits)
	}
	return text
}

// awaitWatch waits until the bot has greeted each channel that it watches an account from, and has links where Slack
// needs them.
func (r *round) awaitWatch() {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		for _, a := range accounts() {
			messages, err := r.world.messages("ann", a.channel)
			if err != nil || len(messages) == 0 {
				return false
			}
		}
		var slack struct{ Links int }
		return r.world.get("/slack", &slack) == nil && (slack.Links > 0 || r.ways == "http")
	}, startPatience, 200*time.Millisecond, "the bot never watched")
}

// play runs attackers, people and faults for as long as planned, and ends all faults.
func (r *round) play() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), r.plan.lasts)
	defer cancel()
	var busy sync.WaitGroup
	busy.Go(func() { r.attack(ctx, r.plan.random(1)) })
	for n := range people() {
		busy.Go(func() { r.act(ctx, people()[n], r.plan.random(uint64(10+n))) })
	}
	busy.Go(func() { r.wreck(ctx, r.plan.random(2)) })
	busy.Wait()
	require.NoError(r.t, r.world.post("/faults/clear", struct{}{}, &struct{}{}))
}

// count counts a fault.
func (r *round) count(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did[fault]++
}

// lost records that Redis may lose data now, and which posts it forgot. Where replicas of Redis must have
// what counts, it loses none of that.
func (r *round) lost(posts ...string) {
	if r.plan.copies() > 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses = append(r.losses, loss{time.Now(), r.plan.mix, posts})
}
