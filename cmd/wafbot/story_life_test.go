package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// incidents are what a route takes that takes them alone.
func incidents() config.Match { return config.Match{Kind: config.OneOrMore{"incident"}} }

// routed sends incidents to #random, with Ann, and attacks to #waf, with those on call.
func routed(w *world) {
	w.cfg.Accounts[0].Routes = []config.Route{
		{Match: incidents(), Channel: "C0RANDOM3", Mention: "U0ANN0001"},
		{Mention: "S0ONCALL1"},
	}
}

func TestAnIncidentOfAnotherRouteMoves(t *testing.T) {
	story(t, routed, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		old := w.card("high attack", "<!subteam^S0ONCALL1>")
		old.known()
		old.click("rob", "Deny "+attacker)
		w.until("the change in the thread", func() bool { return len(old.replies("Deny "+attacker)) == 1 })

		require.NoError(t, w.WAF.MakeIncident(attack, *sqlHole()))
		card := w.cardIn("#random", "critical incident", "exploit", "Deny "+attacker)
		require.Contains(t, card.now().Plain(), "<@U0ROB0002>", "who acted is on it, and is called alone")
		require.NotContains(t, card.now().Plain(), "<@U0ANN0001>")
		link := "/archives/C0RANDOM3/p" + strings.ReplaceAll(card.ts, ".", "")
		old.says("INCIDENT", "its card is in", link)
		require.Empty(t, old.now().Buttons())
		require.Equal(t, "wafbot_message", factsOf(old.now()).Type, "it is no card any more")
		require.Len(t, old.replies(), 1, "its thread stays, and nothing is said there")

		card.known()
		w.writes("rob", "#waf", old.ts, "@wafbot note \"from the old thread\"")
		card.says("under Details")
		card.undo("rob", "Deny "+attacker)
		w.until("the undo in the new thread", func() bool { return len(card.replies()) == 1 })
		require.Len(t, old.replies(), 2, "what people wrote there, too")
		require.Empty(t, w.cards("#waf"))
		require.Len(t, w.cards("#random"), 1)
	})
}

// A user marks it at the service as a false positive, and takes that back.
func TestAnAttackThatIsMarkedAsAFalsePositive(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		card := w.card("high attack", "POST shop.example.com/login")
		require.NoError(t, w.WAF.SetState(attack, "falsepositive"))
		card.says("FALSE POSITIVE")
		require.Equal(t, []string{"Verdict…", "Report", "More…"}, card.labels(), "nothing is advised against it")
		require.NoError(t, w.WAF.AddHits(attack, 50_000))
		w.polls(4)
		require.Empty(t, card.replies())
		require.NoError(t, w.WAF.SetState(attack, ""))
		w.until("its worsening is posted", func() bool { return len(card.replies("It got worse")) == 1 })
		card.says("Deny " + attacker)
		require.NotContains(t, card.now().Plain(), "false positive")
		require.Len(t, w.cards("#waf"), 1)
	})
}

func TestADeletedCardIsReposted(t *testing.T) {
	gone := func(w *world) { routed(w); w.rough = true }
	story(t, gone, func(t *testing.T, w *world) {
		w.attack(injection())
		old := w.card("high attack", "<!subteam^S0ONCALL1>")
		old.known()
		id := old.id()
		require.NoError(t, w.Slack.Delete("ann", "#waf", old.ts))
		w.types("rob", "note attack="+id+" \"where is it\"")
		card := w.card("reposted: the former card is gone")
		require.NotEqual(t, old.ts, card.ts)
		require.NotContains(t, card.now().Plain(), "<!subteam", "silently")
		card.known()
		card.click("rob", "Deny "+attacker)
		w.until("a denial in the new thread", func() bool { return len(card.replies("Deny "+attacker)) == 1 })
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.polls(3)
		require.Len(t, w.cards("#waf"), 1)
	})
}

// The redraw or the reply may find first that the card is gone: there is one new card, and the worsening is posted once.
func TestWhatWorsensUnderADeletedCardIsHeard(t *testing.T) {
	story(t, func(w *world) {
		routed(w)
		w.cfg.Accounts[0].Routes[0].Channel, w.rough = "", true
	}, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		old := w.card("high attack")
		old.known()
		w.writes("rob", "#waf", old.ts, "@wafbot note \"in the thread\"")
		old.says("under Details")
		require.NoError(t, w.Slack.Delete("ann", "#waf", old.ts))
		w.Slack.SetFault(workspace.Fault{Kind: "thread_not_found", Method: "chat.postMessage", Times: 1})
		require.NoError(t, w.WAF.MakeIncident(attack, *sqlHole()))
		card := w.card("critical incident", "reposted")
		heard := func() (n int) {
			for _, m := range w.shown("#waf") {
				if says(m, "this attack is an INCIDENT now", "<@U0ANN0001>") {
					n++
				}
			}
			return n
		}
		w.until("the reply", func() bool { return heard() > 0 })
		card.known()
		w.polls(3)
		require.Equal(t, 1, heard())
		require.Len(t, w.cards("#waf"), 1)
	})
}

// An admin has locked the thread: it isn't the channel's fault, nor the card's.
func TestWhatWorsensUnderALockedThreadIsHeard(t *testing.T) {
	story(t, func(w *world) { routed(w); w.rough = true }, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		card := w.card("high attack")
		card.known()
		w.Slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "restricted_action_thread_locked", Times: 1})
		require.NoError(t, w.WAF.AddHits(attack, 20_000))
		worse := w.message("#waf", "It got worse")
		require.Empty(t, worse.ThreadTS)
		w.polls(4)
		require.Len(t, w.cards("#waf"), 1)
		require.Empty(t, card.replies())
	})
}

func TestACardThatCannotBeEditedIsReposted(t *testing.T) {
	gone := func(w *world) { routed(w); w.rough = true }
	story(t, gone, func(t *testing.T, w *world) {
		w.attack(injection())
		old := w.card("high attack")
		old.known()
		w.Slack.SetFault(workspace.Fault{Kind: "edit_window_closed", Method: "chat.update", Times: 1})
		w.types("rob", "ack attack="+old.id())
		card := w.card("reposted: the former card can't be edited", "Rob Diaz is on it")
		card.known()
		old.says("its card is in")
		w.types("rob", "unack attack="+card.id())
		card.says("Unacknowledged")
		require.Len(t, w.cards("#waf"), 1)
	})
}

func TestACardInAnArchivedChannelIsRepostedInTheAccounts(t *testing.T) {
	gone := func(w *world) { routed(w); w.rough = true }
	story(t, gone, func(_ *testing.T, w *world) {
		spec := injection()
		spec.Vulnerability = sqlHole()
		w.attack(spec)
		old := w.cardIn("#random", "critical incident")
		old.known()
		w.Slack.SetFault(workspace.Fault{Kind: "is_archived", Channel: "C0RANDOM3"})
		w.types("rob", "ack attack="+old.id())
		w.card("critical incident", "reposted", "Rob Diaz is on it")
	})
}

func TestWhatWorsensMentionsOnlyWhoIsOnIt(t *testing.T) {
	story(t, func(w *world) {
		routed(w)
		w.cfg.Accounts[0].Routes[0].Channel = ""
	}, func(t *testing.T, w *world) {
		claimed, free := w.attack(waf.AttackSpec{Path: "/claimed", Hits: 100, Started: waf.Duration(time.Minute)}), w.attack(waf.AttackSpec{Path: "/free", Hits: 100, Started: waf.Duration(time.Minute)})
		one, other := w.card("/claimed"), w.card("/free")
		one.known()
		w.types("rob", "ack attack="+one.id())
		one.says("<@U0ROB0002> is on it")

		require.NoError(t, w.WAF.AddHits(free, 5000))
		w.until("a reply without a mention", func() bool { return len(other.replies("It got worse")) == 1 })
		require.NotContains(t, other.replies()[0].Plain(), "<", "a user was mentioned less than an hour ago")
		require.True(t, other.replies()[0].Broadcast)
		for _, id := range []string{claimed, free} {
			require.NoError(t, w.WAF.MakeIncident(id, *sqlHole()))
		}
		w.until("replies", func() bool { return len(one.replies("INCIDENT")) == 1 && len(other.replies("INCIDENT")) == 1 })
		require.True(t, says(one.replies("INCIDENT")[0], "<@U0ROB0002>"))
		require.False(t, says(one.replies("INCIDENT")[0], "<@U0ANN0001>"))
		require.True(t, says(other.replies("INCIDENT")[0], "<@U0ANN0001>"), "becoming an incident always calls")
	})
}

// quietNow makes it one of the hours in which only incidents and attacks that aren't blocked mention people.
func quietNow(w *world) {
	at := time.Now().UTC()
	from, to := at.Add(-time.Hour), at.Add(time.Hour)
	w.cfg.Accounts[0].Quiet.Hours = fmt.Sprintf("%s-%s", from.Format("15:04"), to.Format("15:04"))
}

// stopped is an attack on an application in whose mode it is blocked.
func stopped() waf.AttackSpec {
	spec := injection()
	spec.App = -1
	return spec
}

// The routes are changed while an attack goes on: what was chosen for it is kept, and said so.
func TestARouteIsKeptOverARestart(t *testing.T) {
	routes := func(r config.Route) func(w *world) {
		return func(w *world) { w.cfg.Accounts[0].Routes = []config.Route{r} }
	}
	night := func(w *world) { routes(config.Route{Mention: "U0ANN0001"})(w); quietNow(w) }
	story(t, night, func(t *testing.T, w *world) {
		attack := w.attack(stopped())
		card := w.card("attack", "quiet hours: no one mentioned")
		card.known()
		w.stop()
		routes(config.Route{Channel: "C0RANDOM3", Mention: "U0ROB0002"})(w)
		w.cfg.Accounts[0].Quiet.Hours = ""
		w.start()
		require.NoError(t, w.WAF.AddHits(attack, 50_000))
		w.until("it is posted where it was", func() bool { return len(card.replies("It got worse", "<@U0ANN0001>")) == 1 })
		w.types("vic", "explain attack="+card.id())
		w.ephemeral("vic", "As it is now it would go to channel <#C0RANDOM3> by route 1 and mention <@U0ROB0002>. What was chosen when it was first posted is kept",
			"Its card is in channel <#"+w.cfg.Accounts[0].Channel+">", "Who acknowledges it is mentioned in place of <@U0ANN0001>")
		require.Empty(t, w.cards("#random"))
	})
}

func TestQuietHoursMentionNoOne(t *testing.T) {
	story(t, func(w *world) { routed(w); quietNow(w) }, func(t *testing.T, w *world) {
		attack := w.attack(stopped())
		card := w.card("attack", "quiet hours: no one mentioned")
		card.known()
		require.NotContains(t, card.now().Plain(), "<!subteam")
		w.types("vic", "explain attack="+card.id())
		w.ephemeral("vic", "Quiet hours are ", "now, and it mentions no user in them. No user has been mentioned about it because of them")
		w.types("ann", "mode app:default monitoring")
		w.confirms("ann", "default", "monitoring")
		w.until("incidents are registered", func() bool { return w.WAF.MakeIncident(attack, *sqlHole()) == nil })
		moved := w.cardIn("#random", "critical incident", "<@U0ANN0001>")
		require.False(t, says(moved.now(), "quiet hours"))
	})
}
