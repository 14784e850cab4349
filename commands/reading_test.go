package commands_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// program is the answer as --json gives it.
func (w *world) program(line string) map[string]any {
	w.t.Helper()
	text, err := json.Marshal(w.reads(eve, line))
	require.NoError(w.t, err)
	var out map[string]any
	require.NoError(w.t, json.Unmarshal(text, &out))
	return out
}

func TestAnswersForPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	empty := w.program("lists")
	require.Equal(t, []any{}, empty["data"])
	require.Equal(t, []any{}, w.program("attacks")["data"])
	require.Equal(t, []any{}, w.program("audit")["data"])
	status := w.program("status")["data"].([]any)[0].(map[string]any)
	require.Equal(t, map[string]any{"account": "acme", "now": w.clock().Format(time.RFC3339), "ongoing": []any{}, "in_force": []any{}}, status)

	id := w.attackOn("/login")
	ch := w.does(ann, "deny attack="+id)
	for _, line := range []string{"attacks", "status", "attack " + id} {
		row := w.program(line)["data"]
		if list, ok := row.([]any); ok {
			row = list[0]
		}
		if line == "status" {
			inForce := row.(map[string]any)["in_force"].([]any)
			require.Equal(t, ch.ID, inForce[0].(map[string]any)["id"])
			require.Equal(t, "responder", inForce[0].(map[string]any)["role"])
			row = row.(map[string]any)["ongoing"].([]any)[0]
		}
		attack := row.(map[string]any)
		require.Equal(t, id, attack["id"], line)
		require.Equal(t, "acme", attack["account"])
		require.Equal(t, true, attack["ongoing"])
		require.Equal(t, "sqli", attack["attack"].(map[string]any)["type"])
	}
	entry := w.program("lists")["data"].([]any)[0].(map[string]any)
	require.Equal(t, "203.0.113.7/32", entry["subnet"])
	require.Equal(t, "black", entry["list"])
	require.Equal(t, map[string]any{"application": 4.0, "mode": "monitoring"}, w.program("mode 4")["data"])
	require.IsType(t, "", w.program("status")["lines"].([]any)[0], "lines are text")
}

// Programs get what is written down as it is kept.
func TestWhatWasWrittenForPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	for _, line := range []string{"ack", "ack", "handover to=@me", "note same botnet", "verdict real", "unack", "unack"} {
		res, err := w.try(ann, line+" attack="+id)
		require.NoError(t, err)
		require.Equal(t, w.said(id), res.Data, line)
	}
	for _, line := range []string{"mute type=sqli", "mute type=sqli", "unmute type=sqli"} {
		res, err := w.try(ann, line)
		require.NoError(t, err)
		require.Equal(t, "sqli", res.Data.(record.Mute).Type, line)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		c.Health = func(string) (record.PollHealth, bool) {
			return record.PollHealth{LastGood: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC), Failing: "the token is refused", Capped: "over 50,000 attacks"}, true
		}
	})
	w.attack(waf.AttackSpec{App: 4, Path: "/quiet", Type: "xss"})
	incident := w.attack(waf.AttackSpec{App: 4, Path: "/incident", Vulnerability: &waf.VulnSpec{ID: 812}})
	res := w.reads(eve, "status")
	require.Contains(t, textOf(res), "Going on: 2 attacks, 1 incident among them")
	require.Less(t, strings.Index(textOf(res), incident), strings.Index(textOf(res), "/quiet"), "incidents first")
	require.Contains(t, textOf(res), "WAF API unreachable: the token is refused; last good poll 1 h ago")
	require.Contains(t, textOf(res), "Not all attacks are watched: over 50,000 attacks")
	require.Contains(t, textOf(res), "wafbot is live")
	w.pass(16 * time.Minute)
	require.Contains(t, textOf(w.reads(eve, "")), "Nothing is going on (no hit in the last 15 min)")
	w.pass(5 * time.Second)
	require.Contains(t, textOf(w.reads(eve, "attacks")), "last hit 16 min ago", "no seconds")
}

func TestAttackById(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sources(source("pen test", config.DenyApproval, "198.51.100.0/24")))
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 812}})
	service := w.state().Attacks[0].ID
	for _, typed := range []string{id, id[:4], strings.ToUpper(id), service, strings.NewReplacer("0", "O", "1", "L").Replace(id[:1]) + strings.NewReplacer("0", "o", "1", "i").Replace(id[1:])} {
		res := w.reads(eve, "attack "+typed)
		require.Equal(t, id, res.AttackID, typed)
		require.Contains(t, textOf(res), "NOT BLOCKED · critical incident · SQL injection · Shop · 100 hits")
		require.Contains(t, textOf(res), "vulnerability 812")
		require.Contains(t, textOf(res), "198.51.100.4 NL")
		require.Contains(t, textOf(res), "= pen test")
	}
	ch := w.does(ann, "deny attack="+id)
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), ch.ID)
	w.does(bob, "undo "+ch.ID)
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "undone by Bob")
}

func TestListsSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.0/24", Reason: "trigger \u202ebrute"})
	w.seed(waf.IPRule{List: "white", Subnet: "198.51.100.7", Reason: "partner"})
	require.Contains(t, textOf(w.reads(eve, "lists")), "2 entries")
	require.NotContains(t, textOf(w.reads(eve, "lists")), "\u202e")
	for line, found := range map[string]string{
		"lists black": "203.0.113.0/24", "lists 203.0.113.9": "203.0.113.0/24", "lists 203.0.0.0/16": "203.0.113.0/24", "lists PARTNER": "198.51.100.7",
		"lists allow partner": "198.51.100.7", "lists white": "198.51.100.7",
	} {
		res := w.reads(eve, line)
		require.Contains(t, textOf(res), "1 entry", line)
		require.Contains(t, textOf(res), found, line)
	}
	require.Contains(t, textOf(w.reads(eve, "lists gray")), "0 entries")
	require.Contains(t, textOf(w.reads(eve, "lists blakc")), "0 entries with blakc", "a mistyped list is a text that nothing has")
}

func TestListingsAreCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 12 {
		w.attackOn("/p" + itoa(int64(i)))
	}
	require.Contains(t, textOf(w.reads(eve, "attacks")), "… and 2 more")
	require.Len(t, w.reads(eve, "attacks --all").Lines, 13)
	require.Contains(t, textOf(w.reads(eve, "incidents")), "0 incidents in the last 24 h")
}

func TestHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	screen := w.reads(eve, "help").Lines
	require.Len(t, screen, 15, "it fits one screen")
	for i, most := range []string{"status: ", "attack ID: ", "ack attack=ID: ", "deny 203.0.113.7 4h: ", "patch attack=ID: ", "undo: "} {
		require.Contains(t, screen[i].String(), most, "what is used most stands on top")
	}
	for _, l := range screen {
		require.LessOrEqual(t, len([]rune(l.String())), 80, l)
	}
	for _, cmd := range verb.All() {
		require.Contains(t, textOf(call.Result{Lines: screen[6:13]}), cmd.Name)
	}
	overview := textOf(w.reads(eve, "help all"))
	help, err := verb.Help("all")
	require.NoError(t, err)
	require.Equal(t, overview, textOf(call.Result{Lines: help}))
	for v, role := range map[string]string{"lists": "viewer to read", "mode": "viewer to read, responder to change", "deny": "responder to change", "delete-rule": "admin to change"} {
		require.Contains(t, textOf(w.reads(eve, "help "+v)), "Role: "+role)
	}
	for _, v := range []string{"status", "incidents", "attacks", "attack", "vulns", "contain", "deny", "allow", "gray", "patch", "block-path", "indicator", "mode", "lists", "remove", "rules",
		"conditions", "delete-rule", "undo", "extend", "audit", "whoami", "help"} {
		require.Contains(t, overview, v)
		one, err := verb.Help(v)
		require.NoError(t, err)
		require.Equal(t, textOf(w.reads(eve, "help "+v)), textOf(call.Result{Lines: one}))
		require.Contains(t, textOf(call.Result{Lines: one}), "Role: ")
	}
	require.Less(t, strings.Index(overview, "To look"), strings.Index(overview, "rules: "))
	require.Less(t, strings.Index(overview, "conditions: "), strings.Index(overview, "To act"))
	require.Less(t, strings.Index(overview, "To act"), strings.Index(overview, "delete-rule RULE"))
	require.Less(t, strings.Index(overview, "To act"), strings.Index(overview, "approve REQUEST"))
	_, err = verb.Help("ban")
	require.NoError(t, err)
	_, err = verb.Help("bam")
	require.ErrorIs(t, err, refusal.ErrUnknown)
}

// A line that help gives as an example is a line of the grammar.
func TestExamplesAreLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesDryRun })
	examples := 0
	for _, v := range []string{"vulns", "rules", "contain", "deny", "lists", "remove", "patch", "block-path", "indicator", "mode", "extend"} {
		lines, err := verb.Help(v)
		require.NoError(t, err)
		for _, l := range lines {
			example, ok := strings.CutPrefix(l.String(), "Example: ")
			if !ok {
				continue
			}
			examples++
			_, err := w.try(root, example)
			if err != nil {
				require.NotContains(t, err.Error(), "Usage: ", example)
			}
			parsed, err := grammar.Parse(example)
			require.NoError(t, err)
			require.Equal(t, v, parsed.Name)
		}
	}
	require.Equal(t, 11, examples)
}
