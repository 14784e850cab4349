package chaos

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
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
