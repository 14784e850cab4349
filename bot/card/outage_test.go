package card

import (
	"encoding/json"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
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
