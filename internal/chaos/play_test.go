package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// attack starts attacks, each from sources and at a path of its own. They go on to the end of the round. Some become
// incidents, at once or later.
func (r *round) attack(ctx context.Context, dice *rand.Rand) {
	var harmless []string // of acme, the newest last
	for n := 0; ctx.Err() == nil; {
		some := 1
		if dice.IntN(12) == 0 {
			some = 6 // a burst
		}
		for range some {
			n++
			a, works, first := accounts()[dice.IntN(3)%2], dice.IntN(4), dice.IntN(1<<16)
			id := r.startAttack(a, dice, n)
			if a.name != "acme" || id == "" {
				continue // incidents are registered where attacks aren't blocked
			}
			harmless = append(harmless, id)
			if works == 0 {
				i := first % len(harmless)
				r.turnOut(harmless[i])
				harmless = slices.Delete(harmless, i, i+1)
			}
		}
		pause(ctx, between(dice, 300*time.Millisecond, 2*time.Second))
	}
}

// leastHits is how many hits each attack has, but for those that are to get no card.
const leastHits = 30

// startAttack returns the service's id of the attack.
func (r *round) startAttack(a account, dice *rand.Rand, n int) string {
	spec := map[string]any{
		"account": a.name, "app": a.apps[dice.IntN(len(a.apps))], "type": []string{"sqli", "sqli", "xss", "rce"}[dice.IntN(4)],
		"path": fmt.Sprintf("/item%04d", n), "hits": leastHits + dice.IntN(100), "started": "20s",
		"sources": []any{
			map[string]any{"ip": fmt.Sprintf("198.18.%d.%d", n/200, 1+n%200), "country": "FR", "per_second": 0.1 + dice.Float64()/3},
			map[string]any{"ip": fmt.Sprintf("198.19.%d.%d", n/200, 1+n%200), "country": "NL", "per_second": 0.02},
		},
	}
	if r.plan.brief {
		spec["lasts"] = "20s"
	}
	if r.plan.brief && n%4 < 2 {
		spec["hits"] = leastHits / 4 // too few for a card: Slack takes no more than a message a second in a channel
	}
	var made struct{ Attacks []struct{ ID string } }
	if err := r.world.post("/attacks", spec, &made); err != nil || len(made.Attacks) == 0 {
		r.t.Errorf("start an attack: %v", err)
		return ""
	}
	return made.Attacks[0].ID
}

// incident is when an attack became an incident.
type incident struct {
	Attack string
	At     time.Time
}

// turnOut makes an attack an incident. That fails where a person switched the mode.
func (r *round) turnOut(id string) {
	if r.world.post("/attacks/"+id+"/incident", struct{}{}, &struct{}{}) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.incidents = append(r.incidents, incident{attackID("acme", id), time.Now()})
}

// request is a line that a person clicked or typed: one delivery, which may have arrived several times.
type request struct {
	User     string
	Account  string
	Line     string
	Clicked  bool
	At       time.Time
	Acked    bool
	Answers  string // its response address; "": it was a message to the bot
	Delivery int
	TS       string // of the message
}

// words are the line's verb and its objects.
func (q *request) words() (verb string, objects []string) {
	fields := strings.Fields(q.Line)
	return fields[0], slices.DeleteFunc(fields[1:], func(f string) bool { return strings.Contains(f, "=") })
}

// key is the value of KEY=VALUE in the line.
func (q *request) key(name string) string {
	for _, f := range strings.Fields(q.Line) {
		if value, ok := strings.CutPrefix(f, name+"="); ok {
			return value
		}
	}
	return ""
}

// act clicks and types as a person.
func (r *round) act(ctx context.Context, user string, dice *rand.Rand) {
	fresh := 0
	for {
		pause(ctx, between(dice, 50*time.Millisecond, 1500*time.Millisecond))
		if ctx.Err() != nil {
			return
		}
		switch n := dice.IntN(100); {
		case n < 55:
			r.clickCard(user, dice)
		case n < 70:
			fresh++
			how := r.typed
			if dice.IntN(3) == 0 {
				how = r.said
			}
			how(user, accounts()[dice.IntN(2)], fmt.Sprintf("deny 2001:db8:%d::%x for=1h", 1+slices.Index(people(), user), fresh))
		case n < 85:
			r.typeUndo(user, dice)
		case n < 95:
			r.typeForCard(user, dice)
		default:
			r.replay(dice)
		}
	}
}

// someCard is one of the cards, preferably a new one, with its account.
func (r *round) someCard(dice *rand.Rand) (message, account, bool) {
	channel := channels()[dice.IntN(3)]
	seen, err := r.world.messages("ann", channel)
	if err != nil {
		r.t.Errorf("look for a card: %v", err)
		return message{}, account{}, false
	}
	cards := slices.DeleteFunc(seen, func(m message) bool { return !m.card() })
	if len(cards) == 0 {
		return message{}, account{}, false
	}
	card := cards[len(cards)-1-int(float64(len(cards))*dice.Float64()*dice.Float64())]
	i := slices.IndexFunc(accounts(), func(a account) bool { return a.name == card.Metadata.Payload.Account })
	if i < 0 {
		return message{}, account{}, false
	}
	return card, accounts()[i], true
}

// clickCard clicks a button of some card: once, twice at once, or together with another person.
func (r *round) clickCard(user string, dice *rand.Rand) {
	card, a, ok := r.someCard(dice)
	how, which, modes := dice.IntN(6), dice.IntN(1<<16), dice.IntN(10) == 0
	if !ok {
		return
	}
	lines := slices.DeleteFunc(card.buttons(), func(line string) bool {
		form := strings.HasPrefix(line, "undo ") || strings.HasPrefix(line, "verdict ")
		return form || strings.HasPrefix(line, "mode ") && !modes
	})
	if len(lines) == 0 {
		return
	}
	line := lines[which%len(lines)]
	users := []string{user}
	switch how {
	case 0:
		users = append(users, user)
	case 1:
		users = append(users, people()[which%3])
	}
	var busy sync.WaitGroup
	for _, u := range users {
		busy.Go(func() {
			q := &request{User: u, Account: a.name, Line: line, Clicked: true}
			r.send(q, "/slack/click", map[string]string{"user": u, "channel": card.Channel, "ts": card.TS, "button": line})
		})
	}
	busy.Wait()
}

// typeForCard types what a card's button would do as well.
func (r *round) typeForCard(user string, dice *rand.Rand) {
	card, a, ok := r.someCard(dice)
	verb := []string{"patch", "ack"}[dice.IntN(2)]
	if ok {
		r.typed(user, a, verb+" attack="+card.Metadata.Payload.Attack)
	}
}

// typeUndo undoes a change whose entry is on the deny list.
func (r *round) typeUndo(user string, dice *rand.Rand) {
	a := accounts()[dice.IntN(2)]
	which := dice.IntN(1 << 16)
	s, err := r.world.service(a.name)
	if err != nil {
		r.t.Errorf("look for an entry: %v", err)
		return
	}
	var changes []string
	for _, e := range s.IPRules {
		if id := e.change(); id != "" && e.Listed {
			changes = append(changes, id)
		}
	}
	if len(changes) > 0 {
		r.typed(user, a, "undo "+changes[which%len(changes)])
	}
}

// change is the change that made the entry, as its reason says; "" if wafbot did not.
func (e entry) change() string {
	fields := strings.Fields(e.Reason)
	if len(fields) < 2 || fields[0] != "wafbot" {
		return ""
	}
	return fields[1]
}

func (r *round) typed(user string, a account, line string) {
	r.send(&request{User: user, Account: a.name, Line: line}, "/slack/command", map[string]string{"user": user, "channel": a.channel, "text": line})
}

// said mentions the bot. Slack delivers the event later: collect checks whether it was acknowledged.
func (r *round) said(user string, a account, line string) {
	if !r.verified.Load() { // else Slack sends no events
		var d struct{ Warning string }
		err := r.world.post("/slack/verify_url", struct{}{}, &d)
		r.verified.Store(err == nil && d.Warning == "")
	}
	q := &request{User: user, Account: a.name, Line: line, At: time.Now()}
	var m message
	if err := r.world.post("/slack/say", map[string]string{"user": user, "channel": a.channel, "text": "@wafbot " + line}, &m); err != nil {
		r.t.Errorf("say %q: %v", line, err)
		return
	}
	q.TS = m.TS
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, q)
}

// send delivers a person's request and records it if it was sent.
func (r *round) send(q *request, path string, body map[string]string) {
	q.At = time.Now()
	var d delivery
	if err := r.world.post(path, body, &d); err != nil {
		return // the card was redrawn meanwhile and has no such button, or no bot is there
	}
	q.Acked, q.Answers, q.Delivery = d.acknowledged(), d.ResponseURL, d.ID
	r.mu.Lock()
	defer r.mu.Unlock()
	if !q.Acked {
		r.unheard = append(r.unheard, fmt.Sprintf("%s %s: %q: %d %s %s", q.At.Format(time.StampMicro), q.User, q.Line,
			d.Status, d.Body, d.Err))
	}
	r.requests = append(r.requests, q)
}

// replay delivers an earlier request again, which real Slack should never do.
func (r *round) replay(dice *rand.Rand) {
	which := dice.IntN(1 << 16)
	r.mu.Lock()
	if len(r.requests) == 0 {
		r.mu.Unlock()
		return
	}
	last := min(len(r.requests), 50)
	q := r.requests[len(r.requests)-1-which%last]
	r.mu.Unlock()
	var d delivery
	if q.Delivery == 0 || r.world.post(fmt.Sprintf("/slack/deliveries/%d/replay", q.Delivery), struct{}{}, &d) != nil {
		return // never sent, or too long ago
	}
	r.count("redelivery")
	r.mu.Lock()
	defer r.mu.Unlock()
	q.Acked = q.Acked || d.acknowledged()
}
