package commands_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
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
	res, _ := w.all(who, line)
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
	_, err := w.try(atTerminal, "report attack="+id[:6])
	require.ErrorIs(t, err, refusal.ErrUsage, "the beginning of an id is looked for where it can be")
	_, err = w.try(ann, "ack attack="+id)
	require.ErrorIs(t, err, refusal.ErrUsage, "what is past is only reported")
}

func TestReportOfAnAttackThatWasNeverNotified(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	doc := w.document(id)
	for _, part := range []string{"100 hits, 2 sources", "First hit, says the service", "wafbot posted no card of it", "Nothing of wafbot's for this attack", "Nothing about this attack is in the audit log", "Unacknowledged", "registered no incident"} {
		require.Contains(t, doc, part)
	}
}

func TestReportWithoutStoreOrService(t *testing.T) {
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

const aggregation = "POST /v1/client/5/attack-vectors/security-agg/query"

// started starts an attack of a type that ends at once, on a path of its own.
func (w *world) started(attackType, host string) {
	w.t.Helper()
	w.ids++
	_, err := w.service.StartAttack(waf.AttackSpec{App: 4, Type: attackType, Host: host, Path: fmt.Sprint("/t", w.ids), Hits: 1, Lasts: waf.Duration(time.Millisecond)})
	require.NoError(w.t, err)
}

// aWeek has attacks on several days, up to 20 November at 3 o'clock.
func aWeek(t *testing.T) *world {
	w := newWorld(t)
	w.now = w.now.Add(-7 * 24 * time.Hour)
	for day, types := range [][]string{
		{"sqli"}, {}, {"xss", "xss", "rce"}, {"sqli", "scanner", "xss", "ptrav", "crlf", "redir"}, {"sqli"}, {"xss", "sqli"}, {"sqli"}, {"sqli"},
	} {
		for i, kind := range types {
			host := ""
			if i%2 == 1 {
				host = fmt.Sprintf("h%d.example.com", day)
			}
			w.started(kind, host)
		}
		if day < 7 {
			w.pass(24 * time.Hour)
		}
	}
	return w
}

func TestTrends(t *testing.T) {
	w := aWeek(t)
	golden(t, "trends.txt", textOf(w.reads(eve, "trends"))+"\n")
	require.Equal(t, textOf(w.reads(eve, "trends")), textOf(w.reads(eve, "trends since=7d")))
	golden(t, "trends-1d.txt", textOf(w.reads(eve, "trends since=24h"))+"\n")
	require.Contains(t, textOf(w.reads(eve, "trends since=25h")), "19 Nov to 20 Nov (UTC): ", "whole days")
	for _, long := range []string{"8d", "1w1d", "forever"} {
		w.refuses(eve, "trends since="+long, refusal.ErrUsage, "The service goes back 7 days. Example: since=7d")
	}
	w.refuses(eve, "trends since=soon", refusal.ErrUsage, "Invalid duration: soon")

	data := w.program("trends since=2d")["data"].(map[string]any)
	require.Equal(t, "2026-11-19T00:00:00Z", data["first_day"])
	require.Equal(t, []any{1.0, 1.0}, data["attacks"])
	require.Equal(t, []any{map[string]any{"name": "sqli", "attacks": []any{1.0, 1.0}}}, data["types"])
	require.Equal(t, []any{map[string]any{"name": "not_blocked", "attacks": []any{1.0, 1.0}}}, data["statuses"])
}

func TestTrendsAtMidnight(t *testing.T) {
	w := newWorld(t)
	w.pass(21 * time.Hour)
	require.Contains(t, textOf(w.reads(eve, "trends since=1d")), "21 Nov (UTC): none")
}

func TestTrendsOfAQuietWeek(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, "acme: attacks per day, 14 Nov to 20 Nov (UTC): none", textOf(w.reads(eve, "trends")))
	require.Equal(t, []any{}, w.program("trends")["data"].(map[string]any)["hosts"])
}

// What attackers wrote into the Host header is text.
func TestTrendsShowHostileHosts(t *testing.T) {
	w := newWorld(t)
	w.started("sqli", "evil\u202e<!channel>"+strings.Repeat("a", 1000))
	shown := textOf(w.reads(eve, "trends"))
	require.Contains(t, shown, `evil\u{202e}<!channel>aaa`)
	require.Less(t, len(shown), 1000)
}

// More than a page of rows is read by cursor, each row once.
func TestTrendsOfManyAttacks(t *testing.T) {
	w := newWorld(t)
	for range 250 {
		w.started("xss", "")
	}
	require.Contains(t, textOf(w.reads(eve, "trends since=1d")), "20 Nov (UTC): 250 today so far")
	require.Equal(t, 3, w.state().Requests[aggregation])
}

func TestTrendsWhereTheServiceRefuses(t *testing.T) {
	w := newWorld(t)
	w.fault(aggregation, "status:403", 0)
	w.refuses(eve, "trends", refusal.ErrService, "lacks the permission")
	for _, line := range []string{"status", "summary"} {
		require.Contains(t, textOf(w.reads(eve, line)), "Attacks per day: unknown just now, type trends", line)
	}
}

// Home and the summary have a line of it.
func TestTheTrendInOverviews(t *testing.T) {
	w := aWeek(t)
	const line = "Attacks per day ▁▅█▃▄▃▃ 14 Nov to 20 Nov (UTC): most 6 on Mon 16 Nov, 1 today so far"
	for _, typed := range []string{"status", "summary"} {
		res := w.reads(eve, typed)
		require.Contains(t, textOf(res), line, typed)
		require.Equal(t, 1, strings.Count(textOf(res), "Attacks per day"))
	}
	home := w.reads(eve, "status").Home.(*report.Home)
	require.True(t, slices.ContainsFunc(home.Parts(true), func(p call.Part) bool { return p.Title.String() == line }))
}

// A service that hangs on the trend alone holds an overview up for a second.
func TestOverviewsHardlyWaitForTheTrend(t *testing.T) {
	for _, line := range []string{"status", "summary"} {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t)
			w.fault(aggregation, "hang", 0)
			began := time.Now()
			require.Contains(t, textOf(w.reads(eve, line)), "Attacks per day: unknown just now, type trends", line)
			require.Equal(t, time.Second, time.Since(began), line)
		})
	}
}

// Of several accounts those are counted whose services answer.
func TestTheTrendOfSeveralAccounts(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) {
		secondAccount(c)
		gives(c, "globex", figures{err: &apiclient.Error{Op: "query attacks by day", Kind: apiclient.Forbidden}})
	})
	w.started("sqli", "")
	require.Contains(t, textOf(w.reads(eve, "status")), "20 Nov (UTC): 1 today so far; unknown just now of 1 account\n")
}

// figures is a service that answers so.
type figures struct {
	commands.Writer
	read apiclient.AttackDays
	err  error
}

func (f figures) AttackDays(context.Context, int) (apiclient.AttackDays, error) { return f.read, f.err }

// gives has an account's service answer so.
func gives(c *commands.Config, account string, f figures) {
	f.Writer = c.Services["acme"].Writer
	c.Services[account] = commands.Service{Lister: c.Services["acme"].Lister, Writer: f}
}

// Figures of a part of the rows are called that, and an overview has none.
func TestTrendsThatAreCut(t *testing.T) {
	rows := make([]apiclient.AttackDay, 10_000)
	for i := range rows {
		rows[i] = apiclient.AttackDay{Day: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Type: "xss"}
	}
	w := newWorld(t, func(c *commands.Config) {
		gives(c, "acme", figures{read: apiclient.AttackDays{Rows: rows, More: true}})
	})
	shown := textOf(w.reads(eve, "trends since=1d"))
	require.Contains(t, shown, "acme: attacks per day, 20 Nov (UTC), of the first 10,000 rows: 10,000 today so far\n")
	require.Contains(t, shown, "The service has more rows than wafbot reads at once: trends since=1d asks for the fewest")
	require.Equal(t, 10_000.0, w.program("trends")["data"].(map[string]any)["cut_at"])
	require.Contains(t, textOf(w.reads(eve, "status")), "Attacks per day: unknown just now, type trends")
}

func TestExplain(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	tried := []call.TriedRoute{
		{Match: "kind incident", Not: "kind"}, {Match: "type xss", Not: "type"}, {Match: "application 7", Not: "application"}, {Match: "host x.example", Not: "host"},
		{Match: "status blocked", Not: "status"}, {Match: "min_hits 5000", Not: "min_hits"},
	}
	w.routing = call.Routing{Tried: tried}
	said := textOf(w.reads(eve, "explain attack="+id))
	for _, part := range []string{"No route takes it", "route 1 takes kind incident: no, kind is attack", "no, type is sqli", "no, application is Shop", "no, host is shop.example.com",
		"no, status is not_blocked", "no, min_hits is 10", "It has no card yet", "It isn't muted"} {
		require.Contains(t, said, part)
	}
	w.routing = call.Routing{Tried: append(tried, call.TriedRoute{Match: "everything"}), Channel: "C1", Mention: "S0ONCALL", Calls: "S0ONCALL", Notified: true}
	said = textOf(w.reads(eve, "explain attack="+id))
	for _, part := range []string{"It goes to channel C1 by route 7 and mentions @S0ONCALL", "route 7 takes everything: this one", "its card is on its way"} {
		require.Contains(t, said, part)
	}
	require.NotContains(t, said, "pager")
	require.NotContains(t, said, "Quiet hours")
	w.routing.Quiet, w.routing.Zone, w.routing.QuietNow = "22:00-07:00", "Europe/Berlin", true
	said = textOf(w.reads(eve, "explain attack="+id))
	require.Contains(t, said, "Who acknowledges it is mentioned in place of @S0ONCALL when it gets worse, at most once in 10 min but for its becoming an incident")
	require.Contains(t, said, "Quiet hours are 22:00-07:00 (Europe/Berlin): now, and it mentions no user in them")
	w.routing.QuietNow, w.routing.Suppressed, w.routing.MentionedAt = false, true, w.clock()
	said = textOf(w.reads(eve, "explain attack="+id))
	require.Contains(t, said, "becoming an incident; last 2026-11-20 03:00 UTC")
	require.Contains(t, said, "not now, or it mentions people in them all the same. No user has been mentioned about it because of them since it got worse")
	w.routing.Card, w.routing.PageAfter = "C2", 5*time.Minute
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "Its pager is called when unacknowledged for 5 min; it was not called so far")
	w.routing.PagedAt = w.clock()
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "it was last called at 2026-11-20 03:00 UTC")
	w.pass(20 * time.Minute)
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "Its card is in channel C2, where it stays unless it becomes an incident that a route wants elsewhere")
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "It is quiet: no hit in the last 15 min")
	w.routing.Kept, w.routing.Mention = true, ""
	said = textOf(w.reads(eve, "explain attack="+id))
	require.Contains(t, said, "As it is now it would go to channel C1 by route 7 and mention no user. What was chosen")
	require.Contains(t, said, "is mentioned in place of @S0ONCALL when it gets worse")
	w.routing.Channel, w.routing.Tried = "", tried
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "No route takes it as it is now. What was chosen")
	require.Equal(t, "C2", w.program("explain attack=" + id)["data"].(map[string]any)["card"])
}

func TestExplainWithoutTheStore(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) {
		c.Routing = func(context.Context, string, apiclient.Attack) (call.Routing, error) {
			return call.Routing{Tried: []call.TriedRoute{{Match: "everything"}}, Channel: "C1"}, errors.New("away")
		}
	})
	said := textOf(w.reads(eve, "explain attack="+w.attackOn("/login")))
	require.Contains(t, said, "It goes to channel C1 by route 1 and mentions no user")
	require.Contains(t, said, "is unknown: wafbot's store (Redis) can't be reached")
}

// What is stored of an attack without a card is up to an hour old: why it has none is explained by what goes on now.
func TestExplainReadsTheServiceFirst(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.pass(time.Minute)
	all, err := w.service.State("acme")
	require.NoError(t, err)
	old := apiclient.Attack{ID: all.Attacks[0].ID, Type: "sqli", Hits: apiclient.Known(5), Last: w.clock().Add(-50 * time.Minute)}
	w.knows(old)
	var asked apiclient.Attack
	w.cfg.Routing = func(_ context.Context, _ string, a apiclient.Attack) (call.Routing, error) {
		asked = a
		return call.Routing{}, nil
	}
	w.Runner = commands.New(w.cfg)
	w.writes(ann, "mute source=203.0.113.0/24")
	w.writes(ann, "mute type=sqli app=Shop")
	said := textOf(w.reads(eve, "explain attack="+id))
	require.Greater(t, asked.Hits.N, int64(5))
	require.NotContains(t, said, "It is quiet")
	require.Contains(t, said, "Muted: type=sqli app=4 until")
	data := w.program("explain attack=" + id)["data"].(map[string]any)
	require.Equal(t, "sqli", data["muted"].(map[string]any)["type"])
	require.Equal(t, []any{}, data["tried"])

	w.fault("POST /v1/objects/attack", "status:500", 2)
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "The service doesn't answer: these figures are the last that wafbot saw")
	require.Equal(t, old, asked)
}

func TestVulns(t *testing.T) {
	w := newWorld(t)
	w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 812, Threat: 90, Title: "SQL injection \u202ein login"}})
	res := w.reads(eve, "vulns")
	require.Contains(t, textOf(res), "acme: 2 open security issues\n")
	require.Contains(t, textOf(res), `812 high (threat 90) SQL injection \u{202e}in login, open, 1 incident: POST shop.example.com/login`)
	require.Contains(t, textOf(res), "medium (threat 60) Reflected XSS in search, open, 0 incidents: GET shop.example.com/search")
	require.Less(t, strings.Index(textOf(res), "SQL injection"), strings.Index(textOf(res), "Reflected"), "the most severe first")
	require.NotContains(t, textOf(res), "Open redirect")

	all := w.reads(eve, "vulns ALL")
	require.Contains(t, textOf(all), "acme: 3 security issues\n")
	require.Contains(t, textOf(all), "Open redirect after login, closed")
	require.Less(t, strings.Index(textOf(all), "Reflected"), strings.Index(textOf(all), "Open redirect"), "closed ones last")
	require.Len(t, w.program("vulns")["data"], 2)
	require.Equal(t, "812", w.program("vulns")["data"].([]any)[0].(map[string]any)["id"])

	w.refuses(eve, "vulns closed", refusal.ErrUsage, "Invalid issue: closed. all, or the id of one. Example: vulns 812")
	w.fault("POST /v1/objects/vuln", "status:403", 0)
	w.refuses(eve, "vulns", refusal.ErrService, "lacks the permission")
}

// An issue is shown with its incidents, and each of these with its attack's id and card.
func TestAVulnerabilityWithItsIncidents(t *testing.T) {
	w := newWorld(t)
	vuln := &waf.VulnSpec{ID: 812, Threat: 90, Title: "SQL injection in login"}
	first, second := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: vuln}), w.attack(waf.AttackSpec{App: 4, Path: "/search", Vulnerability: vuln})
	other := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 8125}})
	w.cfg.CardLinks = func(context.Context, string, []string) map[string]string {
		return map[string]string{second: "https://acme.slack.com/archives/C1/p2"}
	}
	w.Runner = commands.New(w.cfg)
	for _, typed := range []string{"812", "issue-812"} {
		said := textOf(w.reads(eve, "vulns "+typed))
		require.Contains(t, said, "acme: 812 high (threat 90) SQL injection in login, open, 2 incidents: POST shop.example.com/login\n")
		require.Contains(t, said, "Found by passive, target server, in the console ISSUE-812, field login\n2 incidents in the last 30 days\n")
		require.Contains(t, said, "• "+first+" INCIDENT SQL injection on Shop")
		require.Contains(t, said, "• "+second+" card https://acme.slack.com/archives/C1/p2 INCIDENT SQL injection on Shop")
		require.NotContains(t, said, other)
	}
	require.Contains(t, textOf(w.reads(eve, "attack "+first)), "vulnerability 812. Assume data was read. vulns 812 shows it with its incidents")
	require.Contains(t, textOf(w.reads(eve, "attack "+first)), "2 sources, answered 200, 500")
	data := w.program("vulns 812")["data"].(map[string]any)
	require.Equal(t, "812", data["vulnerability"].(map[string]any)["id"])
	require.Len(t, data["incidents"], 2)

	w.refuses(eve, "vulns 813", refusal.ErrUsage, "Unknown security issue: 813. vulns all lists them")
	w.refuses(eve, "vulns 812<!channel>", refusal.ErrUsage, "Invalid issue")
	found := w.program("vulns")["data"].([]any)
	none := textOf(w.reads(eve, "vulns "+found[len(found)-1].(map[string]any)["id"].(string)))
	require.Contains(t, none, "Found by scanner, target client")
	require.True(t, strings.HasSuffix(none, "\n0 incidents in the last 30 days"), "other ways of detection find none: %s", none)
}

// What can't be read is unknown, and costs nothing of the rest.
func TestAVulnerabilityOfWhichNotAllIsKnown(t *testing.T) {
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 812}})
	w.fault("POST /v1/objects/vuln", "status:403", 1)
	said := textOf(w.reads(eve, "vulns 812"))
	require.Contains(t, said, "acme: 812, an issue of which nothing else is known: the service doesn't allow this")
	require.Contains(t, said, "1 incident in the last 30 days; whether there are older ones is unknown: incidents since=90d lists all\n• "+id)
	w.fault("POST /v1/objects/attack", "status:403", 1)
	said = textOf(w.reads(eve, "vulns 812"))
	require.Contains(t, said, "acme: 812 high (threat 90) SQL Injection in /login, open, 1 incident")
	require.Contains(t, said, "Its incidents are unknown: the service doesn't allow this")
	require.NotContains(t, said, "0 incidents")
	w.fault("", "status:403", 0)
	w.refuses(eve, "vulns 812", refusal.ErrService, "lacks the permission")
}

// endsEarly is a path, of which marks and what stands behind them are left out, shown as if it ended there.
var endsEarly = regexp.MustCompile(`login\x{0301}*([^…\x{0301}]|$)`)

// What a patch and its question say of a path, and what any answer does, at a terminal, too, never pretends that a path ends where only marks on a letter go on.
func TestNoAnswerEndsAPathBeforeItsEnd(t *testing.T) {
	w := newWorld(t)
	path := "/login" + strings.Repeat("\u0301", 2_500) + "/hidden-tail.php"
	id := w.attack(waf.AttackSpec{App: 4, Path: path, Type: "sqli", Parameter: "GET_q_value"})
	asked := 0
	for _, s := range advice.Advise(w.situation(id)).Suggestions {
		confirm, _ := s.In(300)
		require.False(t, endsEarly.MatchString(confirm), confirm)
		if strings.Contains(confirm, "/log") {
			asked++
		}
	}
	require.Positive(t, asked)
	shown := 0
	for _, line := range []string{
		"attack " + id, "status", "attacks", "explain attack=" + id, "report attack=" + id, "deny attack=" + id, "patch attack=" + id, "contain attack=" + id,
		"patch GET shop.example.com" + path + " type=sqli part=get.q", "block-path GET shop.example.com" + path + " for=30m", "rules", "audit", "lists", "undo attack=" + id,
	} {
		res, err := w.try(root, line)
		said := textOf(res) + "\n" + res.Document
		if err != nil {
			said += err.Error()
		}
		for part := range strings.Lines(said) {
			require.False(t, endsEarly.MatchString(strings.TrimSpace(part)), "%.40s: %.300q", line, part)
			if strings.Contains(part, "/log") {
				shown++
			}
		}
	}
	require.Greater(t, shown, 6)
}
