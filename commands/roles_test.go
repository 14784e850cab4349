package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// everyLine is a complete line of every command with the least role that may give it.
func everyLine(attack string) map[string]record.Role {
	return map[string]record.Role{
		"status": record.Viewer, "incidents": record.Viewer, "attacks": record.Viewer, "attack " + attack: record.Viewer, "lists": record.Viewer,
		"audit": record.Viewer, "whoami": record.Viewer, "help": record.Viewer, "mode 4": record.Viewer,
		"deny 203.0.113.7": record.Responder, "gray 203.0.113.7": record.Responder, "patch attack=" + attack: record.Responder,
		"contain attack=" + attack: record.Responder, "remove 192.0.2.99": record.Responder, "undo": record.Responder, "mode 4 block": record.Responder,
		"vulns": record.Viewer, "trends": record.Viewer, "rules": record.Viewer, "conditions": record.Viewer,
		"indicator User-Agent evil host=shop.example.com": record.Responder, "extend c000 for=1h": record.Responder,
		"delete-rule 99999": record.Admin, "block-path POST shop.example.com/login for=30m": record.Admin,
		"ack attack=" + attack: record.Responder, "unack attack=" + attack: record.Responder, "handover to=@me attack=" + attack: record.Responder,
		"note attack=" + attack + " botnet": record.Responder, "verdict real attack=" + attack: record.Responder, "explain attack=" + attack: record.Viewer,
		"protect 198.51.100.99": record.Admin, "unprotect 198.51.100.98": record.Admin, "sources": record.Viewer,
		"mute source=203.0.113.7": record.Responder, "unmute source=203.0.113.7": record.Responder,
		"allow 203.0.113.7": record.Admin, "mode 4 off": record.Admin, "mode 4 default": record.Admin,
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	var (
		noRole   = record.Actor{ID: "U5NOBODY", Team: "T1", Name: "Nobody"} // a member without a role
		stranger = record.Actor{ID: ann.ID, Team: "T9", Name: "Ann"}        // the same id in another workspace
		guest    = record.Actor{ID: "U9", Team: "T1", Name: "Guest"}
	)
	type asker struct {
		actor record.Actor
		role  record.Role
	}
	askers := []asker{{record.Actor{ID: "cli:ann", Via: record.ViaCLI}, record.Responder}, {record.Actor{ID: "cli:root", Via: record.ViaCLI}, record.Admin},
		{record.Actor{ID: "cli:mallory", Via: record.ViaCLI}, record.Viewer}}
	for _, via := range []record.Via{record.ViaSlash, record.ViaButton, ""} {
		for who, role := range map[record.Actor]record.Role{noRole: record.NoRole, stranger: record.NoRole, guest: record.NoRole,
			eve: record.Viewer, ann: record.Responder, root: record.Admin} {
			who.Via = via
			askers = append(askers, asker{who, role})
		}
	}
	for _, a := range askers {
		w := newWorld(t, withoutApproval(config.ApproveAllow, config.ApproveModeOff), func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesDryRun })
		for line, least := range everyLine(w.attackOn("/login")) {
			w.Runner = commands.New(w.cfg) // of many refusals of one person some would only be counted
			inv := w.asks(a.actor, line)
			inv.Warned, inv.Anyway = true, true
			n := len(w.audit.all())
			_, err := w.do(inv)
			if a.role >= least {
				require.NotErrorIs(t, err, refusal.ErrDenied, "%s of %s via %s", line, a.actor.ID, a.actor.Via)
				continue
			}
			require.ErrorIs(t, err, refusal.ErrDenied, "%s of %s via %s", line, a.actor.ID, a.actor.Via)
			require.Len(t, w.audit.all(), n+1)
			e := w.lastAudit()
			require.Equal(t, "refused", e.Outcome)
			require.Equal(t, a.actor.ID, e.Actor.ID)
			require.Equal(t, inv.Line.String(), e.Line)
			require.Contains(t, err.Error(), "Refused: "+e.Why)
			if a.role > record.NoRole {
				require.ErrorContains(t, err, "yours is "+a.role.String())
				require.ErrorContains(t, err, whoGivesRoles(a.actor, least))
			}
		}
		require.Zero(t, w.changesSent())
	}
}

// whoGivesRoles is whom or what a refusal names that gives the role: at the terminal no user of Slack does.
func whoGivesRoles(a record.Actor, least record.Role) string {
	if a.Via == record.ViaCLI {
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
		parsed, _ := grammar.Parse(line)
		if w.Changes(parsed) {
			require.ErrorIs(t, err, refusal.ErrDenied, line)
			require.ErrorContains(t, err, "Try again", line)
		} else {
			require.NoError(t, err, line)
		}
	}
	_, err := w.try(record.Actor{ID: "U9", Team: "T1"}, "status")
	require.ErrorIs(t, err, refusal.ErrDenied, "no role even if a member")
	_, err = w.try(record.Actor{ID: "cli:root", Via: record.ViaCLI, Name: "root"}, "deny 203.0.113.7")
	require.NoError(t, err, "the terminal doesn't ask Slack")
}

func TestEveryoneCanHaveARole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		p := &c.Accounts[0].Policy
		p.Viewers, p.Responders, p.Admins, p.Terminal = []string{"*"}, []string{"*"}, nil, nil
	})
	w.does(record.Actor{ID: "U5NOBODY", Team: "T1"}, "deny 203.0.113.7")
	w.refuses(record.Actor{ID: "U9", Team: "T1"}, "status", refusal.ErrDenied, "no role")
	w.refuses(ann, "allow 203.0.113.7", refusal.ErrDenied, "No user has it yet")
}

func TestNamesComeFromTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.does(record.Actor{ID: ann.ID, Team: "T1", Name: "Not Ann"}, "deny 203.0.113.7")
	require.Contains(t, w.listed("black")[0].Reason, "by Ann ("+ann.ID+")")
}

func TestWhoami(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	res, err := w.try(ann, "whoami")
	require.NoError(t, err)
	require.Contains(t, textOf(res), "Ann: responder")
	require.Equal(t, map[string]string{"id": ann.ID, "name": "Ann", "role": "responder", "changes": "on"}, res.Data)
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, r := range []record.Role{record.Viewer, record.Responder, record.Admin} {
		got, ok := record.ParseRole(strings.ToUpper(r.String()))
		require.True(t, ok)
		require.Equal(t, r, got)
	}
	for _, name := range []string{"", "none", "owner"} {
		_, ok := record.ParseRole(name)
		require.False(t, ok, name)
	}
}
