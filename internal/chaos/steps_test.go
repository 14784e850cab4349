package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

var (
	struck = flag.String("chaos.steps", "1", "how many strikes are tried in each story, chosen by -chaos.seed; or all")
	named  = flag.String("chaos.strike", "", "try only strikes whose name holds this, as a failure prints it")
	worlds = flag.Int("chaos.worlds", 16, "how many worlds there are at a time")
)

// TestSteps plays each story once, and again for each step in it: there the replica is killed, or stopped for so long
// that it loses what it holds; or, where another one waits for what it decided, held up alone in this one call.
func TestSteps(t *testing.T) {
	full.Only(t)
	besideEachOther(t)
	c := &campaign{t: t, binary: build(t), worlds: make(chan struct{}, *worlds)}
	all := slices.DeleteFunc(stories(), func(s story) bool { return s.long && *struck != "all" })
	tallies := make([]*tally, len(all))
	var played sync.WaitGroup
	for i, s := range all {
		tallies[i] = &tally{story: s.name, done: map[string]int{}}
		played.Go(func() { c.strikeAll(s, tallies[i]) })
	}
	played.Wait()
	fmt.Print(table(tallies))
}

// campaign plays stories in parallel, because they mostly wait.
type campaign struct {
	t      *testing.T
	binary string
	worlds chan struct{}
}

// run runs a test of its own when there is room for its world.
func (c *campaign) run(name string, do func(t *testing.T)) {
	c.worlds <- struct{}{}
	defer func() { <-c.worlds }()
	c.t.Run(name, do)
}

// strikeAll plays a story with every strike, or with some.
func (c *campaign) strikeAll(s story, sum *tally) {
	var steps []step
	c.run(s.name, func(t *testing.T) { steps = s.record(t, c.binary) })
	sum.steps = len(steps)
	var plays sync.WaitGroup
	for _, one := range some(s, strikesAt(steps, s.blows())) {
		plays.Go(func() {
			c.run(s.name+": "+one.String(), func(t *testing.T) {
				o := s.play(t, c.binary, one)
				sum.add(one, o)
				require.True(t, o.clean(), "%+v %q", *o.verdict, o.wrong)
			})
		})
	}
	plays.Wait()
}

// blows are those that the story is played with.
func (s story) blows() []blow {
	if s.two {
		return []blow{heldUp, killed, restarted, stopped}
	}
	return []blow{killed, restarted, stopped}
}

// strikesAt lists all strikes with these blows at these steps.
func strikesAt(all []step, blows []blow) (found []strike) {
	for _, one := range all {
		for _, m := range []moment{before, after} {
			for _, b := range blows {
				found = append(found, strike{one, m, b})
			}
		}
	}
	return found
}

// some are as many of the strikes as are wanted.
func some(s story, all []strike) []strike {
	all = slices.DeleteFunc(all, func(one strike) bool { return !strings.Contains(s.name+": "+one.String(), *named) })
	n, err := strconv.Atoi(*struck)
	if err != nil || n > len(all) {
		return all
	}
	dice := rand.New(rand.NewPCG(*seed, uint64(len(s.name))))
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n]
}

// reads are the commands that change nothing in Redis.
var reads = regexp.MustCompile(`^([HM]?GET|HVALS|HGETALL|HKEYS|SMEMBERS|EXISTS|ZRANGE) `)

// record plays a story without faults and returns all the steps in it. Of what also goes on when nothing happens, and
// of reads, each kind is one step.
func (s story) record(t *testing.T, binary string) []step {
	p := openPlay(t, binary, false, s.apart)
	s.open(p)
	p.trap.arm(nil, strike{})
	pause(t.Context(), 3*time.Second)
	idle := p.trap.seen()
	p.trap.arm(nil, strike{})
	s.act(p)
	o := p.end(s)
	require.True(t, o.clean(), "without faults: %+v %q", *o.verdict, o.wrong)
	steps := slices.DeleteFunc(p.trap.seen(), func(one step) bool {
		often := reads.MatchString(one.kind) || slices.ContainsFunc(idle, func(other step) bool { return other.kind == one.kind })
		return one.n > 1 && often
	})
	for _, one := range steps {
		t.Log(one)
	}
	return steps
}

// open brings a play to where the story begins.
func (s story) open(p *play) {
	state, err := p.world.service("acme")
	require.NoError(p.t, err)
	p.modes = modes(state)
	s.eve(p)
	p.ready()
}

// late is how long a step may take to come.
const late = modeFor + 5*time.Second

// play plays a story with a strike, and returns the outcome.
func (s story) play(t *testing.T, binary string, one strike) outcome {
	p := openPlay(t, binary, one.blow != restarted, s.apart)
	s.open(p)
	p.trap.arm(p.target, one)
	over := make(chan struct{})
	var follow sync.WaitGroup
	follow.Go(func() { p.follow(one, over) })
	s.act(p)
	select {
	case <-p.trap.struck:
	case <-time.After(late): // it doesn't come in every play
	}
	o := p.end(s)
	o.struck = closed(p.trap.struck)
	close(over)
	follow.Wait()
	return o
}

// tally counts the outcomes of a story's plays.
type tally struct {
	story string
	steps int

	mu                         sync.Mutex
	done                       map[string]int // by moment and blow
	missed, lost, twice, wrong int
}

func (y *tally) add(one strike, o outcome) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if o.struck {
		y.done[one.column()]++
	} else {
		y.missed++
	}
	y.lost += len(o.lost)
	y.twice += len(o.twice)
	y.wrong += len(o.orphans) + len(o.unaudited) + len(o.wrong)
}

// column is where a strike is counted.
func (s strike) column() string { return string(s.moment) + " " + string(s.blow) }

// table is the report.
func table(all []*tally) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\t\tkilled\t\trestarted\t\tstopped\t\theld up\t\tnever\t\t\twrong")
	fmt.Fprintln(w, "story\tsteps"+strings.Repeat("\tbefore\tafter", 4)+"\tcame\tlost\ttwice\totherwise")
	for _, one := range all {
		fmt.Fprintf(w, "%s\t%d", one.story, one.steps)
		for _, bl := range []blow{killed, restarted, stopped, heldUp} {
			for _, m := range []moment{before, after} {
				fmt.Fprintf(w, "\t%d", one.done[strike{moment: m, blow: bl}.column()])
			}
		}
		fmt.Fprintf(w, "\t%d\t%d\t%d\t%d\n", one.missed, one.lost, one.twice, one.wrong)
	}
	_ = w.Flush()
	return b.String()
}
