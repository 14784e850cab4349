package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// verdict is the result for everything that had to be posted or done.
type verdict struct {
	attacks, postedOnce          int
	worse                        int // attacks that became incidents after they were posted
	acknowledged, effect, worded int // requests; those with their effect, those with an answer that says why not
	prolonged                    int // denials that were requested again later and extended
	lost, twice, orphans         []string
	unaudited                    []string
	apart                        []string // because of what an emptied Redis held, or no replica of Redis had yet
}

// clean reports whether nothing is wrong.
func (v *verdict) clean() bool { return len(v.lost)+len(v.twice)+len(v.orphans)+len(v.unaudited) == 0 }

// same reports whether two verdicts are equal.
func (v *verdict) same(w *verdict) bool { return w != nil && fmt.Sprint(*v) == fmt.Sprint(*w) }

// judge is the oracle.
func judge(e *evidence) *verdict {
	v := &verdict{}
	v.checkCards(e)
	v.checkIncidents(e)
	v.messages(e)
	for _, a := range accounts() {
		v.standing(e, a.name)
	}
	for _, q := range e.Requests {
		if q.Acked {
			v.acknowledged++
			v.checkRequests(e, q)
		}
	}
	return v
}

// checkCards checks that each attack has one card, or was grouped by a storm.
func (v *verdict) checkCards(e *evidence) {
	for _, a := range accounts() {
		for _, attack := range e.Services[a.name].Attacks {
			if !attack.Running && attack.LastTime.Before(e.Begun) {
				continue // ended before the bot started
			}
			v.attacks++
			id := attackID(a.name, attack.ID)
			var cards []message
			for _, m := range e.Messages {
				if m.card() && m.Metadata.Payload.Attack == id {
					cards = append(cards, m)
				}
			}
			name := fmt.Sprintf("attack %s %s on %s", id, attack.Path, a.name)
			if len(cards) > 0 && !e.Printed[id] {
				v.lost = append(v.lost, name+": posted, and no line tells of it")
			}
			switch {
			case len(cards) == 1, len(cards) == 0 && e.listed(id):
				v.postedOnce++
			case len(cards) == 0:
				v.lost = append(v.lost, name+": never posted")
			default:
				v.posted(e, name, cards)
			}
		}
	}
}

// checkIncidents checks that a card's readers are notified when its attack becomes an incident.
func (v *verdict) checkIncidents(e *evidence) {
	const drawn = 5 * time.Second // a later card may show the incident from the start
	for _, turned := range e.Incidents {
		for _, c := range e.Messages {
			if !c.card() || c.Metadata.Payload.Attack != turned.Attack || turned.At.Sub(c.posted()) < drawn {
				continue
			}
			v.worse++
			if !slices.ContainsFunc(e.Messages, func(m message) bool { return m.Thread == c.TS && strings.Contains(m.Text, "INCIDENT now") }) {
				v.lost = append(v.lost, fmt.Sprintf("attack %s became an incident at %s: never posted", turned.Attack, turned.At.Format(time.TimeOnly)))
			}
		}
	}
}

func places(messages []message) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Channel+" "+m.TS)
	}
	return strings.Join(all, ", ")
}

// listed reports whether an answer with a storm's list names the attack.
func (e *evidence) listed(id string) bool {
	for _, messages := range e.Ephemerals {
		if slices.ContainsFunc(messages, func(m message) bool {
			return strings.Contains(m.says(), " storm · ") && strings.Contains(m.says(), id)
		}) {
			return true
		}
	}
	return false
}

// lostAround reports whether Redis may have lost what was written at about that time, or waited in it so long.
func (e *evidence) lostAround(at time.Time, waited time.Duration, what ...mix) bool {
	const about = 15 * time.Second // until an observation or a request is written, and until all clients know a new master
	return slices.ContainsFunc(e.Losses, func(l loss) bool {
		return slices.Contains(what, l.What) && l.At.After(at.Add(-about)) && l.At.Before(at.Add(waited+about))
	})
}

// emptiedAfter reports whether Redis was emptied while what was sent to the service at that time may still have been of
// unknown outcome.
func (e *evidence) emptiedAfter(at time.Time) bool {
	const verified = 35 * time.Second
	return slices.ContainsFunc(e.Losses, func(l loss) bool { return l.What == emptied && l.At.After(at) && l.At.Before(at.Add(verified)) })
}

// messages checks that no message is posted twice. Each has its own delivery id.
func (v *verdict) messages(e *evidence) {
	seen := map[string][]message{}
	for _, m := range e.Messages {
		if id := m.Metadata.Payload.Delivery; id != "" && !m.card() {
			seen[m.Channel+" "+m.Thread+" "+id] = append(seen[m.Channel+" "+m.Thread+" "+id], m)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if all := seen[key]; len(all) > 1 {
			v.posted(e, fmt.Sprintf("message %q", all[0].Text), all)
		}
	}
}

// posted counts what was posted more than once: apart where each time but the last a fail-over lost the record that it
// was being posted.
func (v *verdict) posted(e *evidence, what string, all []message) {
	lost := 0
	for _, l := range e.Losses {
		if slices.ContainsFunc(all, func(m message) bool { return slices.Contains(l.Posts, m.Metadata.Payload.Delivery) }) {
			lost++
		}
	}
	what = fmt.Sprintf("%s: posted %d times: %s", what, len(all), places(all))
	if lost >= len(all)-1 {
		v.apart = append(v.apart, what+": a fail-over lost the record of the first (wait_replicas: 0)")
		return
	}
	v.twice = append(v.twice, what)
}

// standing compares what the service has with what was requested.
func (v *verdict) standing(e *evidence, account string) {
	for source, entries := range e.denied(account) {
		if len(entries) > 1 {
			v.twice = append(v.twice, fmt.Sprintf("entry for %s on %s: %d of them", source, account, len(entries)))
		}
		if !e.asked(account, func(q request) bool { return slices.Contains(q.denies(), source) }) {
			v.orphans = append(v.orphans, fmt.Sprintf("entry for %s on %s: not requested", source, account))
		}
		for _, one := range entries {
			what := fmt.Sprintf("entry for %s on %s by %s", source, account, one.change())
			switch {
			case slices.ContainsFunc(e.Audit, func(a auditEntry) bool { return a.Change == one.change() && a.Outcome == "done" }):
			case e.emptiedAfter(time.Unix(one.Made, 0)):
				v.apart = append(v.apart, what+": Redis was emptied before it was verified")
			default:
				v.unaudited = append(v.unaudited, what)
			}
		}
	}
	for attack, rules := range e.patches(account) {
		if len(rules) > 1 {
			v.twice = append(v.twice, fmt.Sprintf("patch for %s on %s: %d of them", attack, account, len(rules)))
		}
		if !e.asked(account, func(q request) bool { return q.patches() == attack }) {
			v.orphans = append(v.orphans, fmt.Sprintf("patch for %s on %s: not requested", attack, account))
		}
		if len(e.donePatch(account, attack)) == 0 {
			v.unaudited = append(v.unaudited, fmt.Sprintf("patch for %s on %s", attack, account))
		}
	}
	v.modes(e, account)
	v.repeated(e, account)
}

// modes checks that every application has at most one mode rule.
func (v *verdict) modes(e *evidence, account string) {
	modes := map[string]int{}
	for _, r := range e.Services[account].Rules {
		if r.Listed && r.Type == "service_mode" {
			_, scope, _ := strings.Cut(r.Words, " for ")
			modes[scope]++
		}
	}
	for scope, n := range modes {
		if n > 1 {
			v.twice = append(v.twice, fmt.Sprintf("mode for %s on %s: %d rules", scope, account, n))
		}
	}
}

// repeated checks that a change is not made again while it stands. A denial that is requested again later is extended,
// and its entry says what was before.
func (v *verdict) repeated(e *evidence, account string) {
	type change struct{ line, id string }
	standing := map[string][]string{}
	known := map[string]change{}
	all := e.done(account, "deny", "patch", "undo")
	numbered := map[string]bool{}
	for _, a := range all {
		numbered[a.Change] = numbered[a.Change] || a.N > 0
	}
	all = slices.DeleteFunc(all, func(a auditEntry) bool { return a.N == 0 && numbered[a.Change] }) // printed while Redis could not be written
	if !slices.ContainsFunc(e.Losses, func(l loss) bool { return l.What == emptied }) {             // the log's numbers start again
		slices.SortStableFunc(all, func(a, b auditEntry) int { return cmp.Compare(a.N, b.N) }) // its times are those of the start
	}
	for _, a := range all {
		verb, rest, _ := strings.Cut(a.Line, " ")
		object, _, _ := strings.Cut(rest, " ")
		if verb == "undo" {
			undone := known[object]
			standing[undone.line] = slices.DeleteFunc(standing[undone.line], func(id string) bool { return id == undone.id })
			continue
		}
		what := verb + " " + object
		if verb == "patch" {
			what = "patch " + a.Attack
		}
		known[a.Change] = change{what, a.Change}
		standing[what] = slices.DeleteFunc(standing[what], func(id string) bool { return e.undoneAround(account, id, a.At) })
		switch {
		case slices.Contains(standing[what], a.Change): // audited again
		case len(standing[what]) > 0 && len(a.Before) > 0:
			v.prolonged++
		case len(standing[what]) > 0:
			v.twice = append(v.twice, fmt.Sprintf("%s on %s: done by %s and again by %s", what, account, strings.Join(standing[what], ", "), a.Change))
		}
		standing[what] = append(standing[what], a.Change)
	}
}

// denies are the sources that a request wants denied.
func (q request) denies() []string {
	if verb, objects := q.words(); verb == "deny" || verb == "contain" {
		return objects
	}
	return nil
}

// patches is the attack that a request wants patched; "" for none.
func (q request) patches() string {
	if verb, _ := q.words(); verb == "patch" || verb == "contain" {
		return q.key("attack")
	}
	return ""
}

// checkRequests checks that an acknowledged request has its effect, or an answer that says why not.
func (v *verdict) checkRequests(e *evidence, q request) {
	verb, objects := q.words()
	ok := true
	for _, source := range q.denies() {
		ok = ok && (len(e.denied(q.Account)[source]) > 0 || e.undone(q.Account, e.done(q.Account, "deny "+source)) || len(e.done(q.Account, "remove "+source)) > 0)
	}
	if attack := q.patches(); attack != "" {
		ok = ok && (len(e.patches(q.Account)[attack]) > 0 || e.undone(q.Account, e.donePatch(q.Account, attack)))
	}
	switch verb {
	case "undo":
		ok = e.gone(q.Account, objects[0])
	case "remove":
		ok = len(e.denied(q.Account)[objects[0]]) == 0
	case "ack", "mode":
		ok = slices.ContainsFunc(e.Audit, func(a auditEntry) bool {
			return a.Account == q.Account && a.Actor.ID == q.User && strings.HasPrefix(a.Line, verb+" ") && (verb == "mode" || a.Attack == q.key("attack"))
		})
	}
	switch {
	case ok:
		v.effect++
	case e.explained(q):
		v.worded++
	case e.lostAround(q.At, time.Minute, emptied) || e.lostAround(q.At, 0, cluster, sentinel):
		v.apart = append(v.apart, q.String()+": not done")
	default:
		v.lost = append(v.lost, fmt.Sprintf("%s: not done; answers: %q", q, e.answers(q)))
	}
}
