package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// onDuty is a user group that has a role.
func onDuty(users ...string) workspace.UserGroup {
	return workspace.UserGroup{ID: "S0DESK001", Handle: "desk", Name: "Desk", Users: users}
}

// byGroup gives people their roles by a user group alone, but for an admin.
func byGroup(w *world) {
	w.cfg.Log.Level = "debug" // which says what was heard
	w.cfg.Policy.Responders = []string{"S0DESK001"}
	w.Slack.SetUserGroup(onDuty("U0ROB0002"))
}

// regroup changes the group, and waits until some replica has heard of it: from then on it counts on all of them.
func (w *world) regroup(users ...string) {
	w.t.Helper()
	heard := w.journal.count("people invalidated")
	w.Slack.SetUserGroup(onDuty(users...))
	w.until("events of the group", func() bool { return w.journal.count("people invalidated") >= heard+2 })
}

// Two replicas run, and Slack informs one of them who joined and who left: the other one knows at the next click, on a
// card that was drawn before.
func TestAUserGroupChangedBetweenTwoClicks(t *testing.T) {
	story(t, byGroup, func(t *testing.T, w *world) {
		first := w.stop
		w.start()
		defer first()
		w.attack(injection())
		card := w.card(attacker)
		message := card.now()
		for range 4 { // by whichever replica takes it
			w.types("rob", "note attack="+card.id()+" mine")
		}
		w.until("notes", func() bool { return len(w.ephemerals("rob", "Note of Rob Diaz")) == 4 })
		w.types("rob", "whoami")
		w.ephemeral("rob", "responder by <!subteam^S0DESK001>")

		w.regroup("U0VIC0003")
		for range 4 {
			w.click("rob", message, "Deny "+attacker)
			w.types("rob", "deny "+attacker)
		}
		w.until("refusals", func() bool {
			return len(w.ephemerals("rob", "deny needs the role responder; yours is viewer. Ask <!subteam^S0DESK001>, <@U0ANN0001>")) == 8
		})
		require.Empty(t, w.sent())
		w.types("rob", "handover to=U0VIC0003 attack="+card.id())
		w.ephemeral("rob", "handover needs the role responder")

		w.click("vic", message, "Deny "+attacker)
		w.ephemeral("vic", "Deny "+attacker+" everywhere for 4 h: accepted")
		require.True(t, w.journal.has(`"outcome":"refused"`, "U0ROB0002", "deny "+attacker))
		w.regroup("U0VIC0003", "U0ROB0002")
		w.types("rob", "undo "+changeIn(plain(w.ephemeral("vic", "accepted"))))
		w.ephemeral("rob", "Undo of: Deny "+attacker)
	})
}

// What is the owner's is never denied: by the configuration, by a file that changes under the running bot, or by an
// admin's word; live, and when only shown what would be sent.
func TestOwnCDNIsNeverDenied(t *testing.T) {
	for _, changes := range []string{config.ChangesDryRun, config.ChangesOn} {
		t.Run(changes, func(t *testing.T) {
			named := func(w *world) {
				file := filepath.Join(w.t.TempDir(), "office.txt")
				w.cfg.Policy.Changes = changes
				putInPlace(t, file, "198.51.100.32\n", time.Now().Add(-time.Hour))
				office := config.Source{Name: "office", Deny: config.DenyNever, Cards: true, File: file}
				lab := config.Source{Name: "pen test", Deny: config.DenyApproval, Ranges: []netip.Prefix{netip.MustParsePrefix("203.0.113.64/27")}}
				w.cfg.Sources = append(w.cfg.Sources, office, lab)
			}
			story(t, named, ownCDN)
		})
	}
}

// putInPlace replaces a file at once, as of a moment so long ago that it is read once.
func putInPlace(t *testing.T, file, content string, at time.Time) {
	t.Helper()
	require.NoError(t, os.WriteFile(file+".new", []byte(content), 0o600))
	require.NoError(t, os.Chtimes(file+".new", at, at))
	require.NoError(t, os.Rename(file+".new", file))
}

func ownCDN(t *testing.T, w *world) {
	file := w.cfg.Sources[len(w.cfg.Sources)-2].File
	lab := waf.AttackSpec{Path: "/lab", Sources: []waf.SourceSpec{{IP: "203.0.113.65", PerSecond: 1}}, Started: waf.Duration(time.Minute)}
	w.attack(lab)
	w.attack(throughOwnCDN())
	card := w.card("192.0.2.10 = our CDN")
	require.Equal(t, []string{"Patch", "Block mode"}, card.labels()[:2])
	refused := func(line, why string) {
		t.Helper()
		w.types("ann", line)
		w.until("refusal of "+line, func() bool {
			return w.journal.has(`"outcome":"refused"`, `"line":"`+line, why) && len(w.ephemerals("ann", why)) > 0
		})
	}
	for _, source := range []string{"192.0.2.10", "192.0.2.0/24", "192.0.0.0/16", "::ffff:192.0.2.10", "attack=" + card.id(), "10.0.0.1"} {
		refused("deny "+source, "which is never denied")
	}
	refused("contain attack="+card.id(), "which is never denied")

	const again = "source read again"
	before := w.journal.count(again)
	putInPlace(t, file, "198.51.100.0/26\n", time.Now().Add(-time.Minute))
	w.until("the file", func() bool { w.get("/readyz"); return w.journal.count(again) > before })
	refused("deny 198.51.100.7", "198.51.100.7 is in office (198.51.100.0/26), which is never denied")
	require.NoError(t, os.Remove(file))
	w.until("the loss", func() bool {
		_, body := w.get("/readyz")
		return len(body) > 0 && w.journal.has("source can't be read")
	})
	_, body := w.get("/readyz")
	require.Contains(t, body, `"sources":{"office":`)
	refused("deny 198.51.100.7", "198.51.100.7 is in office (198.51.100.0/26), which is never denied")
	w.types("vic", "status")
	w.ephemeral("vic", "Source office", "can't be read")

	w.types("ann", `protect 203.0.113.7 name="branch office"`)
	w.ephemeral("ann", "Protected: 203.0.113.7 branch office, never denied, by Anna Weber")
	refused("deny 203.0.113.7", "branch office")
	w.types("vic", "sources")
	w.ephemeral("vic", "our CDN", "branch office, never denied, by Anna Weber", "203.0.113.64/27 pen test, denied only with approval, no cards")
	require.Empty(t, w.sent())

	require.Empty(t, w.cards("#waf", "/lab"), "of a source that shall give no cards")
	lab.Path, lab.Vulnerability = "/lab/hole", &waf.VulnSpec{Title: "hole"}
	w.attack(lab)
	w.card("critical incident", "/lab/hole", "203.0.113.65 = pen test")
}

// A source in many attacks on many applications is named before the click: on the card, in the dialog of its button,
// and to who types.
func TestASharedSourceIsNamed(t *testing.T) {
	busy := func(w *world) {
		w.cfg.Accounts[0].Storm.Over = 100 // each has its card
		unpaced(w)
		for i := range 12 {
			spec := injection()
			spec.App, spec.Path, spec.Type = []int{4, 7, -1}[i%3], fmt.Sprintf("/p%d", i), []string{"sqli", "xss", "rce", "ptrav"}[i/3]
			spec.Started = waf.Duration(time.Duration(i+1) * time.Hour)
			w.attack(spec)
		}
	}
	story(t, busy, func(t *testing.T, w *world) {
		card := w.card("shop.example.com/p0", attacker+" FR")
		w.types("rob", "deny "+attacker)
		w.sees("rob", "Before you do:", "it is in 12 attacks on 3 applications, and denying it may hit all users behind it")
		w.leaves("rob")
		require.Empty(t, w.sent())
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted")
		require.Len(t, w.entries("acme"), 1)
		w.types("ann", "undo "+changeIn(plain(w.ephemeral("rob", "accepted"))))
		answer := w.ephemeral("ann", "Undo of: Deny "+attacker)
		require.NotContains(t, answer.Plain(), "Never deny it again?", "its attacks go on")
	})
}

// count is how often something was written.
func (j *journal) count(part string) int { return strings.Count(j.String(), part) }
