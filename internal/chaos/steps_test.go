package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	steps   = flag.String("chaos.steps", "2", "how many strikes of each story are tried, chosen by -chaos.seed, or all")
	only    = flag.String("chaos.story", "", "only stories whose name holds this")
	only1   = flag.String("chaos.strike", "", "only strikes whose name holds this")
	at_once = flag.Int("chaos.worlds", 12, "how many worlds there are at a time")
)

// TestSteps plays each story once, and then again for each step in it, with the replica killed or stopped there.
func TestSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("starts redis-server, and takes a while")
	}
	binary := build(t)
	worlds := make(chan struct{}, *at_once)
	var all sync.WaitGroup
	tables := make([]tally, len(stories()))
	for i, s := range stories() {
		if !strings.Contains(s.name, *only) {
			continue
		}
		all.Go(func() { tables[i] = s.strikeAll(t, binary, worlds) })
	}
	all.Wait()
	fmt.Print(table(tables))
}

// tally is what came of a story's plays.
type tally struct {
	story              string
	steps, missed      int
	done               map[string]int // by moment and blow
	lost, twice, wrong int
}

// strikeAll plays a story with every strike, or with some.
func (s story) strikeAll(t *testing.T, binary string, worlds chan struct{}) tally {
	sum := tally{story: s.name, done: map[string]int{}}
	var seen []step
	worlds <- struct{}{}
	t.Run(s.name, func(t *testing.T) { seen = s.record(t, binary) })
	<-worlds
	sum.steps = len(seen)
	var mu sync.Mutex
	var plays sync.WaitGroup
	for _, one := range choose1(s.name, strikes(seen)) {
		plays.Go(func() {
			worlds <- struct{}{}
			defer func() { <-worlds }()
			t.Run(s.name+": "+one.String(), func(t *testing.T) {
				v, wrong, hit := s.play(t, binary, one)
				mu.Lock()
				defer mu.Unlock()
				if !hit {
					sum.missed++
				} else {
					sum.done[string(one.moment)+string(one.blow)]++
				}
				sum.lost += len(v.lost)
				sum.twice += len(v.twice)
				sum.wrong += len(v.orphans) + len(v.unaudited) + len(wrong)
				require.True(t, v.clean() && len(wrong) == 0, "%+v %q", *v, wrong)
			})
		})
	}
	plays.Wait()
	return sum
}

// record plays a story without faults, with one replica, and returns all the steps in it. Of what also goes on when nothing happens, each kind is one step.
func (s story) record(t *testing.T, binary string) []step {
	p := openPlay(t, binary, false)
	s.open(p)
	p.trap.arm(nil, strike{})
	time.Sleep(3 * time.Second)
	always := map[string]bool{}
	for _, one := range p.trap.seen() {
		always[one.kind] = true
	}
	p.trap.arm(nil, strike{})
	s.act(p)
	v, wrong := p.end(s)
	require.True(t, v.clean() && len(wrong) == 0, "without faults: %+v %q", *v, wrong)
	all := slices.DeleteFunc(p.trap.seen(), func(one step) bool { return always[one.kind] && one.n > 1 })
	for _, one := range all {
		t.Log(one)
	}
	return all
}

// open brings a play to where the story begins.
func (s story) open(p *play) {
	state, err := p.world.service("acme")
	require.NoError(p.t, err)
	p.modes = modes(state)
	s.eve(p)
	p.ready()
}

// strikes are all that can go wrong in these steps.
func strikes(all []step) (found []strike) {
	for _, one := range all {
		for _, m := range []moment{before, after} {
			for _, b := range []blow{killed, restarted, stopped} {
				found = append(found, strike{one, m, b})
			}
		}
	}
	return found
}

// choose1 chooses as many as are wanted.
func choose1(story string, all []strike) []strike {
	all = slices.DeleteFunc(all, func(s strike) bool { return !strings.Contains(s.String(), *only1) })
	n, err := strconv.Atoi(*steps)
	if err != nil || n > len(all) {
		return all
	}
	dice := rand.New(rand.NewPCG(*seed, uint64(len(story))))
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n]
}

// play plays a story with a strike, and returns what became of it; hit tells whether the step came at all.
func (s story) play(t *testing.T, binary string, one strike) (v *verdict, wrong []string, hit bool) {
	p := openPlay(t, binary, one.blow != restarted)
	s.open(p)
	p.trap.arm(p.replicas[0], one)
	over := make(chan struct{})
	var blows sync.WaitGroup
	blows.Go(func() { p.strikes(one, over) })
	s.act(p)
	select {
	case <-p.trap.begun:
		<-p.trap.struck
	case <-time.After(15 * time.Second): // a step that comes late, or never
	}
	v, wrong = p.end(s)
	hit = closed(p.trap.begun)
	close(over)
	blows.Wait()
	return v, wrong, hit
}

// table is the report.
func table(all []tally) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	columns := []string{}
	for _, m := range []moment{before, after} {
		for _, bl := range []blow{killed, restarted, stopped} {
			columns = append(columns, string(m)+string(bl))
		}
	}
	fmt.Fprintln(w, "story\tsteps\tbefore: killed\trestarted\tstopped\tafter: killed\trestarted\tstopped\tnever came\tlost\ttwice\twrong")
	for _, one := range all {
		if one.story == "" {
			continue
		}
		fmt.Fprintf(w, "%s\t%d", one.story, one.steps)
		for _, c := range columns {
			fmt.Fprintf(w, "\t%d", one.done[c])
		}
		fmt.Fprintf(w, "\t%d\t%d\t%d\t%d\n", one.missed, one.lost, one.twice, one.wrong)
	}
	_ = w.Flush()
	return b.String()
}
