package chaos

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// evidence is what the oracle checks. A failed round keeps it with its logs.
type evidence struct {
	Begun      time.Time
	Services   map[string]state     // by account
	Messages   []message            // visible in the channels, each once
	Ephemerals map[string][]message // ephemeral, by person
	Audit      []auditEntry         // in the order of their times
	Printed    map[string]bool      // attacks that a printed event is about
	Requests   []request
	Incidents  []incident
	Losses     []loss
}

// auditEntry is a line of the audit log.
type auditEntry struct {
	N       int64     `json:"n"`
	At      time.Time `json:"at"`
	Account string    `json:"account"`
	Actor   struct {
		ID string `json:"id"`
	} `json:"actor"`
	Line    string   `json:"line"`
	Outcome string   `json:"outcome"`
	Change  string   `json:"change"`
	Attack  string   `json:"attack"`
	Before  []string `json:"before"`
}

// observe collects the evidence and keeps it beside the logs.
func (r *round) observe() *evidence {
	r.t.Helper()
	e := r.collect()
	text, err := json.MarshalIndent(e, "", " ")
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(filepath.Join(r.logs, "evidence.json"), text, 0o600))
	return e
}

// collect reads all evidence.
func (r *round) collect() *evidence {
	r.t.Helper()
	e := &evidence{Begun: r.begun, Services: map[string]state{}, Ephemerals: map[string][]message{}}
	var err error
	for _, a := range accounts() {
		e.Services[a.name], err = r.world.service(a.name)
		require.NoError(r.t, err)
	}
	for i, user := range people() {
		for _, channel := range channels() {
			messages, err := r.world.messages(user, channel)
			require.NoError(r.t, err)
			for _, m := range messages {
				if m.Ephemeral {
					e.Ephemerals[user] = append(e.Ephemerals[user], m)
				} else if i == 0 && m.Bot != "" {
					e.Messages = append(e.Messages, m)
				}
			}
		}
	}
	r.addPrinted(e)
	if r.single != nil {
		r.addStored(e)
	}
	received, err := r.world.received()
	require.NoError(r.t, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.requests {
		q.Acked = q.Acked || received[q.TS]
		e.Requests = append(e.Requests, *q)
	}
	e.Incidents, e.Losses = slices.Clone(r.incidents), slices.Clone(r.losses)
	return e
}

// addPrinted adds what all processes of all replicas printed: audit entries, and which attacks events are about.
func (r *round) addPrinted(e *evidence) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.logs, "replica*.out"))
	require.NoError(r.t, err)
	e.Printed = map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(r.t, err)
		for row := range bytes.Lines(text) {
			var line struct {
				Audit *auditEntry
				Event struct{ Attack string }
			}
			if err := json.Unmarshal(row, &line); err != nil {
				continue // the last line of a process that was killed
			}
			if e.Printed[line.Event.Attack] = true; line.Audit != nil {
				e.Audit = append(e.Audit, *line.Audit)
			}
		}
	}
}

// addStored adds the audit entries that were stored and not printed, by a replica that was killed in between.
func (r *round) addStored(e *evidence) {
	r.t.Helper()
	for _, a := range accounts() {
		kept, err := askRedis(r.single.Addr, "XRANGE {a:"+a.name+"}:audit - +")
		require.NoError(r.t, err)
		for i, word := range kept.words {
			var one auditEntry
			if i == 0 || kept.words[i-1] != "entry" {
				continue
			}
			require.NoError(r.t, json.Unmarshal([]byte(word), &one))
			one.N, err = strconv.ParseInt(kept.words[i-2], 10, 64)
			require.NoError(r.t, err)
			if !slices.ContainsFunc(e.Audit, func(printed auditEntry) bool {
				return printed.N == one.N && printed.Account == one.Account && printed.At.Equal(one.At)
			}) {
				e.Audit = append(e.Audit, one)
			}
		}
	}
	slices.SortStableFunc(e.Audit, func(a, b auditEntry) int { return a.At.Compare(b.At) })
}

// attackID is the id of an attack as people type it. It depends only on the account and the service's id.
func attackID(account, id string) string {
	sum := sha256.Sum256([]byte(account + "\x00" + id))
	return "a" + base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding).EncodeToString(sum[:])[:8]
}

// posted is when a message was posted.
func (m message) posted() time.Time {
	seconds, err := strconv.ParseFloat(m.TS, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6))
}

// sources are what an entry is about, as a line names them: one address, or countries and the like.
func (e entry) sources() (all []string) {
	if p, err := netip.ParsePrefix(e.Subnet); err == nil {
		return []string{p.Addr().String()}
	}
	for _, one := range e.Values {
		all = append(all, e.Type+":"+one)
	}
	return all
}

// denied are wafbot's entries on an account's deny list, by source.
func (e *evidence) denied(account string) map[string][]entry {
	found := map[string][]entry{}
	for _, one := range e.Services[account].IPRules {
		if one.Listed && one.List == "black" && one.change() != "" {
			for _, source := range one.sources() {
				found[source] = append(found[source], one)
			}
		}
	}
	return found
}

// patches are the rules that patch an attack's path, by attack.
func (e *evidence) patches(account string) map[string][]rule {
	paths := map[string]string{}
	for _, a := range e.Services[account].Attacks {
		paths[strings.TrimPrefix(a.Path, "/")] = attackID(account, a.ID)
	}
	found := map[string][]rule{}
	for _, one := range e.Services[account].Rules {
		if !one.Listed || one.Type != "vpatch" {
			continue
		}
		_, item, _ := strings.Cut(one.Words, `action_name equal "`)
		item, _, _ = strings.Cut(item, `"`)
		id := paths[item]
		if id == "" {
			id = "unknown " + item
		}
		found[id] = append(found[id], one)
	}
	return found
}

// done lists the audited changes whose line begins so.
func (e *evidence) done(account string, begins ...string) (found []auditEntry) {
	for _, a := range e.Audit {
		if a.Account == account && (a.Outcome == "done" || a.Outcome == "half") && slices.ContainsFunc(begins, func(b string) bool {
			return a.Line == b || strings.HasPrefix(a.Line, b+" ")
		}) {
			found = append(found, a)
		}
	}
	return found
}

// donePatch are the audited patches of an attack.
func (e *evidence) donePatch(account, attack string) []auditEntry {
	return slices.DeleteFunc(e.done(account, "patch"), func(a auditEntry) bool { return a.Attack != attack })
}

// undone reports whether one of the changes was done and undone since.
func (e *evidence) undone(account string, changes []auditEntry) bool {
	return slices.ContainsFunc(changes, func(a auditEntry) bool { return len(e.done(account, "undo "+a.Change)) > 0 })
}

// gone reports whether a change is undone and nothing of it stands.
func (e *evidence) gone(account, change string) bool {
	for _, entries := range e.denied(account) {
		if slices.ContainsFunc(entries, func(one entry) bool { return one.change() == change }) {
			return false
		}
	}
	return len(e.done(account, "undo "+change)) > 0 || slices.ContainsFunc(e.Audit, func(a auditEntry) bool {
		return a.Line == "undo "+change && a.Outcome == "nothing"
	})
}

// undoneAround reports whether a change was undone by a request from before that time: of unknown outcome it is in the
// log when it was verified, after what was done meanwhile. The service itself refuses a second entry beside one that
// stands.
func (e *evidence) undoneAround(account, change string, at time.Time) bool {
	return len(e.done(account, "undo "+change)) > 0 && e.asked(account, func(q request) bool {
		verb, objects := q.words()
		return verb == "undo" && objects[0] == change && q.At.Before(at)
	})
}

// asked reports whether such a request was sent, acknowledged or not.
func (e *evidence) asked(account string, such func(request) bool) bool {
	return slices.ContainsFunc(e.Requests, func(q request) bool { return q.Account == account && such(q) })
}

// answers lists the messages that answer a request: at its response URL, or without one but later and about the
// request.
func (e *evidence) answers(q request) (texts []string) {
	_, objects := q.words()
	for _, m := range e.Ephemerals[q.User] {
		switch {
		case q.Answers != "" && m.Answers == q.Answers:
			texts = append(texts, m.says())
		case m.Answers == "" && m.posted().After(q.At) && (aboutNone(m) || len(objects) == 0 || strings.Contains(m.says(), objects[0])):
			texts = append(texts, m.says())
		}
	}
	return texts
}

// aboutNone reports whether a message says that a change failed without naming it.
func aboutNone(m message) bool {
	text := strings.ToLower(m.says())
	return slices.ContainsFunc([]string{"not done", "nothing was done", "nothing is changed", "changes are switched off", "perhaps not recorded"}, func(words string) bool { return strings.Contains(text, words) })
}

// refusal reports whether an answer says anything but that everything was done.
func refusal(text string) bool {
	if !strings.Contains(text, "accepted by the service") {
		return true
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"not done", "failed", "refused", "nothing to change", "nothing of it", "already"}, func(words string) bool { return strings.Contains(text, words) })
}

// explained reports whether an answer says why a request was not done.
func (e *evidence) explained(q request) bool { return slices.ContainsFunc(e.answers(q), refusal) }

// String is a request for the report.
func (q request) String() string {
	how := "typed"
	switch {
	case q.Clicked:
		how = "clicked"
	case q.TS != "":
		how = "said"
	}
	return fmt.Sprintf("%s %s %s %q on %s", q.At.Format("15:04:05.000"), q.User, how, q.Line, q.Account)
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
