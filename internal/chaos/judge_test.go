package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/redistest"
)

// noon is the first time in these tests' evidence.
func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// asGood is a round without losses: an attack was posted, its source denied, its path patched, and another address
// denied and undone.
func asGood() *evidence {
	var acme state
	must(json.Unmarshal([]byte(`{
		"attacks": [{"id": "x:1", "path": "/item0001", "running": true}],
		"ip_rules": [{"id": 1, "list": "black", "subnet": "198.18.0.1/32", "reason": "wafbot c1111 by Rob", "listed": true}],
		"rules": [{"id": 9, "type": "vpatch", "words": "blocks sqli of path 0 absent, action_name equal \"item0001\"", "listed": true},
			{"id": 10, "type": "service_mode", "words": "sets mode block for instance equal \"4\"", "listed": true}]
	}`), &acme))
	id := attackID("acme", "x:1")
	e := &evidence{
		Begun: noon(), Services: map[string]state{"acme": acme}, Ephemerals: map[string][]message{}, Messages: []message{card(id, "d1", "1")},
		Printed: map[string]bool{id: true},
		Requests: []request{
			{User: "rob", Account: "acme", Line: "contain 198.18.0.1 account=acme attack=" + id, At: noon(), Acked: true, Answers: "http://r/1"},
			{User: "rob", Account: "acme", Line: "deny 2001:db8::1 for=1h", At: noon(), Acked: true, Answers: "http://r/2"},
			{User: "ann", Account: "acme", Line: "undo c2222", At: noon(), Acked: true, Answers: "http://r/3"},
		},
		Audit: []auditEntry{
			{Account: "acme", Line: "deny 198.18.0.1 attack=" + id, Outcome: "done", Change: "c1111", Attack: id},
			{Account: "acme", Line: "patch attack=" + id, Outcome: "done", Change: "c1112", Attack: id},
			{Account: "acme", Line: "deny 2001:db8::1 for=1h", Outcome: "done", Change: "c2222"},
			{Account: "acme", Line: "undo c2222", Outcome: "done", Change: "c3333"},
		},
	}
	return e
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func card(attack, delivery, ts string) (m message) {
	m.Channel, m.TS, m.Metadata.Type = "C0WAF0001", ts, "wafbot_card"
	m.Metadata.Payload.Account, m.Metadata.Payload.Attack, m.Metadata.Payload.Delivery = "acme", attack, delivery
	return m
}

func reply(delivery string) (m message) {
	m.Metadata.Payload.Delivery = delivery
	return m
}

// What a killed master alone had is forgotten: a time that is another by now, or none; not one that was copied, nor the
// place that followed.
func TestForgotten(t *testing.T) {
	full.Only(t)
	t.Parallel()
	old, promoted := redistest.StartDurable(t), redistest.Start(t)
	set := func(s *redistest.Server, delivery, value string) {
		_, err := askRedis(s.Addr, "SET {a:acme}:attempt:"+delivery+" "+value+" PX 60000")
		require.NoError(t, err)
	}
	for _, delivery := range []string{"lost", "again", "copied", "posted"} {
		set(old, delivery, "1700000000000")
	}
	set(promoted, "again", "1700000000001")
	set(promoted, "copied", "1700000000000")
	set(promoted, "posted", `"C0WAF0001 1700000000.000100"`)
	old.Kill()
	posts, err := forgotten(old, []*redistest.Server{promoted})
	require.NoError(t, err)
	require.Equal(t, []string{"lost", "again"}, posts)
}

// entries are the account's list; rules likewise.
func (e *evidence) change(do func(s *state)) {
	s := e.Services["acme"]
	do(&s)
	e.Services["acme"] = s
}

// The oracle must find each kind of error.
func TestTheOracle(t *testing.T) {
	t.Parallel()
	id := attackID("acme", "x:1")
	type wrong struct{ lost, twice, orphans, unaudited, apart int }
	for _, tt := range []struct {
		name string
		with func(e *evidence)
		want wrong
	}{
		{"all is well", func(*evidence) {}, wrong{}},
		{"wafbot extended a denial whose source keeps trying", func(e *evidence) {
			e.Audit = append(e.Audit, auditEntry{Account: "acme", Line: `extend c1111 for=4h reason="it is still trying"`, Outcome: "done", Change: "c4444", Before: []string{"as it was"}})
		}, wrong{}},
		{"no card", func(e *evidence) { e.Messages = nil }, wrong{lost: 1}},
		{"a card that no line tells of", func(e *evidence) { e.Printed = nil }, wrong{lost: 1}},
		{"no card, but grouped by a storm", func(e *evidence) {
			e.Messages = nil
			e.Ephemerals["ann"] = []message{{Text: "`s1234567` *1 of 1 NOT BLOCKED* · high storm · Shop: 1 attack " + id}}
		}, wrong{}},
		{"two cards", func(e *evidence) { e.Messages = append(e.Messages, card(id, "d2", "2")) }, wrong{twice: 1}},
		{"two cards after a fail-over that lost the record of the first", func(e *evidence) {
			e.Messages = append(e.Messages, card(id, "d1", "2"))
			e.Losses = []loss{{time.Unix(1, 0), cluster, []string{"d1"}}}
		}, wrong{apart: 1}},
		{"three cards after it", func(e *evidence) {
			e.Messages = append(e.Messages, card(id, "d1", "2"), card(id, "d1", "3"))
			e.Losses = []loss{{time.Unix(1, 0), cluster, []string{"d1"}}}
		}, wrong{twice: 1}},
		{"two cards after a fail-over that lost the record of another", func(e *evidence) {
			e.Messages = append(e.Messages, card(id, "d1", "2"))
			e.Losses = []loss{{time.Unix(1, 0), cluster, []string{"d2"}}}
		}, wrong{twice: 1}},
		{"two cards after redis was emptied", func(e *evidence) {
			e.Messages = append(e.Messages, card(id, "d2", "2"))
			e.Losses = []loss{{time.Unix(1, 0), emptied, nil}}
		}, wrong{twice: 1}},
		{"a message twice", func(e *evidence) { e.Messages = append(e.Messages, reply("d9"), reply("d9")) }, wrong{twice: 1}},
		{"a message twice after a fail-over that lost the record of the first", func(e *evidence) {
			e.Messages = append(e.Messages, reply("d9"), reply("d9"))
			e.Losses = []loss{{time.Unix(1, 0), sentinel, []string{"d9"}}}
		}, wrong{apart: 1}},
		{"a card whose attack became an incident without a notification", func(e *evidence) {
			e.Incidents = []incident{{id, time.Unix(100, 0)}}
		}, wrong{lost: 1}},
		{"no entry", func(e *evidence) { e.change(func(s *state) { s.IPRules = nil }) }, wrong{lost: 1}},
		{"no entry, and the person knows why", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Ephemerals["rob"] = []message{{Answers: "http://r/1", Text: "the service can't be reached"}}
		}, wrong{}},
		{"no entry, and the answer says that it is there", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Ephemerals["rob"] = []message{{Answers: "http://r/1", Text: "accepted by the service"}}
		}, wrong{lost: 1}},
		{"no entry, and another person got the reason", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Ephemerals["ann"] = []message{{Answers: "http://r/1", Text: "the service can't be reached"}}
		}, wrong{lost: 1}},
		{"no entry since redis was emptied", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Losses = []loss{{noon().Add(time.Second), emptied, nil}}
		}, wrong{apart: 1}},
		{"no entry, not acknowledged", func(e *evidence) {
			e.change(func(s *state) { s.IPRules = nil })
			e.Requests[0].Acked = false
		}, wrong{}},
		{"two entries", func(e *evidence) { e.change(func(s *state) { s.IPRules = append(s.IPRules, s.IPRules...) }) }, wrong{twice: 1}},
		{"denied again without a look", func(e *evidence) {
			again := e.Audit[0]
			again.Change = "c4444"
			e.Audit = append(e.Audit, again)
		}, wrong{twice: 1}},
		{"denied again while the outcome of its undo was unknown", func(e *evidence) {
			again, undo := e.Audit[0], e.Audit[3]
			e.Requests = append(e.Requests, request{User: "ann", Account: "acme", Line: "undo c1111", At: noon()})
			again.At, again.Change, undo.Line, undo.Change = noon().Add(time.Second), "c4444", "undo c1111", "c5555"
			e.Audit = append(e.Audit, again, undo)
			e.change(func(s *state) { s.IPRules[0].Reason = "wafbot c4444 by Rob" })
		}, wrong{}},
		{"denied again before its undo was requested", func(e *evidence) {
			again, undo := e.Audit[0], e.Audit[3]
			e.Requests = append(e.Requests, request{User: "ann", Account: "acme", Line: "undo c1111", At: noon().Add(time.Minute)})
			again.At, again.Change, undo.Line, undo.Change = noon().Add(time.Second), "c4444", "undo c1111", "c5555"
			e.Audit = append(e.Audit, again, undo)
			e.change(func(s *state) { s.IPRules[0].Reason = "wafbot c4444 by Rob" })
		}, wrong{twice: 1}},
		{"denied again after it was undone, which began later", func(e *evidence) {
			e.Audit[0].N, e.Audit[1].N, e.Audit[2].N, e.Audit[3].N = 1, 2, 3, 4
			again, undo := e.Audit[0], e.Audit[3]
			again.N, again.Change, undo.N, undo.Line, undo.Change = 6, "c4444", 5, "undo c1111", "c5555"
			e.Audit = append(e.Audit, again, undo)
			e.change(func(s *state) { s.IPRules[0].Reason = "wafbot c4444 by Rob" })
		}, wrong{}},
		{"denied again after it was undone, and printed before it could be written down", func(e *evidence) {
			e.Audit[0].N, e.Audit[1].N, e.Audit[2].N, e.Audit[3].N = 1, 2, 3, 4
			again, undo := e.Audit[0], e.Audit[3]
			again.Change, undo.N, undo.Line, undo.Change = "c4444", 5, "undo c1111", "c5555"
			printed, written := again, again
			printed.N, written.N = 0, 6
			e.Audit = append(e.Audit, undo, printed, written)
			e.change(func(s *state) { s.IPRules[0].Reason = "wafbot c4444 by Rob" })
		}, wrong{}},
		{"an entry without a request", func(e *evidence) { e.Requests = e.Requests[1:]; e.change(func(s *state) { s.Rules = nil }) }, wrong{orphans: 1}},
		{"an entry that the log doesn't know", func(e *evidence) { e.Audit = e.Audit[1:] }, wrong{unaudited: 1}},
		{"an entry that the log doesn't know, for Redis was emptied before it was verified", func(e *evidence) {
			e.Audit = e.Audit[1:]
			e.change(func(s *state) { s.IPRules[0].Made = noon().Unix() })
			e.Losses = []loss{{noon().Add(3 * time.Second), emptied, nil}}
		}, wrong{apart: 1}},
		{"an entry that the log doesn't know, made after Redis was emptied", func(e *evidence) {
			e.Audit = e.Audit[1:]
			e.change(func(s *state) { s.IPRules[0].Made = noon().Unix() })
			e.Losses = []loss{{noon().Add(-time.Second), emptied, nil}}
		}, wrong{unaudited: 1}},
		{"an undo without effect", func(e *evidence) {
			e.change(func(s *state) {
				s.IPRules = append(s.IPRules, entry{List: "black", Subnet: "2001:db8::1/128", Reason: "wafbot c2222 by Rob", Listed: true})
			})
		}, wrong{lost: 1}},
		{"two patches", func(e *evidence) { e.change(func(s *state) { s.Rules = append(s.Rules, s.Rules[0]) }) }, wrong{twice: 1}},
		{"two modes", func(e *evidence) { e.change(func(s *state) { s.Rules = append(s.Rules, s.Rules[1]) }) }, wrong{twice: 1}},
		{"no patch", func(e *evidence) { e.change(func(s *state) { s.Rules = s.Rules[1:] }) }, wrong{lost: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := asGood()
			tt.with(e)
			v := judge(e)
			require.Equal(t, tt.want, wrong{len(v.lost), len(v.twice), len(v.orphans), len(v.unaudited), len(v.apart)}, "%+v", v)
		})
	}
}

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
