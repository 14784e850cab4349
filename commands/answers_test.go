package commands_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Undo all says what still stops hits, and asks also about a single change.
func TestUndoAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	ch := w.does(ann, "deny 203.0.113.7 attack="+id)
	works := record.Efficacy{Finding: record.Working, Parts: map[string]record.Traffic{"203.0.113.7": {Stopped: record.Tally{N: 40}}}}
	require.NoError(t, w.ledger.saveJudged(t.Context(), "acme", []record.Judgement{{Change: ch, Efficacy: works}}))
	w.pass(time.Minute)
	for _, line := range []string{"undo all attack=" + id, "undo ALL by=@me", "undo --all by=@me"} {
		w.refuses(ann, line, refusal.ErrAsk, "Undo of: Deny 203.0.113.7 everywhere for 4 h? Before you do:", ch.ID+" Deny 203.0.113.7", "working, at least 40 stopped")
		w.asksInSpiteOfYes(ann, line)
	}
	w.refuses(ann, "undo all since=1h", refusal.ErrUsage, "Missing: attack= or by=")
	other := w.does(bob, "deny 203.0.113.8 attack="+id)
	w.refuses(ann, "undo attack="+id, refusal.ErrAsk, "Undo 2 changes", "working, at least 40 stopped", other.ID)
	inv := w.asks(bob, "undo "+other.ID+" "+w.does(bob, "deny 203.0.113.9").ID)
	inv.Yes = true
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Len(t, undone(res), 2, "what isn't always asked about was answered beforehand")
	other = w.does(bob, "deny 203.0.113.8 attack="+id)
	res, err = w.all(ann, "undo all attack="+id)
	require.NoError(t, err)
	require.Equal(t, []string{other.ID, ch.ID}, undone(res))
	require.Empty(t, w.entries("black"))
}

// A verdict that an attack was none says what goes on, and who ends it.
func TestAVerdictSaysWhatStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].ConsoleURL = "https://console.example.com" })
	id := w.attackOn("/login")
	require.Equal(t, "Done. Verdict: real, by Ann 2026-11-20 03:00 UTC", w.writes(ann, "verdict real attack="+id))
	require.Contains(t, w.writes(ann, "verdict false_positive attack="+id), "No pager is called for it any more. No mitigation of it is in force")
	ch := w.does(ann, "deny 203.0.113.7 attack="+id)
	said := w.writes(ann, "verdict false_positive attack="+id)
	require.Contains(t, said, "Still in force: Deny 203.0.113.7 everywhere for 4 h "+ch.ID+". To undo them: undo attack="+id)
	require.Contains(t, said, "console https://console.example.com")
}

// A rule that wafbot put back is not said to be somebody else's without it.
func TestDeleteRuleOfOneThatWasPutBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	switched := w.anyway(ann, "mode 4 block")
	w.does(ann, "undo "+switched.ID)
	w.pass(time.Minute)
	w.refuses(root, "delete-rule "+itoa(w.rules("service_mode")[0].ID), refusal.ErrAsk, "wafbot put this rule back as it was before "+switched.ID)
}

// What goes on is in the state that its card says, not in what the service says of its blocking.
func TestListsSayTheStateOfTheCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	require.Contains(t, textOf(w.reads(eve, "status")), "NOT BLOCKED · high attack")
	w.shows(id, record.AttackState{Paused: true, Severity: record.SeverityCritical})
	for _, line := range []string{"status", "summary", "attack " + id} {
		said := textOf(w.reads(eve, line))
		require.Contains(t, said, "QUIET · critical attack · SQL injection · Shop", line)
		require.NotContains(t, strings.ToLower(said), "not blocked", line)
	}
}

// A denied source keeps trying: its attack goes on in every answer until its card says that it is over.
func TestTriesThatAreStoppedGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.does(ann, "deny 203.0.113.7 attack="+id)
	w.pass(time.Hour)
	require.Contains(t, textOf(w.reads(eve, "status")), "Nothing is going on")
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "ENDED")

	shown := record.AttackState{Notified: true, Paused: true}
	w.shows(id, shown)
	require.Contains(t, textOf(w.reads(eve, "status")), "Going on: 1 attack")
	for _, line := range []string{"status", "summary", "attack " + id} {
		require.Contains(t, textOf(w.reads(eve, line)), "QUIET", line)
	}

	shown.StormID = "s1"
	w.shows(id, shown)
	require.Contains(t, textOf(w.reads(eve, "status")), "Nothing is going on", "its storm's card shows it")
	w.shows(id, record.AttackState{Notified: true, Quiet: true})
	require.Contains(t, textOf(w.reads(eve, "status")), "Nothing is going on")
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "ENDED")
}

// At the terminal the rows of a listing have columns with titles; in a chat they are lines.
func TestListingsHaveColumnsAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.attackOn("/login")
	w.does(ann, "deny 203.0.113.7")
	w.insists(ann, "patch shop.example.com/login type=sqli part=get.q")
	columns := func(line text.Text) (titles []string) {
		for _, cell := range line.Cells() {
			titles = append(titles, cell.String())
		}
		return titles
	}
	for line, titles := range map[string][]string{
		"attacks": {"ID", "TYPE", "APPLICATION", "STATUS", "HITS", "SOURCES", "LAST HIT", "WHERE"}, "lists": {"ID", "LIST", "SOURCE", "WHERE", "UNTIL", "WHY, BY"},
		"rules": {"ID", "WHAT", "BY"}, "conditions": {"ID", "FOR", "RULES"}, "audit": {"NO.", "WHEN", "WHO", "LINE", "OUTCOME"}, "sources": {"RANGES", "NAME", "DENIED"},
	} {
		there := w.reads(anyone, line).Lines
		require.Equal(t, titles, columns(there[1]), line)
		for _, row := range there[2:] {
			if cells := row.Cells(); len(cells) > 1 {
				require.LessOrEqual(t, len(cells), len(titles), "%s: %s", line, row)
			}
		}
		require.NotEqual(t, there[1].String(), w.reads(eve, line).Lines[1].String())
	}
}
