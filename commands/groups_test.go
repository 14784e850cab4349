package commands_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	onCall = "S0ONCALL"
	leads  = "S0LEADS"
)

// grouped is a world in which user groups have roles beside users.
func grouped(t *testing.T) *world {
	t.Helper()
	return newWorld(t, func(c *commands.Config) {
		p := &c.Accounts[0].Policy
		p.Viewers, p.Responders, p.Admins, p.Terminal = []string{"*"}, []string{onCall, bob.ID}, []string{leads}, nil
	})
}

func (w *world) joined(group string, users ...string) {
	w.members.set(func(m *members) {
		if m.groups == nil {
			m.groups = map[string][]string{}
		}
		m.groups[group] = users
	})
}

// Each click is checked against who is in the group then, not when the card was drawn.
func TestAGroupGivesARole(t *testing.T) {
	t.Parallel()
	w := grouped(t)
	w.refuses(ann, "deny 203.0.113.7", refusal.ErrDenied, "needs the role responder; yours is viewer. Ask @S0ONCALL, @U2BOB, @S0LEADS")
	w.joined(onCall, ann.ID)
	w.does(ann, "deny 203.0.113.7")
	w.refuses(ann, "mode 4 default", refusal.ErrDenied, "needs the role admin; yours is responder. Ask @S0LEADS")
	require.Contains(t, textOf(w.reads(ann, "whoami")), "Ann: responder by @S0ONCALL. You may")
	require.Equal(t, map[string]string{"id": ann.ID, "name": "Ann", "role": "responder", "group": onCall, "changes": "on"}, w.reads(ann, "whoami").Data)
	w.joined(leads, ann.ID)
	require.Contains(t, textOf(w.reads(ann, "whoami")), "admin by @S0LEADS")
	w.joined(leads)
	w.joined(onCall)
	w.refuses(ann, "undo", refusal.ErrDenied, "yours is viewer")
	require.Len(t, w.entries("black"), 1)
}

// A guest of the workspace has no role, even as a member of a group.
func TestAGroupMakesNoUserAMember(t *testing.T) {
	t.Parallel()
	w := grouped(t)
	w.joined(leads, "U9")
	w.refuses(record.Actor{ID: "U9", Team: "T1"}, "deny 203.0.113.7", refusal.ErrDenied, "You have no role here")
	w.refuses(record.Actor{ID: ann.ID, Team: "T9"}, "deny 203.0.113.7", refusal.ErrDenied, "You have no role here")
}

// Without Slack's word no user acts by a group. Who has the role himself goes on, and reads go on with what was known.
func TestGroupsThatCantBeLookedUp(t *testing.T) {
	t.Parallel()
	w := grouped(t)
	w.joined(onCall, ann.ID)
	w.members.set(func(m *members) { m.away = true })
	w.refuses(ann, "deny 203.0.113.7", refusal.ErrDenied, "whether you have it by a user group Slack doesn't say just now", "Try again in a moment")
	require.Equal(t, "refused", w.lastAudit().Outcome)
	w.refuses(eve, "deny 203.0.113.7", refusal.ErrDenied, "doesn't say just now")
	require.Contains(t, textOf(w.reads(ann, "whoami")), "responder. You may")
	require.Contains(t, textOf(w.reads(ann, "whoami")), "Slack doesn't say just now whether a user group gives you more")
	w.does(bob, "deny 203.0.113.7")
	w.refuses(bob, "mode 4 default", refusal.ErrDenied, "needs the role admin, and whether you have it by a user group")
	id := w.attackOn("/login")
	w.refuses(bob, "handover to=U1ANN attack="+id, refusal.ErrGuarded, "whether Ann is in a user group")
	w.members.set(func(m *members) { m.away = false })
	require.Contains(t, textOf(w.reads(bob, "handover to=U1ANN attack="+id)), "Ann is on it")
	w.does(ann, "undo "+w.does(ann, "deny 203.0.113.8").ID)
}

// Slack answers few such questions a minute.
func TestGroupsAreOnlyLookedUpWhereTheyGiveMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		c.Accounts[0].Policy.Responders = append(c.Accounts[0].Policy.Responders, onCall)
	})
	w.does(ann, "deny 203.0.113.7")
	w.reads(root, "status")
	require.Zero(t, w.members.asked)
	w.reads(eve, "status")
	require.Equal(t, 1, w.members.asked)

	plain := newWorld(t)
	plain.reads(eve, "status")
	require.Zero(t, plain.members.asked)
}
