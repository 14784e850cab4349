package card

import (
	"encoding/json"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func acme() *config.Account {
	return &config.Account{Name: "acme", Lookback: 24 * time.Hour, ConsoleURL: "https://console.example.com", Applications: map[int]config.Application{4: {Name: "Shop"}}}
}

func outageMessages() map[string]Message {
	since := now.Add(-20 * time.Minute)
	outage := record.Outage{From: since, Why: "the service refuses the token"}
	on, over := injection(), injection()
	on.VulnID, over.ID, over.Path, over.Last = "812", "x:over", "/search", now.Add(-5*time.Minute)
	gap := record.GapFacts{
		From: since, To: now, Why: "the service can't be reached", Began: []string{on.ID}, BeganCount: 1, Over: slices.Repeat([]string{over.ID}, 20), OverCount: 31,
	}
	shown := map[string]record.AttackState{
		record.AttackID("acme", on.ID): {Attack: on}, record.AttackID("acme", over.ID): {Attack: over},
	}
	absent := record.GapFacts{From: now.Add(-50 * time.Hour), To: now}
	never := record.UnreachableFacts{Outage: record.Outage{From: since, Why: "the service can't be reached"}}
	deny := record.RefusedChange{
		Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}}.With("for", "4h"), Does: "Deny 203.0.113.7 everywhere for 4 h", By: anna(), At: since,
		Steps: []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{
			List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.7/32"), Apps: []int{0}, Expires: now.Add(4 * time.Hour), Reason: "wafbot c1 by Anna Weber (U0ANN)",
		}}},
	}
	mode := switched()
	lost := record.PermissionLoss{Account: "acme", Since: since, Revision: 1, Status: 403, Lacks: []record.Permission{record.PermissionAll}, Refused: []record.RefusedChange{deny}}
	part := lost
	part.Lacks, part.More = []record.Permission{record.PermissionModes}, 2
	part.Refused = []record.RefusedChange{{
		Line: record.Line{Name: "undo", Words: []string{mode.ID}}, Does: "Undo of: " + mode.Does, Ends: mode.ID, By: record.Actor{Name: "wafbot", Via: record.ViaClock}, At: now,
		Steps: []record.Step{{Kind: record.CreateRule, Rule: mode.Steps[1].Rule}, {Kind: record.DeleteRule, Rule: mode.Steps[0].Rule}},
	}}
	both, patch := lost, patched()
	both.Lacks = []record.Permission{record.PermissionLists, record.PermissionRules}
	both.Refused = []record.RefusedChange{deny, {Line: patch.Line, Does: patch.Does, By: anna(), At: since.Add(time.Second), Steps: patch.Steps}}
	ended := lost
	ended.Until, ended.Lacks = now, nil
	changes := []record.Change{mode}
	return map[string]Message{
		"permission-lost":         PermissionLost(acme(), lost, changes, now.Add(-time.Hour)),
		"permission-lost-both":    PermissionLost(acme(), both, nil, now),
		"permission-lost-in-part": PermissionLost(acme(), part, changes, now),
		"permission-lost-over":    PermissionLost(acme(), ended, changes, now),
		"permission-back":         PermissionBack(acme(), ended),
		"unreachable":             Unreachable(acme(), record.UnreachableFacts{Outage: outage, LastGood: since.Add(-15 * time.Second), Fix: "who manages the tokens makes a new one"}),
		"unreachable-from-then":   Unreachable(acme(), never),
		"gap":                     MonitoringGap(acme(), gap, shown, now),
		"gap-long-absent":         MonitoringGap(acme(), absent, nil, now),
		"foreign-records":         ForeignRecords(acme(), record.ForeignFacts{Records: 120}),
		"pager-away":              PagerUnreachable(acme(), record.PagerFault{Route: "kind incident", Why: "it answers with status 503"}),
	}
}

// What only operators can fix mentions them; that it is over mentions no one.
func TestOpsAreMentioned(t *testing.T) {
	t.Parallel()
	a := acme()
	a.OpsMention = "S0OPS"
	lost := record.PermissionLoss{Account: "acme", Since: now.Add(-time.Minute), Status: 403, Lacks: []record.Permission{record.PermissionAll}}
	over := lost
	over.Until = now
	late := switched()
	late.Late = &record.Late{}
	failed := patched()
	failed.State, failed.Fault = record.StateFailed, "the service answers with errors"
	failure, _, mentions := ChangeSettled(failed, record.Change{}, a.OpsMention, nil)
	require.True(t, mentions)
	settled, _, mentions := ChangeSettled(patched(), record.Change{}, a.OpsMention, nil)
	require.False(t, mentions)
	for name, msg := range map[string]Message{
		"unreachable": Unreachable(a, record.UnreachableFacts{}), "permission lost": PermissionLost(a, lost, nil, now),
		"foreign": ForeignRecords(a, record.ForeignFacts{}),
		"pager":   PagerUnreachable(a, record.PagerFault{}), "overdue": EndOverdue(a, late, "U0ANN", now), "failed": failure,
	} {
		require.Equal(t, 1, strings.Count(rendered(t, msg), "<!subteam^S0OPS>"), name)
	}
	for name, msg := range map[string]Message{
		"permission lost, over": PermissionLost(a, over, nil, now), "permission back": PermissionBack(a, over), "gap": MonitoringGap(a, record.GapFacts{From: now, To: now}, nil, now), "done": settled,
	} {
		require.NotContains(t, rendered(t, msg), "S0OPS", name)
	}
	a.OpsMention, a.Routes = "", []config.Route{{}, {Mention: "S0FIRST"}, {Mention: "S0NEXT"}}
	require.Contains(t, rendered(t, Unreachable(a, record.UnreachableFacts{})), "<!subteam^S0FIRST>", "else whom a route mentions")
	a.OpsMention = "U0ANN"
	require.Equal(t, 1, strings.Count(rendered(t, EndOverdue(a, late, "U0ANN", now)), "<@U0ANN>"), "once")
}

func rendered(t *testing.T, msg Message) string {
	t.Helper()
	raw, err := json.Marshal(msg.Blocks)
	require.NoError(t, err)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(raw))
}

// switched is a mode that should have returned five minutes ago.
func switched() record.Change {
	rule := func(id int64, mode string) *apiclient.Rule {
		return &apiclient.Rule{ID: id, Type: apiclient.RuleMode, Mode: mode, Conditions: []apiclient.Condition{{Type: "equal", Value: "4", Point: apiclient.Part{"instance"}}}}
	}
	return record.Change{
		ID: "cm8t2wq1z", Account: "acme", Line: record.Line{Name: "mode", Words: []string{"4", "block"}}, Does: "Switch Shop to block for 2 h", Actor: anna(),
		At: now.Add(-125 * time.Minute), Until: now.Add(-5 * time.Minute), State: record.StateDone,
		Steps: []record.Step{
			{Kind: record.CreateRule, Rule: rule(31, apiclient.ModeBlock), Sent: true, Done: true, ID: 31},
			{Kind: record.DeleteRule, Rule: rule(30, apiclient.ModeMonitoring), Sent: true, Done: true},
		},
	}
}

func TestRenderOutages(t *testing.T) {
	t.Parallel()
	messages := outageMessages()
	for name, msg := range messages {
		require.LessOrEqual(t, len(msg.Text), maxNotice, name)
	}
	golden(t, filepath.Join("testdata", "outage", "notifications.txt"), goldenMessages(t, "outage", messages))
}

// What the thread of a card says, and what is left of a card that moved.
func TestCourseGolden(t *testing.T) {
	t.Parallel()
	s := situation(injection())
	s.Attack.Last = now.Add(-16 * time.Minute)
	s.Attack.First = s.Attack.Last.Add(-26 * time.Minute)
	first := s.Attack.First.Unix()
	course := []record.HitPoint{{At: first}, {At: first + 600, Hits: 300}, {At: first + 1200, Hits: 1500}, {At: s.Attack.Last.Unix(), Hits: 1530}}
	bare := s
	bare.Attack.First, bare.Attack.SourceCount = time.Time{}, apiclient.Figure{}
	undone, ended := denied(), patched()
	undone.State, ended.Until = record.StateUndone, now.Add(-5*time.Minute)
	s.Changes = []record.Change{undone, ended, denied(), patched()}
	s.Efficacy = map[string]record.Efficacy{denied().ID: {Finding: record.Working, Parts: map[string]record.Traffic{"203.0.113.7": {Stopped: record.Tally{N: 12, Last: now}}}}}
	line := MovedLine(acme(), "a30pj50d3", record.AttackState{Attack: incident().Situation.Attack}, record.Place{Channel: "C0INCIDENTS", TS: "1.1"},
		"https://acme.slack.com/archives/C0INCIDENTS/p11")
	for name, msg := range map[string]Message{
		"quiet":             Course(s, course),
		"quiet-and-unknown": Course(bare, nil),
		"resumed":           Worse(s.Account, record.Event{Account: "acme", Kind: record.Resumed, At: now, Attack: &record.AttackState{Attack: s.Attack}}, "S0ONCALL"),
		"moved":             Moved(acme(), "a30pj50d3", line),
		"stale":             Stale(line),
	} {
		requireFits(t, msg)
		golden(t, filepath.Join("testdata", "course", name+".json"), pretty(t, msg))
	}
}

// ending is a denial that ends in a quarter of an hour.
func ending() record.Change {
	return record.Change{
		ID: "ck7q2m9xw", Account: "acme", AttackID: "ak7q2m9xw", Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}}.With("for", "4h"),
		Does: "Deny 203.0.113.7 everywhere for 4 h", Actor: anna(), At: now.Add(-225 * time.Minute), Until: now.Add(15 * time.Minute), State: record.StateDone,
		Steps: []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{}, Sent: true, Done: true}},
	}
}

// endedLate is the undo of a mode that should have returned before.
func endedLate() record.Change {
	late := switched()
	return record.Change{
		ID: "cu2d8e1rt", Account: "acme", Line: record.Line{Name: "undo", Words: []string{late.ID}}, Does: "Undo of: " + late.Does, Undoes: late.ID,
		Actor: record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}, At: now, State: record.StateDone, Late: &record.Late{Due: late.Until},
	}
}

func TestRenderWhatEnds(t *testing.T) {
	t.Parallel()
	late, _, _ := ChangeSettled(endedLate(), record.Change{}, "", nil)
	silent, longest, overdue := ending(), ending(), switched()
	silent.Renew, longest.Renew = now.Add(20*time.Hour), longest.Until
	overdue.Late = &record.Late{Due: overdue.Until, Why: "the service has locked its rules just now: try again in some minutes"}
	for name, m := range map[string]Message{
		"ends": MitigationEnding(ending(), "U0ROB", "", now), "ends-unless-still-trying": MitigationEnding(silent, "U0ROB", "", now), "ends-as-long-as-may-be": MitigationEnding(longest, "", "ak7q2m9xw", now),
		"ended":      MitigationEnding(ending(), "U0ROB", "", ending().Until.Add(time.Minute)),
		"overdue":    EndOverdue(acme(), overdue, "U0ANN", now),
		"ended-late": late,
	} {
		requireFits(t, m)
		golden(t, filepath.Join("testdata", "due", name+".json"), pretty(t, m))
	}
}

func drills() map[string]record.Drill {
	waits := record.Drill{ID: "dk7q2m9xw", Account: "acme", By: anna(), At: now.Add(-time.Minute), Cards: []record.DrillCard{
		{Channel: "C0INCID", Mention: "S0ONCALL", Pager: "kind incident"}, {Channel: "C0WAF"},
	}}
	silent, acknowledged, paged := waits, waits, waits
	silent.At = now.Add(-record.DrillFor)
	by := anna()
	acknowledged.Cards = slices.Clone(waits.Cards)
	acknowledged.Cards[0].By, acknowledged.Cards[0].After = &by, 12*time.Second
	paged.Page, paged.Cards = true, acknowledged.Cards
	return map[string]record.Drill{"waits": waits, "silent": silent, "acknowledged": acknowledged, "paged": paged}
}

func TestRenderDrills(t *testing.T) {
	t.Parallel()
	all := drills()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		msg, report := TestCard(acme(), d, 0), DrillReport(d, now)
		requireFits(t, msg)
		requireFits(t, report)
		require.Contains(t, msg.Text, "Test card: ")
		require.LessOrEqual(t, len([]rune(msg.Text)), maxNotice)
		require.Equal(t, d.Cards[0].By == nil, len(buttonsOf(msg.Blocks)) == 1, name)
		golden(t, filepath.Join("testdata", "drill", name+".json"), pretty(t, msg))
		golden(t, filepath.Join("testdata", "drill", name+"-report.json"), pretty(t, report))
	}
}

func TestTheMomentOfAClick(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Date(2026, 11, 21, 3, 5, 10, 123456000, time.UTC), slackconn.ParseTS("1795230310.123456").Round(time.Microsecond))
	for _, none := range []string{"", "now", "-1", "0", "NaN", "1e300"} {
		require.Zero(t, slackconn.ParseTS(none), none)
	}
}

func TestEmptiedNoticesFit(t *testing.T) {
	t.Parallel()
	for _, facts := range []record.RebuildFacts{
		{}, {Unreadable: true}, {Cards: 12, InForce: 3, Listed: 2, NoLists: true, Unknown: []string{"c7k2m9xw4"}, Unread: []string{"C0BOARD04"}},
	} {
		msg := StoreRebuilt(&config.Account{Name: "acme"}, facts)
		requireFits(t, msg)
		for _, markup := range markupOf(t, msg.Blocks) {
			for line := range strings.Lines(markup) {
				requireHarmless(t, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	require.Contains(t, StoreRebuilt(&config.Account{Name: "acme"}, record.RebuildFacts{}).Text, "was emptied")
}

// What a message carries fits into what Slack takes, whatever a change is.
func TestChangeMessagesFit(t *testing.T) {
	t.Parallel()
	for _, ch := range append(everyState(), patched()) {
		msg, _, _ := ChangeSettled(ch, record.Change{}, "", nil)
		msg = msg.WithDelivery(ch.Account, ch.ID+":"+string(ch.State))
		requireFits(t, msg)
		require.Equal(t, MetaChange, msg.Metadata.EventType)
	}
	prolonged, ch := patched(), denied()
	ch.Extends, ch.Steps = prolonged.ID, nil
	msg, _, _ := ChangeSettled(ch, prolonged, "", nil)
	require.Equal(t, prolonged.ID, msg.Metadata.EventPayload["c"])
}
