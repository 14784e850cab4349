// Package chaos runs several replicas of the shipped program under faults, against the emulated world and real Redis
// servers. It checks that nothing is lost and nothing is done twice.
package chaos

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
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
