package webhooks

import (
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/norace"
	"github.com/wafbot/wafbot/internal/record"
)

var update = flag.Bool("update", false, "write the table of events in docs/webhooks.md")

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func docs(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	require.NoError(t, err)
	return string(text)
}

// documented is the schema of what is sent.
func documented(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, name := range []string{"audit", "webhooks"} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(docs(t, name+".schema.json")))
		require.NoError(t, err)
		require.NoError(t, c.AddResource(doc.(map[string]any)["$id"].(string), doc))
	}
	s, err := c.Compile(dataSchema)
	require.NoError(t, err)
	return s
}

func requireDocumented(t *testing.T, s *jsonschema.Schema, m *message) (sent map[string]any) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(m.body)))
	require.NoError(t, err, "%s", m.body)
	require.NoError(t, s.Validate(doc), "%s", m.body)
	sent = doc.(map[string]any)
	require.Equal(t, m.id, sent["id"])
	if m.subject != "" {
		require.Equal(t, m.subject, sent["subject"])
	}
	return sent
}

var acme = &call.Account{Name: "acme", Applications: map[int]call.Application{4: {Name: "Shop"}}}

func attackWith(text string) apiclient.Attack {
	return apiclient.Attack{
		ID: "x:1", App: apiclient.Known(4), Domain: text, Path: text, Method: text, Parameter: text, Type: text, BlockStatus: "monitored", First: noon, Last: noon,
		Hits: apiclient.Known(1530), SourceCount: apiclient.Known(2), VulnID: text, State: text,
		Sources: []apiclient.Source{{IP: netip.MustParseAddr("203.0.113.7"), Hits: apiclient.Known(7), Country: text}, {IP: netip.MustParseAddr("2001:db8::1")}},
	}
}

// payloads has one of each type of payload, by what it is of.
func payloads(text string) map[record.EventKind]record.Payload {
	all := map[record.EventKind]record.Payload{
		record.AttackEnded: record.AttackCourse{Attack: attackWith(text)}, record.CardLost: record.CardReplaced{Attack: attackWith(text), Former: "C1 1.1"},
		record.CardLeft: record.CardReplaced{Attack: attackWith(text), Former: "C1 1.1"}, record.FirstStart: record.FirstStartFacts{Ongoing: 3, Incidents: 1},
		record.StoreRebuilt: record.RebuildFacts{Cards: 2, Unknown: []string{"c1"}}, record.APIUnreachable: record.UnreachableFacts{Outage: record.Outage{From: noon, Why: text}, Fix: text, LastGood: noon},
		record.MonitoringGap:  record.GapFacts{From: noon, To: noon.Add(time.Hour), Why: text, Began: []apiclient.Attack{attackWith(text)}, BeganCount: 1},
		record.PermissionLost: record.PermissionChanged{Since: noon, Revision: 1}, record.ApprovalAsked: record.ApprovalChanged{Request: "r1", Revision: 1},
		record.HandedOver: record.Assignment{Attack: attackWith(text), To: "U1"}, record.TookOver: record.Assignment{To: "U1"}, record.AckLapsed: record.Assignment{Attack: attackWith(text), To: "U1"},
		record.PagerUnreachable: record.PagerFault{Route: text, Why: text}, record.EventsDropped: record.DroppedFacts{Webhook: "webhooks[0]", Dropped: 3, Why: text}, record.DrillChanged: record.DrillFacts{Drill: "d1"}, record.SummaryDue: nil,
	}
	for _, kind := range []record.EventKind{record.ChangeSettled, record.MitigationEnding, record.EndOverdue, record.MitigationNotWorking, record.DeniedSourceReturned} {
		all[kind] = record.ChangeFacts{Change: "c7k2m9xw4", Until: noon}
	}
	for kind := range titles() {
		if _, ok := all[kind]; !ok {
			all[kind] = record.AttackChanged{Attack: attackWith(text), Severity: record.SeverityCritical, Revision: 2}
		}
	}
	return all
}

func changeWith(text string) record.Change {
	by := record.Actor{ID: "U1", Team: "T1", Name: text, Via: record.ViaButton}
	return record.Change{
		ID: "c7k2m9xw4", Account: "acme", Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}, Keys: map[string]string{"reason": text}}, AttackID: record.AttackID("acme", "x:1"), Does: "Deny " + text,
		Actor: by, Approved: &by, Reason: text, At: noon, Until: noon.Add(time.Hour), State: record.StateDone, Fault: text,
	}
}

// Every kind of event is sent as the schema and the table say, also if its change isn't stored any more.
func TestEveryEventIsSentAsDocumented(t *testing.T) {
	t.Parallel()
	s, names := documented(t), []string{record.AuditName}
	for kind, payload := range payloads("sqli") {
		names = append(names, kind.Name())
		e := record.Event{ID: "e1", Account: "acme", Kind: kind, Channel: "C1", At: noon, Payload: payload}
		require.NotEmpty(t, titles()[kind], kind)
		for _, ch := range []record.Change{{}, changeWith("sqli")} {
			m := eventMessage(acme, e, ch)
			sent := requireDocumented(t, s, m)
			require.Equal(t, "wafbot."+kind.Name(), sent["type"])
			require.True(t, strings.HasPrefix(sent["data"].(map[string]any)["summary"].(string), titles()[kind]))
			require.Equal(t, m, eventMessage(acme, e, ch), "a repeat is the same")
		}
	}
	slices.Sort(names)
	require.Equal(t, record.EventNames(), names)

	m := eventMessage(acme, record.Event{ID: "e1", Account: "acme", Kind: record.NewIncident, At: noon, Payload: payloads("sqli")[record.NewIncident]}, record.Change{})
	var sent cloudEvent
	require.NoError(t, json.Unmarshal(m.body, &sent))
	require.Equal(t, record.SeverityCritical, sent.Data.Severity)
	require.Equal(t, []source{{IP: "203.0.113.7", Hits: new(int64(7)), Country: "sqli"}, {IP: "2001:db8::1"}}, sent.Data.Attack.Sources)
	require.Equal(t, application{4, "Shop"}, *sent.Data.Attack.Application)
	m = eventMessage(acme, record.Event{ID: "e1", Account: "acme", Kind: record.ChangeSettled, At: noon, Payload: record.ChangeFacts{Change: "c7k2m9xw4"}}, changeWith("x"))
	sent = cloudEvent{}
	require.NoError(t, json.Unmarshal(m.body, &sent))
	require.Equal(t, []string{"deny", "done", "U1", "T1", record.AttackID("acme", "x:1")}, []string{sent.Data.Verb, sent.Data.Outcome, sent.Data.Actor.ID, sent.Data.Actor.Team, sent.Subject})
}

// Two events never have one id, and audit entries of an emptied Redis, which counts again, don't either.
func TestIDs(t *testing.T) {
	t.Parallel()
	attack := record.AttackChanged{Attack: attackWith("x"), Revision: 1}
	event := func(account, id string, kind record.EventKind) string {
		return eventMessage(&call.Account{Name: account}, record.Event{ID: id, Account: account, Kind: kind, At: noon, Payload: attack}, record.Change{}).id
	}
	entry := func(n int64, at time.Time) string {
		return auditMessage(record.AuditEntry{N: n, At: at, Account: "acme", Line: "ack"}).id
	}
	ids := []string{
		event("acme", "e1", record.NewAttack), event("acme", "e1", record.BecameIncident), event("acme", "e2", record.NewAttack), event("globex", "e1", record.NewAttack),
		entry(1, noon), entry(2, noon), entry(1, noon.Add(time.Second)),
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), 7)
	require.Equal(t, entry(1, noon), entry(1, noon))
}

// What attackers and people write is in JSON strings, bounded, and nothing in it is unseen; the whole is bounded, too.
func TestHostileTextToWebhooks(t *testing.T) {
	norace.Defer(t)
	t.Parallel()
	s := documented(t)
	check := func(m *message) {
		requireDocumented(t, s, m)
		require.NoError(t, hostiletext.Plain(string(m.body)))
		require.Less(t, len(m.body), 256<<10)
	}
	long := []string{strings.Repeat("<script>\u202e", 2_000), strings.Repeat("é", 20_000)}
	texts, some := slices.Clone(long), []record.EventKind{record.NewIncident, record.ChangeSettled, record.APIUnreachable, record.PagerUnreachable}
	for _, sample := range hostiletext.Samples() {
		texts = append(texts, sample.Text)
	}
	for _, text := range texts {
		for kind, payload := range payloads(text) {
			if !slices.Contains(long, text) && !slices.Contains(some, kind) {
				continue
			}
			check(eventMessage(acme, record.Event{ID: "e1", Account: "acme", Kind: kind, At: noon, Payload: payload}, changeWith(text)))
		}
		by := record.Actor{ID: "U1", Name: text, Via: record.ViaSlash}
		e := record.AuditEntry{N: 7, At: noon, Account: "acme", Actor: by, Approved: &by, Line: text, Outcome: "refused", Why: text, After: slices.Repeat([]string{text}, 100)}
		check(auditMessage(e))
		require.Equal(t, text, e.Approved.Name, "the entry itself is as it was")
	}
}

// The table of events in docs/webhooks.md.
func TestDocs(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| event | what happened |\n|---|---|\n")
	byName := map[string]string{record.AuditName: "An audit entry was made: somebody did something, or was refused"}
	for kind, title := range titles() {
		byName[kind.Name()] = title
	}
	for _, name := range record.EventNames() {
		b.WriteString("| `" + name + "` | " + byName[name] + " |\n")
	}
	table := regexp.MustCompile(`(?m)^\| event \| what happened \|\n(\|.*\n)*`)
	text := docs(t, "webhooks.md")
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join("..", "..", "docs", "webhooks.md"), []byte(table.ReplaceAllString(text, b.String())), 0o644))
		return
	}
	require.Equal(t, b.String(), table.FindString(text), "run go test ./commands/webhooks -run TestDocs -update")
}
