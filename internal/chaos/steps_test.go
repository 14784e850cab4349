package chaos

import (
	"flag"
	"fmt"
	"maps"
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

// story is something that wafbot does from beginning to end.
type story struct {
	name  string
	eve   func(p *play)                              // what goes before, without faults
	act   func(p *play)                              // what begins it
	wrong func(p *play, e *evidence) (what []string) // what isn't yet as it should be in the end
	apart bool                                       // another replica than the account's owner carries it out
	long  bool                                       // each play takes most of a minute: only where all strikes are tried
	two   bool                                       // the second of two meets what the first decides, on another replica once that is struck
}

// stories are all of them.
func stories() []story {
	nothing := func(*play) {}
	return []story{
		{name: "a new attack is posted", eve: nothing, act: (*play).start, wrong: stands(0, 0)},
		{name: "a card in doubt that is there", eve: nothing, act: posts("500_posted"), wrong: stands(0, 0)},
		{name: "a card in doubt that never arrived", eve: nothing, act: posts("500"), wrong: stands(0, 0)},
		{name: "a card without an answer that never arrived", eve: nothing, act: posts("timeout"), wrong: stands(0, 0), long: true},
		{name: "deny", eve: shown, act: clicks("deny "), wrong: stands(1, 0)},
		{name: "deny, made without an answer", eve: shown, act: denies("reset_applied"), wrong: stands(1, 0)},
		{name: "deny, never made without an answer", eve: shown, act: denies("reset"), wrong: stands(1, 0)},
		{name: "deny of two countries", eve: asked(countries), act: approve, wrong: lists("country:DE", "country:FR")},
		{name: "one of two countries taken off", eve: denied, act: func(p *play) { p.types("remove country:DE") }, wrong: lists("country:FR")},
		{name: "patch", eve: shown, act: func(p *play) { p.types("patch attack=" + p.attack) }, wrong: stands(0, 1)},
		{name: "contain", eve: shown, act: contains, wrong: stands(1, 1)},
		{name: "contain, by another one than watches", eve: shown, act: contains, wrong: stands(1, 1), apart: true},
		{name: "ack", eve: shown, act: func(p *play) { p.types("ack attack=" + p.attack) }, wrong: stands(0, 0)},
		{name: "an approval", eve: asked(forever), act: approve, wrong: approved},
		{name: "an approval by two", eve: asked(forever), act: both(approve, approveToo), wrong: approved, two: true},
		{name: "deny by two", eve: shown, act: both(types("ann", denial), types("rob", denial)), wrong: stands(1, 0), two: true},
		{name: "deny, delivered again", eve: shown, act: both(types("ann", denial), (*play).again), wrong: stands(1, 0), two: true},
		{name: "patch by two", eve: shown, act: both(types("ann", patch), types("rob", patch)), wrong: stands(0, 1), two: true},
		{name: "undo of a denial", eve: done("deny "), act: undoes, wrong: stands(0, 0)},
		{name: "undo of a denial, until it was looked whether the entry went", eve: done("deny "), act: undoes, wrong: verified, long: true},
		{name: "undo of a patch", eve: done("patch"), act: undoes, wrong: stands(0, 0)},
		{name: "undo of a mode", eve: done("mode "), act: undoes, wrong: stands(0, 0)},
		{name: "a mode for a time, and back", eve: hard, act: clicks("mode "), wrong: returned},
		{name: "it became an incident", eve: shown, act: works, wrong: replied},
		{name: "it became another route's incident", eve: func(p *play) {
			p.moves = true
			shown(p)
		}, act: works, wrong: moved},
		{name: "a storm", eve: nothing, act: storm, wrong: grouped},
	}
}

// shown is an attack with its card.
func shown(p *play) {
	p.start()
	p.await("the card", p.posted)
}

// hard is an attack's card with a button for the mode.
func hard(p *play) {
	p.hard = true
	shown(p)
}

// contains denies and patches: that button is a form.
func contains(p *play) { p.types("contain " + source + " attack=" + p.attack) }

// undoes types what the card's form of what can be undone has ticked.
func undoes(p *play) {
	var line string
	p.await("a button undo", func() bool { line = p.button("undo "); return line != "" })
	p.types(line)
}

// both makes a second person act when the first one's replica is struck. Without a strike the second acts soon after
// the first, on the same replica.
func both(first, second func(p *play)) func(p *play) {
	return func(p *play) {
		first(p)
		select {
		case <-p.trap.begun:
		case <-time.After(holdFor / 2):
		}
		second(p)
	}
}

func denial(p *play) string { return "deny " + source + " for=1h attack=" + p.attack }

func patch(p *play) string { return "patch attack=" + p.attack }

func types(name string, line func(p *play) string) func(p *play) {
	return func(p *play) {
		p.typesAs(name, map[string]string{"ann": "U0ANN0001", "rob": "U0ROB0002"}[name], line(p))
	}
}

// again delivers the last request again.
func (p *play) again() {
	p.mu.Lock()
	q := p.requests[len(p.requests)-1]
	p.mu.Unlock()
	p.await("delivered again", func() bool {
		var d delivery
		err := p.world.post(fmt.Sprintf("/slack/deliveries/%d/replay", q.Delivery), struct{}{}, &d)
		return err == nil && d.acknowledged()
	})
}

func clicks(begins string) func(p *play) { return func(p *play) { p.click(begins) } }

// done is a card, and the change that it offers was made.
func done(begins string) func(p *play) {
	return func(p *play) {
		if begins == "mode " {
			hard(p)
		} else {
			shown(p)
		}
		p.ready()
		if begins == "patch" {
			p.types("patch attack=" + p.attack)
		} else {
			p.click(begins)
		}
		p.await("undo", func() bool { return p.button("undo ") != "" })
	}
}

// posts begins an attack while the next post fails so.
func posts(kind string) func(p *play) {
	return func(p *play) {
		p.fault("slack", map[string]any{"kind": kind, "method": "chat.postMessage", "times": 1})
		p.start()
	}
}

// denies clicks the button while the next denial fails so.
func denies(kind string) func(p *play) {
	return func(p *play) {
		p.fault("service", map[string]any{"kind": kind, "endpoint": "POST /v4/ip_rules", "times": 1})
		p.click("deny ")
	}
}

func (p *play) fault(side string, f map[string]any) {
	require.NoError(p.t, p.world.post("/faults/"+side, f, &struct{}{}))
}

// asked has Anna type a line that needs approval.
func asked(line func(p *play) string) func(p *play) {
	return func(p *play) {
		p.types(line(p))
		p.await("the request", func() bool { return p.waits() != "" && p.says("APPROVAL NEEDED")+p.says("*approved* by") > 0 })
	}
}

func forever(p *play) string {
	shown(p)
	return "deny " + source + " for=forever attack=" + p.attack
}

func countries(*play) string { return "deny country:FR country:DE for=1h" }

// waits is the one request there is; "" for none.
func (p *play) waits() string {
	v, err := askRedis(p.single.Addr, "HKEYS {a:acme}:approvals")
	if err != nil || len(v.words) == 0 {
		return ""
	}
	return v.words[0]
}

func approve(p *play) { p.typesAs("rob", "U0ROB0002", "approve "+p.waits()) }

func approveToo(p *play) { p.typesAs("vic", "U0VIC0003", "approve "+p.waits()) }

func denied(p *play) {
	asked(countries)(p)
	approve(p)
	p.await("the entry", func() bool { return len(p.sources()) == 2 })
}

// sources are what wafbot denies now.
func (p *play) sources() []string {
	s, err := p.world.service("acme")
	require.NoError(p.t, err)
	return slices.Sorted(maps.Keys((&evidence{Services: map[string]state{"acme": s}}).denied("acme")))
}

// works makes the attack an incident, whose title can't be read at first.
func works(p *play) {
	p.fault("service", map[string]any{"kind": "status:503", "endpoint": "POST /v1/objects/vuln", "times": 1})
	require.NoError(p.t, p.world.post("/attacks/"+p.origin+"/incident", map[string]any{"id": 4812, "title": "hole 4812"}, &struct{}{}))
}

// A storm is more attacks than so many in a minute.
const (
	stormOver    = 3
	stormAttacks = 8
)

func storm(p *play) {
	for n := range stormAttacks {
		p.startAt(fmt.Sprintf("/item%04d", n))
	}
}
