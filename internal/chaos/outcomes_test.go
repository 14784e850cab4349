package chaos

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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

// verified checks that nothing stands, and that it was looked whether the entry went.
func verified(p *play, e *evidence) []string {
	wrong := stands(0, 0)(p, e)
	if v, err := askRedis(p.single.Addr, "ZRANGE {a:acme}:due 0 -1"); err != nil || len(v.words) > 0 {
		wrong = append(wrong, fmt.Sprint("yet to be looked at: ", v.words, err))
	}
	return wrong
}

// lists holds that these sources are denied, by one entry.
func lists(sources ...string) func(p *play, e *evidence) []string {
	return func(_ *play, e *evidence) (wrong []string) {
		entries := e.denied("acme")
		if now := slices.Sorted(maps.Keys(entries)); !slices.Equal(now, sources) {
			return []string{fmt.Sprintf("denied: %q instead of %q", now, sources)}
		}
		for _, source := range sources {
			if len(entries[source]) != 1 || entries[source][0].ID != entries[sources[0]][0].ID {
				wrong = append(wrong, fmt.Sprintf("entries for %s: %v", source, entries[source]))
			}
		}
		return wrong
	}
}

// undos is how many changes the card offers to undo.
func (p *play) undos(e *evidence) (n int) {
	for _, m := range e.Messages {
		for _, line := range m.buttons() {
			if words := strings.Fields(line); m.card() && words[0] == "undo" { // its form has each ticked
				n += len(slices.DeleteFunc(words[1:], func(word string) bool { return strings.Contains(word, "=") }))
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
		if strings.Contains(text, "*approved* by ") && strings.Contains(text, ": done") {
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

// replied checks that exactly one reply says so, and that the card names the vulnerability.
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
	if p.posted(); !strings.Contains(p.card.says(), "vulnerability `4812`") {
		wrong = append(wrong, "the card does not name the vulnerability")
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

// stormCount is how many attacks without cards of their own a storm's card counts.
var stormCount = regexp.MustCompile(` storm[^"]*? · (?:at least )?(\d+) attacks`)

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
