package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/redistest"
)

// play is one story in its own world. One replica does everything until it is struck.
type play struct {
	*round
	trap   *trap
	target *replica                   // that the trap is for
	other  *replica                   // that goes on; nil: there is none
	takes  atomic.Pointer[[]*replica] // where Slack delivers to
	hard   bool                       // neither a patch nor a denial fits the attack
	moves  bool                       // when it works, another route takes the attack
	attack string                     // as people type it; the newest
	all    []string                   // attacks
	origin string                     // as the service knows it
	card   message
	modes  []string // that were set before the story
}

// openPlay starts everything and waits until the account has an owner, which is the first replica. It is struck, unless
// the story is played apart: then the second replica is struck, which only carries out requests.
func openPlay(t testing.TB, binary string, company, apart bool) *play {
	t.Helper()
	logs := logsOf(t, "steps")
	p := &play{round: &round{t: t, logs: logs, single: redistest.Start(t), did: map[string]int{}}, trap: newTrap()}
	p.world = openWorld(t, binary, logs, balance(t, func() []*replica { return *p.takes.Load() }))
	traps, waits := []*trap{p.trap}, newTrap()
	switch {
	case apart:
		traps = []*trap{waits, p.trap}
	case company:
		traps = append(traps, waits)
	}
	for n, trap := range traps {
		one := p.addTrapped(binary, trap)
		if trap == p.trap {
			p.target = one
		} else {
			p.other = one
		}
		if n == 0 {
			p.await("watches", func() bool { return len(p.seen()) > 0 })
		}
	}
	p.deliverTo(p.target)
	p.await("the incident that the world begins with", func() bool { return slices.ContainsFunc(p.seen(), message.card) }) // no story's step may be its
	p.begun = time.Now()
	return p
}

// addTrapped starts one more replica, with a trap.
func (p *play) addTrapped(binary string, trap *trap) *replica {
	p.t.Helper()
	tap := newTap(p.t, p.single.Addr, p.world.url, trap)
	config := filepath.Join(p.logs, fmt.Sprintf("wafbot%d.yaml", len(p.replicas)))
	text := fmt.Sprintf(`
slack: {bot_token: %s, signing_secret: %s, api_url: "%s/slack/api/"}
redis: {url: "redis://%s/0"}
sources: []
policy: {changes: on, admins: [U0ANN0001], responders: [U0ROB0002, U0VIC0003], durations: {mode: %s}}
accounts:
  - {name: acme, api_url: "%s/service", token: sandbox-token-acme, client_id: 5, channel: C0WAF0001, poll_interval: 500ms, storm: {over: %d}, routes: [{match: {kind: incident, type: xss}, channel: %s}, {match: {min_hits: 1}}]}
`, p.world.env["WAFBOT_SLACK_BOT_TOKEN"], p.world.env["WAFBOT_SLACK_SIGNING_SECRET"], tap.world, tap.redis, modeFor, tap.world, stormOver, elsewhere)
	require.NoError(p.t, os.WriteFile(config, []byte(text), 0o600))
	return p.add(binary, config, "")
}

// modeFor is how long a switched mode lasts.
const modeFor = 10 * time.Second

func (p *play) deliverTo(all ...*replica) { p.takes.Store(&all) }

// await waits for something that must happen.
func (p *play) await(what string, ok func() bool) {
	p.t.Helper()
	require.Eventually(p.t, ok, startPatience, 100*time.Millisecond, "never: %s", what)
}

// seen are the messages of the account's channel, as Anna sees them.
func (p *play) seen() []message {
	messages, err := p.world.messages("ann", "C0WAF0001")
	if err != nil {
		p.t.Errorf("look at the channel: %v", err)
	}
	return messages
}

// start begins an attack, which goes on slowly.
func (p *play) start() { p.startAt("/item0001") }

func (p *play) startAt(path string) {
	p.t.Helper()
	kind, from := "sqli", source
	if p.hard {
		kind, from = "infoleak", "10.0.0.1"
	}
	if p.moves {
		kind = "xss"
	}
	var made struct{ Attacks []struct{ ID string } }
	require.NoError(p.t, p.world.post("/attacks", map[string]any{
		"account": "acme", "app": 4, "type": kind, "path": path, "hits": 60, "started": "20s",
		"sources": []any{map[string]any{"ip": from, "country": "FR", "per_second": 0.001}},
	}, &made))
	p.origin = made.Attacks[0].ID
	p.attack = attackID("acme", p.origin)
	p.all = append(p.all, p.attack)
}

// source is the attack's source address.
const source = "198.18.0.1"

// posted waits until the attack has its card, and keeps it.
func (p *play) posted() bool {
	seen := p.seen()
	i := slices.IndexFunc(seen, func(m message) bool { return m.card() && m.Metadata.Payload.Attack == p.attack })
	if i >= 0 {
		p.card = seen[i]
	}
	return i >= 0
}

// button is the line of the card's button that begins so; "" if it has none.
func (p *play) button(begins string) string {
	if !p.posted() {
		return ""
	}
	for _, line := range p.card.buttons() {
		if strings.HasPrefix(line, begins) {
			return line
		}
	}
	return ""
}

// click clicks the card's button that begins so until the click is acknowledged, as a person who sees a warning clicks
// again.
func (p *play) click(begins string) {
	p.t.Helper()
	var line string
	p.await("a button "+begins, func() bool { line = p.button(begins); return line != "" })
	p.ask(&request{User: "U0ANN0001", Account: "acme", Line: line, Clicked: true}, "/slack/click",
		map[string]string{"user": "ann", "channel": p.card.Channel, "ts": p.card.TS, "button": line})
}

// types types a line as Anna until it is acknowledged.
func (p *play) types(line string) { p.typesAs("ann", "U0ANN0001", line) }

func (p *play) typesAs(name, user, line string) {
	p.t.Helper()
	p.ask(&request{User: user, Account: "acme", Line: line}, "/slack/command", map[string]string{"user": name, "channel": "C0WAF0001", "text": line})
}

func (p *play) ask(q *request, path string, body map[string]string) {
	p.t.Helper()
	p.await("acknowledged: "+q.Line, func() bool {
		again := *q
		p.send(&again, path, body)
		return again.Acked || again.Delivery == 0 && len(p.requests) > 0 // the card has no such button any more
	})
}

// left lists the pending work in wafbot's store.
func (p *play) left() (found []string) {
	due := fmt.Sprintf("ZRANGEBYSCORE {a:acme}:due -inf %d", time.Now().Unix())
	todos := []string{"HGETALL {a:acme}:outbox", "HGETALL {a:acme}:redraw", due}
	for shard := range 8 {
		todos = append(todos, fmt.Sprintf("XRANGE {work-%d}:stream - +", 6+shard))
	}
	for _, todo := range todos {
		v, err := askRedis(p.single.Addr, todo)
		if err != nil || len(v.words) > 0 {
			found = append(found, fmt.Sprint(todo, ": ", v.words, err))
		}
	}
	return found
}

// ready waits until what went before the story is over.
func (p *play) ready() {
	p.t.Helper()
	still := 0
	p.await("quiet", func() bool {
		if still++; len(p.left()) > 0 {
			still = 0
		}
		return still > 10
	})
}

// follow does what comes after a strike: it redirects deliveries and restarts the replica.
func (p *play) follow(s strike, over <-chan struct{}) {
	select {
	case <-p.trap.begun:
	case <-over:
		return
	}
	if p.other != nil {
		p.deliverTo(p.other)
	}
	<-p.trap.struck
	if s.blow != restarted {
		return
	}
	pause(p.t.Context(), time.Second)
	if err := p.target.start(); err != nil {
		p.t.Errorf("start it again: %v", err)
	}
}

// outcome is the result of a play.
type outcome struct {
	*verdict
	wrong  []string // what the story's own check finds
	struck bool     // the step came
}

func (o outcome) clean() bool { return o.verdict.clean() && len(o.wrong) == 0 }

// How long a play may take to reach the wanted state, how long it must stay there, and after how long without pending
// work it has failed.
const (
	playPatience = 110 * time.Second
	playSettled  = 4 * time.Second
	playOver     = 40 * time.Second
)

// end waits until nothing is wrong and no work is pending, or until the time is over, and returns what is wrong.
func (p *play) end(s story) outcome {
	p.t.Helper()
	right, over, end := time.Now(), time.Now(), time.Now().Add(playPatience)
	for {
		e := p.observe()
		o := outcome{verdict: judge(e), wrong: slices.Concat(s.wrong(p, e), p.unanswered(e))}
		if left := p.left(); len(left) > 0 {
			o.wrong, over = append(o.wrong, left...), time.Now()
		}
		if !o.clean() {
			right = time.Now()
		}
		if now := time.Now(); now.Sub(right) >= playSettled || now.Sub(over) >= playOver || now.After(end) {
			return o
		}
		pause(p.t.Context(), 500*time.Millisecond)
	}
}

// unanswered checks that each acknowledged request has an answer.
func (p *play) unanswered(e *evidence) (wrong []string) {
	for _, q := range e.Requests {
		if q.Acked && len(e.answers(q)) == 0 {
			wrong = append(wrong, "no answer to "+q.String())
		}
	}
	return wrong
}
