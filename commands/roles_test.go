package commands_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
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
	for _, via := range full.Some(1, []record.Via{record.ViaButton, record.ViaSlash, ""}) {
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
			before := strings.Count(w.out.String(), "\n")
			_, err := w.do(inv)
			if a.role >= least {
				require.NotErrorIs(t, err, refusal.ErrDenied, "%s of %s via %s", line, a.actor.ID, a.actor.Via)
				continue
			}
			require.ErrorIs(t, err, refusal.ErrDenied, "%s of %s via %s", line, a.actor.ID, a.actor.Via)
			require.Equal(t, before+1, strings.Count(w.out.String(), "\n"))
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
	w.reads(record.Actor{ID: "cli:root", Via: record.ViaCLI, Name: "root"}, "deny 203.0.113.7")
}

func TestEveryoneCanHaveARole(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) {
		p := &c.Accounts[0].Policy
		p.Viewers, p.Responders, p.Admins, p.Terminal = []string{"*"}, []string{"*"}, nil, nil
	})
	w.does(record.Actor{ID: "U5NOBODY", Team: "T1"}, "deny 203.0.113.7")
	w.refuses(record.Actor{ID: "U9", Team: "T1"}, "status", refusal.ErrDenied, "no role")
	w.refuses(ann, "allow 203.0.113.7", refusal.ErrDenied, "No user has it yet")
}

func TestNamesComeFromTheWorkspace(t *testing.T) {
	w := newWorld(t)
	w.does(record.Actor{ID: ann.ID, Team: "T1", Name: "Not Ann"}, "deny 203.0.113.7")
	require.Contains(t, w.listed("black")[0].Reason, "by Ann ("+ann.ID+")")
}

func TestWhoami(t *testing.T) {
	w := newWorld(t)
	res := w.reads(ann, "whoami")
	require.Contains(t, textOf(res), "Ann: responder")
	require.Equal(t, map[string]string{"id": ann.ID, "name": "Ann", "role": "responder", "changes": "on"}, res.Data)
}

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
	w := grouped(t)
	w.joined(leads, "U9")
	w.refuses(record.Actor{ID: "U9", Team: "T1"}, "deny 203.0.113.7", refusal.ErrDenied, "You have no role here")
	w.refuses(record.Actor{ID: ann.ID, Team: "T9"}, "deny 203.0.113.7", refusal.ErrDenied, "You have no role here")
}

// Without Slack's word no user acts by a group. Who has the role himself goes on, and reads go on with what was known.
func TestGroupsThatCantBeLookedUp(t *testing.T) {
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

// outsiders are people without any role.
var outsiders = []record.Actor{
	{ID: "U8GUEST", Team: "T1", Name: "Guest", Via: record.ViaMention},
	{ID: "U9OTHER", Team: "T2", Name: "Other", Via: record.ViaMention},
}

// counting runs the runner until stop is called, or the test ends.
func (w *world) counting() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		require.ErrorIs(w.t, <-ended, context.Canceled)
	}
}

// Whoever is refused again and again fills neither the audit log nor the output: so many of an hour are recorded, cut, and the others counted in one entry.
func TestAFloodOfRefusalsIsCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		stop := w.counting()
		long := `deny 203.0.113.9 reason="` + strings.Repeat("é", 1_700) + `"`
		strangers := full.Of(40, 280)
		flood := func() {
			for i := range strangers {
				_, err := w.try(outsiders[i%2], long)
				require.ErrorIs(t, err, refusal.ErrDenied)
			}
			for range 30 {
				_, err := w.try(eve, long)
				require.ErrorIs(t, err, refusal.ErrDenied)
			}
		}
		flood()
		require.Len(t, w.audit.all(), 2*3+20)
		for _, e := range w.audit.all() {
			require.Equal(t, 500, text.Length(e.Line))
			require.True(t, strings.HasSuffix(e.Line, "é…"), e.Line)
			require.LessOrEqual(t, text.Length(e.Why), 500)
		}
		require.Less(t, len(w.out.String()), 64<<10)
		last := w.clock()
		time.Sleep(62 * time.Minute)
		synctest.Wait()
		entries := w.audit.all()
		require.Len(t, entries, 26+1)
		counted := entries[26]
		require.Equal(t, fmt.Sprintf("and %d more refused until ", strangers-2*3+30-20)+last.Add(time.Hour).UTC().Format("15:04")+" UTC", counted.Why)
		require.Equal(t, record.Actor{Name: "others", Via: record.ViaClock}, counted.Actor)
		require.Equal(t, "refused", counted.Outcome)
		require.True(t, counted.At.After(last), "no entry is older than the one before it")
		for i, e := range entries {
			require.EqualValues(t, i+1, e.N, "numbers have no gap")
		}

		flood()
		require.Len(t, w.audit.all(), 27+26, "another hour")
		stop()
		require.Len(t, w.audit.all(), 53+1, "what was counted until a stop is recorded")
	})
}

// Of people without a role, whoever makes them, the first fifty are recorded. The others are counted together, and told
// so once.
func TestRefusalsOfManyStrangersAreCountedTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		stop := w.counting()
		answered := 0
		for i := range 5 * 60 {
			stranger := outsiders[1]
			stranger.ID = fmt.Sprintf("U9OTHER%d", i%60)
			_, err := w.try(stranger, "deny 203.0.113.9")
			require.ErrorIs(t, err, refusal.ErrDenied)
			if !errors.Is(err, refusal.ErrUnanswered) {
				answered++
			}
		}
		require.Len(t, w.audit.all(), 50*3)
		require.Equal(t, 50*(3+1)+1, answered)
		tries := map[string]int{}
		for _, e := range w.audit.all() {
			tries[e.Actor.ID]++
		}
		require.Len(t, tries, 50)
		for who, n := range tries {
			require.Equal(t, 3, n, "nobody's tries vanish behind another's: %s", who)
		}
		stop()
		entries := w.audit.all()[50*3:]
		require.Len(t, entries, 1)
		require.Contains(t, entries[0].Why, "and 150 more refused until ")
	})
}

// A name is stored with each thing that a person does, and with what is refused.
func TestAVeryLongNameIsCut(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("é", 30_000)
	stranger := outsiders[1]
	stranger.Name = long
	_, err := w.try(stranger, "deny 203.0.113.7")
	require.ErrorIs(t, err, refusal.ErrDenied)
	w.members.set(func(m *members) { m.full[ann.ID] = long })
	w.does(ann, "deny 203.0.113.7")
	require.Len(t, w.audit.all(), 2)
	for _, e := range w.audit.all() {
		require.Equal(t, 100, text.Length(e.Actor.Name))
	}
	require.NotContains(t, w.out.String(), strings.Repeat("é", 100))
}

// Who is refused again and again is told so once, by whatever way, and then not answered until the hour is over. Others are answered as before.
func TestWhoIsRefusedTooOftenIsToldOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		defer w.counting()()
		asks := func(who record.Actor) (answers []string) {
			for range 40 {
				_, err := w.try(who, "allow 203.0.113.9")
				require.ErrorIs(t, err, refusal.ErrDenied)
				if !errors.Is(err, refusal.ErrUnanswered) {
					answers = append(answers, err.Error())
				}
			}
			return answers
		}
		for range 2 {
			until := w.clock().Add(time.Hour).UTC().Format("15:04")
			said := asks(eve)
			require.Len(t, said, 20+1)
			require.NotContains(t, said[19], "gets no answer")
			require.Equal(t, said[19]+". Much was refused here within an hour: until "+until+" UTC what you may not do gets no answer", said[20])
			require.Len(t, asks(outsiders[0]), 3+1)
			require.Len(t, asks(outsiders[1]), 3+1)
			for range 40 {
				_, err := w.try(ann, "deny 10.0.0.0/8")
				require.NotErrorIs(t, err, refusal.ErrUnanswered, "she may deny: that it wasn't done is said each time")
			}
			require.Len(t, asks(ann), 1, "she had as many recorded as are")
			_, err := w.try(ann, "deny 203.0.113.9")
			require.NotErrorIs(t, err, refusal.ErrDenied, "what she may do is done")
			time.Sleep(62 * time.Minute)
			synctest.Wait()
		}
	})
}

// What is surely refused is known before it is stored.
func TestWhatIsSurelyRefused(t *testing.T) {
	w := newWorld(t)
	refused := func(who record.Actor, line string) bool { return w.Refuses(t.Context(), w.asks(who, line)) }
	for _, who := range append(outsiders, eve) {
		require.True(t, refused(who, "deny 203.0.113.7"), who.Name)
	}
	require.True(t, refused(outsiders[0], "status"), "who has no role may not even read")
	require.False(t, refused(eve, "status"))
	require.True(t, refused(ann, "allow 203.0.113.7"), "an admin's")
	require.False(t, refused(ann, "deny 203.0.113.7"))
	require.False(t, refused(ann, "deny"), "its arguments are looked at when it is done")
	w.members.set(func(m *members) { m.broken = true })
	require.False(t, refused(outsiders[0], "deny 203.0.113.7"), "Slack doesn't say who that is")
	require.Empty(t, w.audit.all())
}
