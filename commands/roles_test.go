package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
)

// everyLine is a complete line of every command with the least role that may give it.
func everyLine(attack string) map[string]commands.Role {
	return map[string]commands.Role{
		"status": commands.Viewer, "incidents": commands.Viewer, "attacks": commands.Viewer, "attack " + attack: commands.Viewer, "lists": commands.Viewer,
		"audit": commands.Viewer, "whoami": commands.Viewer, "help": commands.Viewer, "mode 4": commands.Viewer,
		"deny 203.0.113.7": commands.Responder, "gray 203.0.113.7": commands.Responder, "patch attack=" + attack: commands.Responder,
		"contain attack=" + attack: commands.Responder, "remove 192.0.2.99": commands.Responder, "undo": commands.Responder, "mode 4 block": commands.Responder,
		"vulns": commands.Viewer, "rules": commands.Viewer, "conditions": commands.Viewer,
		"indicator User-Agent evil host=shop.example.com": commands.Responder, "extend c000 for=1h": commands.Responder,
		"unrule 99999": commands.Admin, "close POST shop.example.com/login for=30m": commands.Admin,
		"claim attack=" + attack: commands.Responder, "release attack=" + attack: commands.Responder, "handover to=@me attack=" + attack: commands.Responder,
		"note attack=" + attack + " botnet": commands.Responder, "verdict real attack=" + attack: commands.Responder, "explain attack=" + attack: commands.Viewer,
		"protect 198.51.100.99": commands.Admin, "unprotect 198.51.100.98": commands.Admin, "sources": commands.Viewer,
		"mute source=203.0.113.7": commands.Responder, "unmute source=203.0.113.7": commands.Responder,
		"allow 203.0.113.7": commands.Admin, "mode 4 off": commands.Admin, "mode 4 default": commands.Admin,
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	var (
		nobody   = commands.Actor{ID: "U5NOBODY", Team: "T1", Name: "Nobody"} // a member without a role
		stranger = commands.Actor{ID: ann.ID, Team: "T9", Name: "Ann"}        // the same id in another workspace
		guest    = commands.Actor{ID: "U9", Team: "T1", Name: "Guest"}
	)
	type asker struct {
		actor commands.Actor
		role  commands.Role
	}
	askers := []asker{{commands.Actor{ID: "cli:ann", Via: commands.ViaCLI}, commands.Responder}, {commands.Actor{ID: "cli:root", Via: commands.ViaCLI}, commands.Admin},
		{commands.Actor{ID: "cli:mallory", Via: commands.ViaCLI}, commands.Viewer}}
	for _, via := range []commands.Via{commands.ViaSlash, commands.ViaButton, ""} {
		for who, role := range map[commands.Actor]commands.Role{nobody: commands.NoRole, stranger: commands.NoRole, guest: commands.NoRole,
			eve: commands.Viewer, ann: commands.Responder, root: commands.Admin} {
			who.Via = via
			askers = append(askers, asker{who, role})
		}
	}
	for _, a := range askers {
		w := newWorld(t, noSecond(commands.SecondAllow, commands.SecondModeOff), func(c *commands.Config) { c.Policy.Changes = commands.ChangesRehearse })
		for line, least := range everyLine(w.attackOn("/login")) {
			inv := w.asks(a.actor, line)
			inv.Warned, inv.Anyway = true, true
			n := len(w.audit.all())
			_, err := w.do(inv)
			if a.role >= least {
				require.NotErrorIs(t, err, commands.ErrDenied, "%s of %s via %s", line, a.actor.ID, a.actor.Via)
				continue
			}
			require.ErrorIs(t, err, commands.ErrDenied, "%s of %s via %s", line, a.actor.ID, a.actor.Via)
			require.Len(t, w.audit.all(), n+1)
			e := w.lastAudit()
			require.Equal(t, "refused", e.Outcome)
			require.Equal(t, a.actor.ID, e.Actor.ID)
			require.Equal(t, inv.Line.String(), e.Line)
			require.Equal(t, err.Error(), e.Why)
			if a.role > commands.NoRole {
				require.ErrorContains(t, err, "yours is "+a.role.String())
				require.ErrorContains(t, err, whoMayTellHim(a.actor, least))
			}
		}
		require.Zero(t, w.changesSent())
	}
}

// whoMayTellHim is whom or what a refusal names that gives the role: at the terminal nobody in Slack does.
func whoMayTellHim(a commands.Actor, least commands.Role) string {
	if a.Via == commands.ViaCLI {
		return "policy.terminal in the configuration file gives roles, as terminal: {" + strings.TrimPrefix(a.ID, "cli:") + ": " + least.String() + "}"
	}
	return "Ask @"
}

func TestWhoIsNotKnownReadsAtMost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.members.setFail()
	for line := range everyLine(id) {
		_, err := w.try(root, line)
		parsed, _ := commands.Parse(line)
		if w.Changes(parsed) {
			require.ErrorIs(t, err, commands.ErrDenied, line)
			require.ErrorContains(t, err, "Try again", line)
		} else {
			require.NoError(t, err, line)
		}
	}
	_, err := w.try(commands.Actor{ID: "U9", Team: "T1"}, "status")
	require.ErrorIs(t, err, commands.ErrDenied, "no role even if a member")
	_, err = w.try(commands.Actor{ID: "cli:root", Via: commands.ViaCLI, Name: "root"}, "deny 203.0.113.7")
	require.NoError(t, err, "the terminal doesn't ask Slack")
}

func TestEverybodyIsARole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) { c.Roles = commands.Roles{Viewers: []string{"*"}, Responders: []string{"*"}} })
	w.does(commands.Actor{ID: "U5NOBODY", Team: "T1"}, "deny 203.0.113.7")
	w.refuses(commands.Actor{ID: "U9", Team: "T1"}, "status", commands.ErrDenied, "no role")
	w.refuses(ann, "allow 203.0.113.7", commands.ErrDenied, "Nobody is one yet")
}

func TestNamesComeFromTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.does(commands.Actor{ID: ann.ID, Team: "T1", Name: "Not Ann"}, "deny 203.0.113.7")
	require.Contains(t, w.listed("black")[0].Reason, "by Ann ("+ann.ID+")")
}

func TestWhoami(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	res, err := w.try(ann, "whoami")
	require.NoError(t, err)
	require.Contains(t, text(res), "Ann (U1ANN): responder")
	require.Equal(t, map[string]string{"id": ann.ID, "name": "Ann", "role": "responder", "changes": "on"}, res.Data)
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, r := range []commands.Role{commands.Viewer, commands.Responder, commands.Admin} {
		got, ok := commands.ParseRole(strings.ToUpper(r.String()))
		require.True(t, ok)
		require.Equal(t, r, got)
	}
	for _, name := range []string{"", "nobody", "owner"} {
		_, ok := commands.ParseRole(name)
		require.False(t, ok, name)
	}
}
