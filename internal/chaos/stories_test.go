package chaos

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// story is something that wafbot does from beginning to end.
type story struct {
	name  string
	eve   func(p *play)                              // what goes before, without faults
	act   func(p *play)                              // what begins it
	wrong func(p *play, e *evidence) (what []string) // what isn't yet as it should be in the end
	apart bool                                       // another replica than the account's owner carries it out
}

// stories are all of them.
func stories() []story {
	card := func(p *play) {
		p.start()
		p.await("the card", p.posted)
	}
	hard := func(p *play) { // only such an attack's card has a button for the mode
		p.hard = true
		card(p)
	}
	undone := func(begins string) func(p *play) {
		return func(p *play) {
			if begins == "mode " {
				hard(p)
			} else {
				card(p)
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
	undo := func(p *play) { p.click("undo ") }
	return []story{
		{name: "a new attack is posted", eve: func(*play) {}, act: (*play).start, wrong: stands(0, 0)},
		{name: "deny", eve: card, act: func(p *play) { p.click("deny ") }, wrong: stands(1, 0)},
		{name: "patch", eve: card, act: func(p *play) { p.types("patch attack=" + p.attack) }, wrong: stands(0, 1)},
		{name: "contain", eve: card, act: func(p *play) { p.click("contain ") }, wrong: stands(1, 1)},
		{name: "contain, by another one than watches", eve: card, act: func(p *play) { p.click("contain ") }, wrong: stands(1, 1), apart: true},
		{name: "ack", eve: card, act: func(p *play) { p.types("ack attack=" + p.attack) }, wrong: stands(0, 0)},
		{name: "an approval", eve: asked(card), act: func(p *play) { p.typesAs("rob", "U0ROB0002", "approve "+p.waits()) }, wrong: approved},
		{name: "undo of a denial", eve: undone("deny "), act: undo, wrong: stands(0, 0)},
		{name: "undo of a patch", eve: undone("patch"), act: undo, wrong: stands(0, 0)},
		{name: "undo of a mode", eve: undone("mode "), act: undo, wrong: stands(0, 0)},
		{name: "a mode for a time, and back", eve: hard, act: func(p *play) { p.click("mode ") }, wrong: returned},
		{name: "it became an incident", eve: card, act: works, wrong: replied},
		{name: "it became another route's incident", eve: func(p *play) {
			p.moves = true
			card(p)
		}, act: works, wrong: moved},
		{name: "a storm", eve: func(*play) {}, act: storm, wrong: grouped},
	}
}

// stands holds that so many entries and patches stand, the attack has one card, and modes are as they were.
func stands(entries, patches int) func(p *play, e *evidence) []string {
	return func(p *play, e *evidence) (wrong []string) {
		for _, one := range []struct {
			what       string
			have, want int
		}{
			{"undo buttons", p.undos(e), entries + patches},
			{"entries", len(e.denied("acme")[source]), entries}, {"patches", len(e.patches("acme")[p.attack]), patches}, {"cards", p.cards(e), 1},
		} {
			if one.have != one.want {
				wrong = append(wrong, fmt.Sprintf("%s: %d instead of %d", one.what, one.have, one.want))
			}
		}
		if now := modes(e.Services["acme"]); !slices.Equal(now, p.modes) {
			wrong = append(wrong, fmt.Sprintf("modes: %q instead of %q", now, p.modes))
		}
		return wrong
	}
}

// undos is how many changes the card offers to undo.
func (p *play) undos(e *evidence) (n int) {
	for _, m := range e.Messages {
		for _, line := range m.buttons() {
			if m.card() && strings.HasPrefix(line, "undo ") {
				n++
			}
		}
	}
	return n
}

func (p *play) cards(e *evidence) (n int) {
	for _, m := range e.Messages {
		if m.card() && m.Metadata.Payload.Attack == p.attack {
			n++
		}
	}
	return n
}

// modes are what the rules set for whole applications, in words.
func modes(s state) (words []string) {
	for _, r := range s.Rules {
		if r.Listed && r.Type == "service_mode" {
			words = append(words, r.Words)
		}
	}
	slices.Sort(words)
	return words
}

// returned checks that the mode was switched and then restored.
func returned(p *play, e *evidence) []string {
	wrong := stands(0, 0)(p, e)
	if len(e.done("acme", "mode 4 block")) == 0 {
		wrong = append(wrong, "mode: never switched")
	}
	if !slices.ContainsFunc(e.Audit, func(a auditEntry) bool {
		return strings.HasPrefix(a.Line, "undo ") && (a.Outcome == "done" || a.Outcome == "nothing")
	}) {
		wrong = append(wrong, "mode: never returned")
	}
	return wrong
}

// asked prepares the story, and then Anna sends a request that needs approval.
func asked(eve func(p *play)) func(p *play) {
	return func(p *play) {
		eve(p)
		p.types("deny " + source + " for=forever attack=" + p.attack)
		p.await("the request", func() bool { return p.waits() != "" && p.says("APPROVAL NEEDED") == 1 })
	}
}

// waits is the one request there is; "" for none.
func (p *play) waits() string {
	v, err := askRedis(p.redis.Addr, "HKEYS {a:acme}:approvals")
	if err != nil || len(v.words) == 0 {
		return ""
	}
	return v.words[0]
}

// says counts the messages that say so.
func (p *play) says(what string) (n int) {
	for _, m := range p.seen() {
		if strings.Contains(m.says(), what) {
			n++
		}
	}
	return n
}

// approved checks that the request was approved once and done once, and that its author was mentioned once.
func approved(p *play, e *evidence) []string {
	wrong, calls, cards, entries := stands(1, 0)(p, e), 0, 0, 0
	for _, m := range e.Messages {
		text := m.says()
		if strings.Contains(text, "*approved* by Rob Diaz") && strings.Contains(text, ": done") {
			cards++
			if strings.Contains(text, `U0ANN0001\u003e Deny`) {
				calls++
			}
		}
	}
	for _, a := range e.Audit {
		if a.Outcome == "approved" {
			entries++
		}
	}
	if calls != 1 || cards != 2 || entries != 1 {
		wrong = append(wrong, fmt.Sprintf("approved: %d calls, %d messages and %d entries instead of 1, 2 and 1", calls, cards, entries))
	}
	return wrong
}

// works makes the attack an incident.
func works(p *play) {
	require.NoError(p.t, p.world.post("/attacks/"+p.origin+"/incident", struct{}{}, &struct{}{}))
}

// replied checks that exactly one reply says so.
func replied(p *play, e *evidence) []string {
	wrong, n := stands(0, 0)(p, e), 0
	for _, m := range e.Messages {
		if m.Thread != "" && m.Thread != m.TS && strings.Contains(m.says(), "INCIDENT") {
			n++
		}
	}
	if n != 1 {
		wrong = append(wrong, fmt.Sprintf("replies: %d instead of 1", n))
	}
	return wrong
}

// moved checks that the card is in the channel of such incidents, and that the old card is only a link.
func moved(p *play, e *evidence) []string {
	wrong, there, links, replies := stands(0, 0)(p, e), 0, 0, 0
	for _, m := range e.Messages {
		switch {
		case m.card() && m.Metadata.Payload.Attack == p.attack && m.Channel == elsewhere:
			there++
		case m.TS == p.card.TS && strings.Contains(m.says(), "its card is in"):
			links++
		case m.Thread != "" && m.Thread != m.TS && strings.Contains(m.says(), "INCIDENT"):
			replies++
		}
	}
	if there != 1 || links != 1 || replies != 0 {
		wrong = append(wrong, fmt.Sprintf("moved: %d cards there, %d links and %d replies instead of 1, 1 and 0", there, links, replies))
	}
	return wrong
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

// stormCount is how many attacks without cards of their own a storm's card counts.
var stormCount = regexp.MustCompile(`STORM · [^"]*?(\d+) attacks`)

// grouped checks that each attack has a card or is counted by the one card of the storm, whose list names it.
func grouped(p *play, e *evidence) []string {
	storms, cards, counted, id := 0, 0, 0, ""
	for _, m := range e.Messages {
		switch {
		case !m.card():
		case strings.HasPrefix(m.Metadata.Payload.Attack, "s"):
			storms, id = storms+1, m.Metadata.Payload.Attack
			if found := stormCount.FindStringSubmatch(m.says()); found != nil {
				counted, _ = strconv.Atoi(found[1])
			}
		case slices.Contains(p.all, m.Metadata.Payload.Attack):
			cards++
		}
	}
	if storms != 1 || cards+counted != stormAttacks {
		return []string{fmt.Sprintf("storm: %d cards of storms, %d of attacks, %d counted instead of 1 and %d in all", storms, cards, counted, stormAttacks)}
	}
	if !e.listed(p.attack) { // repeat until it is answered: an unanswered question of a killed replica is not a lost request
		if err := p.world.post("/slack/command", map[string]string{"user": "ann", "channel": "C0WAF0001", "text": "attacks --all storm=" + id}, &delivery{}); err != nil {
			p.t.Logf("ask for the list: %v", err) // no replica is running
		}
	}
	return nil
}
