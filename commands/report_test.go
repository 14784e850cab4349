package commands_test

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

var update = flag.Bool("update", false, "write golden files again")

// golden holds a text against a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s (go test -update writes it again)", file)
}

// atTerminal is a user at the terminal, where a report comes in one piece.
var atTerminal = record.Actor{ID: "cli:ann", Name: "ann", Via: record.ViaCLI}

// observed is what wafbot's store has of an attack as it is now.
func (w *world) observed(id string) record.Observation {
	w.t.Helper()
	w.shows(id, record.AttackState{ObservedAt: w.clock()})
	s, ok, err := w.store.Attacks.LastObservation(w.t.Context(), "acme", id)
	require.NoError(w.t, err)
	require.True(w.t, ok)
	require.Equal(w.t, record.Observation{At: w.clock(), Attack: w.served(id).Brief()}, s)
	return s
}

// keepEvidence keeps evidence of an attack as if people had been notified now.
func (w *world) keepEvidence(id string) record.Observation {
	w.t.Helper()
	s := w.observed(id)
	w.polled(record.PollUpdate{Evidence: map[string]record.Evidence{s.Attack.ID: {First: s, CardAt: s.At}}})
	return s
}

// has a user ask, one minute after what was before.
func (w *world) next(who record.Actor, line string) call.Result {
	w.t.Helper()
	w.pass(time.Minute)
	inv := w.asks(who, line)
	inv.Anyway = true
	res, _ := w.do(inv)
	return res
}

func berlin(t *testing.T) func(*commands.Config) {
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	return func(c *commands.Config) { c.Zone = zone }
}

// document is the report, put together a minute later.
func (w *world) document(id string) string {
	w.t.Helper()
	w.pass(time.Minute)
	res := w.reads(atTerminal, "report attack="+id)
	require.Empty(w.t, res.Lines)
	return res.Document
}

func TestReportOfAnIncident(t *testing.T) {
	t.Parallel()
	w := newWorld(t, berlin(t), sources(cdn))
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{Title: "SQL injection in login"}})
	w.keepEvidence(id)
	w.pass(time.Minute)
	w.observed(id)
	deny := w.next(ann, `deny attack=`+id+` reason="it reads *everything*"`)
	require.Len(t, deny.Changes, 1)
	w.next(ann, "ack attack="+id)
	w.next(eve, "patch attack="+id)
	w.next(ann, "deny 192.0.2.1 attack="+id)
	w.next(ann, "patch attack="+id)
	w.next(bob, "handover to=@me attack="+id+` "I take it from here"`)
	w.next(bob, "undo "+deny.Changes[0].ID)
	w.next(bob, "note attack="+id+" same [net](http://x.example) as _Monday_")
	w.next(bob, "verdict real attack="+id)
	w.pass(time.Hour)
	golden(t, "report-incident.md", w.document(id))
}

func TestReportOfAFalsePositive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{App: -1, Path: "/search", Type: "xss", Parameter: "GET_q_value"})
	w.keepEvidence(id)
	w.next(bob, "ack attack="+id)
	w.next(bob, `note attack=`+id+` "our own search tips hold a <script> tag"`)
	w.next(bob, "verdict false_positive attack="+id)
	w.next(bob, "mute attack="+id+" for=2h")
	w.next(bob, "unack attack="+id)
	w.pass(30 * time.Minute)
	w.observed(id)
	golden(t, "report-false-positive.md", w.document(id))
}

// While Not watched, and while the application blocked, what happened could not be seen.
func TestReportOfAnUnseenAttack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, berlin(t))
	id := w.attackOn("/login")
	w.keepEvidence(id)
	begun := w.clock()
	w.missed([]record.Outage{
		{From: begun.Add(-2 * time.Hour), Until: begun.Add(-time.Hour), Why: "before it began"},
		{From: begun.Add(10 * time.Minute), Until: begun.Add(25 * time.Minute), Why: "the service refuses the token"},
		{From: begun.Add(40 * time.Minute), Until: begun.Add(43 * time.Minute)},
	}...)
	switched := w.next(ann, "mode 4 block for=2h attack="+id)
	require.Len(t, switched.Changes, 1)
	w.next(root, "mode -1 block for=1h")
	w.pass(45 * time.Minute)
	require.NoError(t, w.service.AddHits(w.served(id).ID, 50))
	w.observed(id)
	w.next(ann, "undo "+switched.Changes[0].ID)
	w.next(ann, "mode 4 safe_blocking attack="+id)
	w.next(ann, "gray 198.51.100.4 for=30m attack="+id)
	w.pass(40 * time.Minute)
	golden(t, "report-unseen.md", w.document(id))
}

// The service's rules show modes that others set, and of what inherits them.
func TestReportOfModesThatOthersSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{App: 7, Path: "/old"})
	require.Contains(t, w.document(id), "The service registered no incident\n")
	w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"off","validated":false,"action":[]}`)
	inherits := w.document(id)
	require.Contains(t, inherits, "which says little. No incidents **can** be registered on all applications without a mode of their own since 2026-11-20 03:01:00 UTC: it is in mode off")
	require.Contains(t, inherits, "2026-11-20 03:01:00 UTC No incidents **can** be registered on all applications")
	w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"block","validated":false,"action":[{"type":"equal","value":"7","point":["instance"]}]}`)
	own := w.document(id)
	require.Contains(t, own, "No incidents **can** be registered on Legacy since 2026-11-20 03:02:00 UTC: it is in mode block")
	require.NotContains(t, own, "all applications without")
	w.fault("POST /v1/objects/hint", "status:403", 10)
	require.Contains(t, w.document(id), "Whether others set a mode in which no incident is registered: ")
}

// What should have ended and could not be is in place.
func TestReportOfWhatIsOverdue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.next(ann, "mode 4 block for=1h attack="+id)
	w.pass(2 * time.Hour)
	doc := w.document(id)
	require.Contains(t, doc, "by Ann, though it should have ended 2026-11-20 04:01:00 UTC: wafbot tries each minute. `undo c")
	require.Contains(t, doc, "No incidents **can** be registered on Shop since 2026-11-20 03:01:00 UTC")
	line := textOf(w.reads(ann, "attack "+id))
	require.Contains(t, line, "should have ended, and is tried each minute")
	require.NotContains(t, line, "· ended")
}

// Everything that a stranger can write, in a report on an attack of which nothing but evidence is left.
func TestReportOfAHostileAttack(t *testing.T) {
	t.Parallel()
	evil := "`*b*` _i_ ~~s~~ [l](http://evil.example) ![p](//evil.example/p.png) <img src=x onerror=alert(1)> <!-- \n# head\n| a | b |\n|---|---|\n @everyone #1 :skull: &lt; $x$ www.evil.example \u202e\xff\\"
	w := newWorld(t)
	w.members.full[ann.ID] = "Ann [x](http://evil.example)"
	attack := apiclient.Attack{
		ID: evil, Domain: evil, Path: evil, Method: evil, Parameter: evil, Type: evil, VulnID: evil, BlockStatus: evil, Target: evil, App: apiclient.Known(4),
		First: w.clock().Add(-50 * time.Hour), Last: w.clock().Add(-49 * time.Hour), Hits: apiclient.Known(10),
		Sources: []apiclient.Source{{IP: netip.MustParseAddr("203.0.113.7"), Country: evil, Hits: apiclient.Known(10)}},
	}
	id := record.AttackID("acme", evil)
	w.polled(record.PollUpdate{Evidence: map[string]record.Evidence{evil: {
		First: record.Observation{At: attack.First, Attack: attack.Brief()}, Late: true,
	}}})
	w.missed(record.Outage{From: attack.First, Until: attack.Last, Why: evil})
	for _, line := range []string{"note", "verdict real", "deny 203.0.113.7"} {
		l, err := grammar.Parse(line)
		require.NoError(t, err)
		l.Words = append(l.Words, evil)
		_, err = w.audit.Append(t.Context(), record.AuditEntry{At: attack.Last, Account: "acme", Actor: record.Actor{ID: evil, Name: evil}, Line: l.String(), Outcome: "done", Attack: id, Why: evil})
		require.NoError(t, err)
	}
	doc := w.document(id)
	golden(t, "report-hostile.md", doc)
	requireHarmless(t, doc)
	_, err := w.try(atTerminal, "report attack="+id[:6])
	require.ErrorIs(t, err, refusal.ErrUsage, "the beginning of an id is looked for where it can be")
	_, err = w.try(ann, "ack attack="+id)
	require.ErrorIs(t, err, refusal.ErrUsage, "what is past is only reported")
}

func TestReportOfAnAttackThatWasNeverNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	doc := w.document(id)
	for _, part := range []string{"100 hits, 2 sources", "First hit, says the service", "wafbot posted no card of it", "Nothing of wafbot's for this attack", "Nothing about this attack is in the audit log", "Unacknowledged", "registered no incident"} {
		require.Contains(t, doc, part)
	}
}

func TestReportWithoutStoreOrService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.keepEvidence(id)
	w.next(ann, "deny attack="+id)
	w.ledger.set(func(l *ledger) { l.readFail = true })
	w.audit.setFail(true)
	doc := w.document(id)
	require.Contains(t, doc, "100 hits, 2 sources", "the service has it")
	require.Contains(t, doc, "Unknown, or not all of it: wafbot's store (Redis) can't be reached")
	require.NotContains(t, doc, "Unacknowledged")
	require.NotContains(t, doc, "Nothing of wafbot's")
	w.ledger.set(func(l *ledger) { l.readFail = false })
	w.audit.setFail(false)

	known := apiclient.Attack{ID: w.served(id).ID, Hits: apiclient.Known(7)}
	w = newWorld(t)
	w.knows(known)
	w.fault("", "status:500", 0)
	doc = w.document(id)
	require.Contains(t, doc, "How it goes on: the service answered with an error")
	require.Contains(t, doc, "when they were read is unknown): 7 hits")
}

// In a chat a report comes below the line of its attack. The chat cuts it into pages, and its line shows another one.
func TestReportInAChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.keepEvidence(id)
	res := w.reads(eve, "report attack="+id+" page=2")
	require.Len(t, res.Lines, 1)
	require.Equal(t, "report account=acme attack="+id+" page=2", res.Line.String())
	require.Equal(t, w.reads(atTerminal, "report attack="+id).Document, res.Document)
}

// What an attack looked like stands in the change, as wafbot had seen it, and never in what a message of Slack carries.
func TestAChangeHoldsWhatTheAttackLookedLike(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	unseen := w.does(ann, "deny 198.51.100.9 attack="+id)
	require.Equal(t, w.clock(), unseen.Observed.At, "it isn't stored: the service was asked")
	seen := w.keepEvidence(id)
	w.pass(time.Minute)
	ch := w.does(ann, "deny attack="+id)
	require.Equal(t, seen, *ch.Observed)
	require.Equal(t, ch.Observed, w.ledger.change(ch.ID).Observed)
	back, err := change.ReadMetadata(change.Metadata(ch)...)
	require.NoError(t, err)
	require.Nil(t, back.Observed)
	require.NotEmpty(t, back.Steps)
	require.Equal(t, seen, *w.does(ann, "undo "+ch.ID).Observed)
	require.Nil(t, w.does(ann, "deny 203.0.113.99").Observed)
}
