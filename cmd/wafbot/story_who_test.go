package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
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

// bothAccounts has the bot watch globex too: another client of the same service, with a channel of its own.
func bothAccounts(w *world) {
	all, err := demoConfig(w.World)
	require.NoError(w.t, err)
	globex := all.Accounts[1]
	globex.PollInterval = w.cfg.Accounts[0].PollInterval
	w.cfg.Accounts = append(w.cfg.Accounts, globex)
}

// stuffing is an attack on globex's Portal, which blocks whatever looks like an attack: this doesn't.
func stuffing() waf.AttackSpec {
	return waf.AttackSpec{Account: "globex", Type: "brute", Path: "/signin", Sources: []waf.SourceSpec{{IP: attacker, PerSecond: 4}}, Started: waf.Duration(time.Minute)}
}

func TestAccountsAreApart(t *testing.T) {
	story(t, bothAccounts, func(t *testing.T, w *world) {
		w.attack(injection())
		w.attack(stuffing())
		acme, globex := w.card("/login"), w.cardIn("#waf-globex", "/signin", "Brute force")
		require.Empty(t, w.cards("#waf", "/signin"))
		require.Empty(t, w.cards("#waf-globex", "/login"))

		globex.click("rob", "Deny "+attacker)
		globex.says("Deny "+attacker+" · ", "Rob Diaz")
		require.Len(t, w.entries("globex"), 1)
		require.Empty(t, w.entries("acme"), "the same address, another account")
		acme.click("ann", "Deny "+attacker)
		acme.says("Deny "+attacker+" · ", "Anna Weber")
		require.Len(t, w.entries("acme"), 1)
		globex.undo("rob", "Deny "+attacker)
		globex.undone("Rob Diaz")
		require.Empty(t, w.entries("globex"))
		require.Len(t, w.entries("acme"), 1)

		w.typesIn("#waf-globex", "rob", "deny 198.51.100.50")
		w.message("#waf-globex", "Deny 198.51.100.50")
		require.Len(t, w.entries("globex"), 1, "the account of the channel")
		w.typesIn("#random", "rob", "deny 198.51.100.51")
		w.ephemeral("rob", "Missing: account=, one of: acme, globex")
		w.typesIn("#random", "rob", "deny 198.51.100.51 account=globex")
		w.message("#waf-globex", "Deny 198.51.100.51")
		w.typesIn("#random", "rob", "status")
		w.ephemeral("rob", "Status of acme, globex", "Going on: 2 attacks")
		for _, r := range w.sent() {
			id := map[string]string{"acme": `"clientid":5`, "globex": `"clientid":9`}[r.Account]
			require.True(t, strings.Contains(r.Body, id), "%s: %s", r.Account, r.Body)
		}
	})
}

// twoTeams gives Rob a role on acme alone, Vic one on globex alone, and Ann one on both. All of them can read both
// channels.
func twoTeams(w *world) {
	bothAccounts(w)
	accounts := ""
	for i, a := range w.cfg.Accounts {
		accounts += fmt.Sprintf("  - {name: %s, api_url: %q, token: %s, client_id: %d, channel: %s, poll_interval: 250ms, policy: {responders: [%s]}}\n",
			a.Name, a.APIURL, a.Token.Reveal(), a.ClientID, a.Channel, []string{"U0ROB0002", "U0VIC0003"}[i])
	}
	cfg, err := config.Load(writeConfig(w.t, "sources: []\npolicy: {changes: on, viewers: [], admins: [U0ANN0001]}\naccounts:\n"+accounts), nil)
	require.NoError(w.t, err)
	cfg.Slack, cfg.Redis = w.cfg.Slack, w.cfg.Redis
	w.cfg = cfg
}

// Rob of acme is refused on globex on every way in, and nothing that he is shown tells of it.
func TestTwoTeams(t *testing.T) {
	story(t, twoTeams, func(t *testing.T, w *world) {
		w.attack(injection())
		w.attack(stuffing())
		acme, globex := w.card("/login"), w.cardIn("#waf-globex", "/signin")
		id := globex.id()
		const hidden = "Unknown account: globex. One of: acme"

		// By button, also one that only shows more, and one that opens a form.
		globex.click("rob", "Deny "+attacker)
		w.ephemeral("rob", hidden)
		globex.opens("rob", "More…", hidden)
		w.leaves("rob")

		// By line: what isn't there and what isn't his are the same.
		n := len(w.ephemerals("rob", hidden))
		lines := []string{"status", "lists", "audit", "deny 203.0.113.9", "undo", "ack attack=" + id, "report attack=" + id, "attack " + id}
		for _, line := range lines {
			w.typesIn("#random", "rob", line+" account=globex")
		}
		w.until("refusals", func() bool { return len(w.ephemerals("rob", hidden)) == n+len(lines) })
		w.typesIn("#random", "rob", "lists account=nowhere")
		w.ephemeral("rob", "Unknown account: nowhere. One of: acme")
		for _, line := range []string{"attack " + id, "report attack=" + id, "deny attack=" + id} {
			w.typesIn("#random", "rob", line)
			w.until("refusal of "+line, func() bool { return len(w.ephemerals("rob", "Unknown attack: "+id)) > 0 })
		}
		w.typesIn("#waf-globex", "rob", "deny 203.0.113.9")
		w.ephemeral("rob", "Missing: account=, one of: acme")

		// By form.
		w.types("rob", "deny account=globex")
		w.sees("rob", hidden)
		w.leaves("rob")

		// By approval, of what Vic asks for, who may.
		w.typesIn("#waf-globex", "vic", "deny country:FR")
		request := w.follow(w.message("#waf-globex", "APPROVAL NEEDED", "Deny country:FR"))
		request.click("rob", "Approve")
		w.until("refusal of the approval", func() bool {
			return w.journal.has(`"account":"globex"`, "U0ROB0002", `"line":"approve`, "no role on this account")
		})
		asked := requestIn(plain(request.now()))
		w.types("rob", "approve "+asked)
		w.ephemeral("rob", "Unknown request: "+asked+", on acme. ")
		w.typesIn("#waf-globex", "vic", "handover to=U0ROB0002 attack="+id)
		w.ephemeral("vic", "Rob Diaz has no role here")
		require.Empty(t, w.sent())

		// What he may see is acme alone: status, Home, listings, the audit log.
		for _, line := range []string{"status", "attacks", "audit", "whoami"} {
			before := len(w.ephemerals("rob"))
			w.typesIn("#random", "rob", line)
			w.until(line, func() bool { return len(w.ephemerals("rob")) > before })
			all := w.ephemerals("rob")
			require.NotContains(t, plain(all[len(all)-1]), "globex", line)
			require.NotContains(t, plain(all[len(all)-1]), "/signin", line)
		}
		w.opensHome("rob")
		home := w.home("rob", "Going on: 1 attack", acme.id(), "1 of 1 account watched well", "Your role: responder")
		require.NotContains(t, home, "globex")
		require.NotContains(t, home, id)
		acme.click("rob", "Deny "+attacker)
		acme.says("Deny "+attacker+" · ", "Rob Diaz")

		// Ann sees both, and in globex's log what Rob tried. A stranger's refusal without an account stands in neither.
		w.typesIn("#random", "ann", "status")
		w.ephemeral("ann", "Status of acme, globex", "Going on: 2 attacks")
		w.typesIn("#random", "ann", "whoami")
		w.ephemeral("ann", "acme: admin", "globex: admin")
		w.typesIn("#random", "guest", "status")
		w.ephemeral("guest", "You have no role here")
		w.typesIn("#random", "ann", "audit by=rob account=globex")
		w.ephemeral("ann", "deny 203.0.113.9 account=globex", "refused", "no role on this account")
		require.True(t, w.journal.has(`"account":""`, "U0GUEST04", `"line":"status"`))
		for _, a := range []string{"acme", "globex"} {
			require.False(t, slices.ContainsFunc(strings.Split(w.journal.String(), "\n"), func(line string) bool {
				return strings.Contains(line, `"account":"`+a+`"`) && strings.Contains(line, "U0GUEST04")
			}), a)
		}
	})
}

// While Slack doesn't say who a person is, everyone in the workspace is no one: that person could be a guest. People
// whom the configuration names can still read.
func TestSlackDoesntSayWhoAGuestIs(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		w.card(attacker)
		w.rough = true
		w.Slack.SetFault(workspace.Fault{Kind: "internal_error", Method: "users.info"})
		for _, line := range []string{"status", "lists", "audit"} {
			w.types("guest", line)
		}
		w.until("refusals", func() bool { return len(w.ephemerals("guest", "Slack doesn't say who you are just now")) == 3 })
		w.opensHome("guest")
		require.NotContains(t, w.home("guest", "Slack doesn't say who you are just now"), "Going on")
		w.types("rob", "status")
		w.ephemeral("rob", "Going on: 1 attack")
		w.types("rob", "deny "+attacker)
		w.until("refusal of a change", func() bool { return w.journal.has(`"outcome":"refused"`, "U0ROB0002", "doesn't say who you are") })
		require.Empty(t, w.sent())
	})
}

// Who may not act reads at once whom to ask and how: to press a button, or to type a line.
func TestWhomToAsk(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("vic", "Deny "+attacker)
		w.ephemeral("vic", "deny needs the role responder; yours is viewer. Ask <@U0ROB0002>, <!subteam^S0WAFRESP>, <@U0ANN0001> to press it")
		w.types("vic", "deny "+attacker+" for=1h")
		w.ephemeral("vic", "Ask <@U0ROB0002>, <!subteam^S0WAFRESP>, <@U0ANN0001> to type deny "+attacker+" for=1h")
		w.types("rob", "allow 198.51.100.1")
		w.ephemeral("rob", "needs the role admin; yours is responder", "Ask <@U0ANN0001> to type allow 198.51.100.1")
		card.click("guest", "Deny "+attacker)
		w.ephemeral("guest", "a guest of the workspace can't have one", "Ask <@U0ROB0002>, <!subteam^S0WAFRESP>, <@U0ANN0001> to press it")
		require.Empty(t, w.sent())
	})
}

// More opens only what one may do. Who may not even read gets one line, and no menu.
func TestMoreOpensOnlyWhatOneMayDo(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		viewers := card.opens("vic", "More…", "Look", "Details", "Report", "You are viewer. What needs more is left out. Ask <@U0ROB0002>, <!subteam^S0WAFRESP>, <@U0ANN0001> to press it").Plain()
		for _, left := range []string{"Triage", "Verdict…", "Deny several…", "Patch only…", "Block path…"} {
			require.NotContains(t, viewers, left)
		}
		responders := card.opens("rob", "More…", "Block", "Deny several…", "Triage", "Verdict…", "You are responder", "Ask <@U0ANN0001> to press it").Plain()
		require.NotContains(t, responders, "Block path…", "blocking a path is an admin's")
		admins := card.opens("ann", "More…", "Block path…").Plain()
		require.NotContains(t, admins, "left out")

		card.click("eve", "More…")
		w.ephemeral("eve", "You have no role here: wafbot answers only members of its own workspace. Ask one of them in this channel")
		card.click("guest", "More…")
		w.ephemeral("guest", "a guest of the workspace can't have one", "Ask any full member of the workspace")
		for _, user := range []string{"eve", "guest"} {
			require.Nil(t, w.Slack.OpenView(user), "no menu for "+user)
			require.Len(t, w.ephemerals(user), 1)
		}
		require.NotContains(t, w.ephemerals("eve")[0].Plain(), "U0", "another workspace isn't told who may act")
	})
}

func TestAStrangerAndAGuest(t *testing.T) {
	// Listed by mistake, or before they became what they are: the workspace's word counts.
	listed := func(w *world) {
		w.cfg.Policy.Responders = append(w.cfg.Policy.Responders, "U0GUEST04", "U0EVE0005", "*")
	}
	story(t, listed, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		for _, user := range []string{"guest", "eve"} {
			card.click(user, "Deny "+attacker)
			w.ephemeral(user, "You have no role here")
			w.types(user, "status")
			w.until("two refusals", func() bool { return len(w.ephemerals(user, "You have no role here")) == 2 })
			require.Len(t, w.ephemerals(user), 2, "and nothing else")
		}
		require.Empty(t, w.sent())
		require.True(t, w.journal.has(`"outcome":"refused"`, "U0EVE0005"))
		require.True(t, w.journal.has(`"outcome":"refused"`, "U0GUEST04"))

		rob, ok := w.Slack.UserByName("rob")
		require.True(t, ok)
		rob.Restricted = true // made a guest, after the card was posted
		require.NoError(t, w.Slack.SetUser(rob))
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "You have no role here")
		require.Empty(t, w.sent())
	})
}

// A service that mixes up its clients' answers shows no client's attacks to another. People are told once, and each
// account's own attacks are seen.
func TestTheServiceAnswersForAnotherAccount(t *testing.T) {
	mixed := func(w *world) {
		bothAccounts(w)
		require.NoError(t, w.WAF.SetFault(waf.Fault{Kind: "foreign", Every: 3}))
	}
	story(t, mixed, func(t *testing.T, w *world) {
		w.attack(injection())
		w.attack(stuffing())
		w.card("/login")
		w.cardIn("#waf-globex", "/signin")
		const told = "with records of other clients"
		w.message("#waf", "acme "+told)
		w.message("#waf-globex", "globex "+told)
		w.polls(9)
		require.Len(t, w.cards("#waf"), 1)
		require.Len(t, w.cards("#waf-globex"), 1)
		require.Len(t, slices.DeleteFunc(w.Slack.Messages("#waf"), func(m workspace.Message) bool { return !says(m, told) }), 1)
		require.Positive(t, w.metric(`wafbot_account_foreign_records{account="acme"}`))
	})
}
