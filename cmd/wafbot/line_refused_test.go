package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

func TestRolesAtTheTerminal(t *testing.T) {
	t.Parallel()
	world := openWorld(t)
	for _, tt := range []struct {
		role, line string
		code       int
		says       string
	}{
		{"", "deny " + attacker, exitFailed, "deny needs the role responder; yours is viewer\nAt the terminal policy.terminal in the configuration file gives roles, as terminal: {"},
		{"viewer", "undo", exitFailed, "yours is viewer"},
		{"responder", "allow " + attacker, exitFailed, "allow needs the role admin; yours is responder"},
		{"admin", "mode 4 default for=10m", exitDone, "Switch application 4 to default"},
	} {
		d := inWorld(t, world, tt.role)
		got := typed(t, d.environ, append(strings.Fields(tt.line), "-y")...)
		require.Equal(t, tt.code, got.code, "%+v", got)
		require.Contains(t, got.out+got.err, tt.says)
		if tt.code == exitDone {
			continue // the last one
		}
		require.Empty(t, d.changes())
		got = typed(t, d.environ, "audit")
		require.Contains(t, got.out, "refused", "refusals are audited")

		got = typed(t, d.environ, append(strings.Fields(tt.line), "-y", "--json")...)
		require.Equal(t, exitFailed, got.code)
		answer := decode[printRefusal](t, got.out)
		require.Equal(t, "refused", answer.Outcome)
		require.Contains(t, answer.Error, tt.says)
	}
}

func TestRefusalsAtTheTerminal(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "admin")
	for _, tt := range []struct {
		line    string
		code    int
		outcome string
		says    string
	}{
		{"deny", exitUsage, "usage", "Missing: a source"},
		{"deny nonsense", exitUsage, "usage", "Invalid IP address or range: nonsense. Example: deny 203.0.113.7"},
		{"deny " + attacker + " fro=1h", exitUsage, "usage", "Unknown argument: fro= (did you mean for?)"},
		{"deny " + attacker + " for=soon", exitUsage, "usage", "Invalid duration: soon. Example: for=4h"},
		{"deny " + attacker + " account=nobody", exitUsage, "usage", "Unknown account: nobody"},
		{"status --loud", exitUsage, "usage", "Unknown option: --loud"},
		{"mode 4 loud", exitUsage, "usage", "loud"},
		{"attack azzzzzzzz", exitUsage, "usage", "azzzzzzzz"},
		{"deny 192.0.2.9", exitFailed, "refused", "never denied"},
		{"deny 10.1.2.3", exitFailed, "refused", "private addresses"},
		{"remove " + neighbour, exitFailed, "nothing", neighbour},
	} {
		var got answered
		var answer printRefusal
		for tries := 0; tries == 0 || answer.Outcome == "away" && tries < 10; tries++ { // a busy machine's Redis isn't there within a second
			got = typed(t, d.environ, append(strings.Fields(tt.line), "-y", "--json")...)
			answer = decode[printRefusal](t, got.out)
		}
		require.Equal(t, tt.code, got.code, "%s: %+v", tt.line, got)
		require.Equal(t, tt.outcome, answer.Outcome, "%s: %+v", tt.line, answer)
		require.Contains(t, answer.Error, tt.says, tt.line)

		got = typed(t, d.environ, append(strings.Fields(tt.line), "-y")...)
		require.Equal(t, tt.code, got.code, tt.line)
		require.Empty(t, got.out, tt.line)
		require.Contains(t, got.err, tt.says, tt.line)
		require.True(t, strings.HasPrefix(got.err, "wafbot: "), "the reason comes first: %s", got.err)
		require.NotContains(t, got.err, "{", "and no JSON")
	}
	require.Empty(t, d.changes())
}

// The terminal can request an approval, never give one.
func TestTheTerminalWaitsForAnApproval(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "admin")
	got := typed(t, d.environ, "deny", "country:FR", "-y", "--json")
	require.Equal(t, exitFailed, got.code, "%+v", got)
	var answer struct {
		Outcome string                 `json:"outcome"`
		Data    record.ApprovalRequest `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &answer))
	require.Equal(t, "waiting", answer.Outcome)
	got = typed(t, d.environ, "deny", "country:FR", "-y")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "Waiting for approval: Deny country:FR everywhere for 4 h. "+answer.Data.ID)
	got = typed(t, d.environ, "approve", answer.Data.ID)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "the terminal can ask for approval and never give it")
	require.Empty(t, d.changes())
}

func TestWithoutRedisNothingIsChanged(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder").with("WAFBOT_REDIS_URL=redis://" + closedAddress + "/0")
	got := typed(t, d.environ, "deny", attacker, "-y", "--json")
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "away", decode[printRefusal](t, got.out).Outcome)
	require.Empty(t, d.changes())

	got = typed(t, d.environ, "attacks")
	require.Equal(t, exitDone, got.code, "reads go on: %+v", got)
	require.Contains(t, got.out, d.attack)
}

func TestADryRunShowsWhatWouldBeSent(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder").with("WAFBOT_CHANGES=dry_run")
	got := typed(t, d.environ, "deny", attacker)
	require.Equal(t, exitDone, got.code, "nothing to ask: %+v", got)
	require.Contains(t, got.out, attacker)
	require.Empty(t, d.changes())

	got = typed(t, d.environ, "deny", attacker, "-y", "--json")
	require.Equal(t, "dry_run", decode[result](t, got.out).Outcome)
	require.Empty(t, d.changes())
}
