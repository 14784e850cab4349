package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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

// The redraw or the reply may find first that the card is gone: there is one new card, and the worsening is posted
// once.
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

// unlisted begins several attacks that polls see all at once, never some of them alone. It clears all faults.
func (w *world) unlisted(begin func()) {
	w.t.Helper()
	require.NoError(w.t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: "/v1/objects/attack", Kind: "status:503"}))
	begin()
	w.WAF.ClearFaults()
}

// scanned begins so many attacks of one source at once, and some incidents among them.
func (w *world) scanned(attacks, incidents int) {
	w.t.Helper()
	w.unlisted(func() { w.scans(attacks, incidents) })
}

func (w *world) scans(attacks, incidents int) {
	w.t.Helper()
	for i := range attacks + incidents {
		spec := waf.AttackSpec{Path: fmt.Sprintf("/scan/%d", i), Hits: 100, Started: waf.Duration(time.Minute), Sources: []waf.SourceSpec{{IP: loudest, Country: "NL", PerSecond: 0.1}}}
		if i%50 == 7 && incidents > 0 {
			spec.Path, spec.Vulnerability = fmt.Sprintf("/worked/%d", i), sqlHole()
			incidents--
		}
		w.attack(spec)
	}
	require.Zero(w.t, incidents)
}

// stormCard is the card of the storm, when it has grouped so many.
func (w *world) stormCard(grouped int, parts ...string) shownCard {
	w.t.Helper()
	c := w.card(" storm")
	c.says(append(parts, fmt.Sprintf("%d attacks", grouped))...)
	return c
}

// A hundred attacks at once, two of them incidents: three cards, the incidents' first.
func TestAStorm(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.scanned(98, 2)
		storm := w.stormCard(98, "98 of 98 NOT BLOCKED", loudest, "is in all of these 98")
		w.card("/worked/7", "critical incident")
		w.card("/worked/57", "critical incident")
		w.polls(4)
		all := w.cards("#waf")
		require.Len(t, all, 3)
		require.Empty(t, storm.replies())

		w.attack(injection())
		w.stormCard(99, "99 of 99 NOT BLOCKED", "is in 98 of these 99")
		storm.click("rob", "List the 99")
		w.ephemeral("rob", storm.id(), "POST shop.example.com/login")
		w.stop()
		w.start()
		w.polls(4)
		require.Len(t, w.cards("#waf"), 3)
	})
}

// Attacks that are ongoing at the very first start are grouped, too, and the first message says so.
func TestFirstStartInAStorm(t *testing.T) {
	story(t, func(w *world) {
		w.cfg.Accounts[0].Routes = []config.Route{{Mention: "U0ANN0001"}}
		w.scanned(30, 1)
	}, func(t *testing.T, w *world) {
		w.message("#waf", "wafbot watches acme", "31 going on (30 of them grouped in a storm's card, cards of the others follow, no one is mentioned)")
		w.stormCard(30)
		w.card("critical incident", "/worked/7")
		w.polls(4)
		require.Len(t, w.cards("#waf"), 2)
		for _, m := range w.cards("#waf") {
			require.False(t, says(m, "<@U0ANN0001>"), m.Plain())
		}
	})
}

// The card of a storm is all that is left of it when Redis was emptied: ongoing attacks count as the storm's, so that
// no other card comes.
func TestRedisEmptiedInAStorm(t *testing.T) {
	runningOrNot(t, "down", asItIs, func(t *testing.T, w *world, running bool) {
		w.scanned(40, 1)
		storm := w.stormCard(40)
		w.card("critical incident", "/worked/7")
		id := storm.id()
		w.emptyRedis(running)
		w.polls(4)
		w.attack(injection())
		storm.says("41 attacks")
		require.Equal(t, id, storm.id())
		require.Len(t, w.cards("#waf"), 2)
	})
}

// One pager is called for all that a storm grouped.
func TestAStormCallsItsPagerOnce(t *testing.T) {
	story(t, paged(time.Second), func(t *testing.T, w *world) {
		h := w.hook
		w.scanned(20, 0)
		storm := w.stormCard(20)
		call := h.next()
		require.Equal(t, storm.id(), call.Attack)
		require.Contains(t, call.Text, "20 of 20 NOT BLOCKED, high storm on Shop: ")
		require.Contains(t, call.Text, loudest+" NL is in 20 of 20 attacks")
		storm.click("rob", "Acknowledge")
		require.Equal(t, call.ID, h.next().ID, "it is over")
		w.polls(4)
		require.Empty(t, h.got)
	})
}

// loudest is the source behind the emulated world's storm.
const loudest = "198.51.100.23"

// oneLoudSource starts so many attacks: all but four of one source, which are blocked, and four of others, which get
// through.
func (w *world) oneLoudSource(n int) {
	w.t.Helper()
	for i := range n {
		spec := waf.AttackSpec{App: -1, Path: fmt.Sprint("/catalog/", i), Started: waf.Duration(time.Minute), Sources: []waf.SourceSpec{{IP: loudest, Country: "NL", PerSecond: 1}}}
		if i < 4 {
			spec.App, spec.Sources = 4, []waf.SourceSpec{{IP: fmt.Sprint("203.0.113.", 200+i), Country: "PL", PerSecond: float64(4 - i)}}
		}
		w.attack(spec)
	}
}

// A storm as a person at night meets it: one card, one click that stops most of it, and the list of it all.
func TestAStormAndItsCard(t *testing.T) {
	all := func(w *world) { w.cfg.Accounts[0].Routes = []config.Route{{}} } // those that are blocked, too
	story(t, all, func(t *testing.T, w *world) {
		const grouped = 40
		w.unlisted(func() { w.oneLoudSource(grouped) })
		card := w.card("4 of 40 NOT BLOCKED", "high storm", "Not blocked:")
		require.Equal(t, "storm", factsOf(card.now()).Payload.Kind)
		id := card.id()
		require.Equal(t, "s", id[:1])
		card.says("203.0.113.200 PL is in 1 of these 4", "List the 4")
		card.says(fmt.Sprintf("%d attacks, %d still active", grouped, grouped))

		w.typesIn("#waf", "vic", "attacks storm="+id)
		w.ephemeral("vic", id+" 4 of 40 NOT BLOCKED · high storm", "Next page")
		const top = "203.0.113.200"
		card.click("rob", "Deny "+top)
		w.ephemeral("rob", "Deny "+top+" everywhere for 4 h: accepted by the service")
		card.says("Deny "+top+" · ", "Rob Diaz", "<@U0ROB0002> is on it", "Deny 203.0.113.201")
		require.Len(t, w.entries("acme"), 1)
		w.until("denial in force", func() bool { return w.WAF.Denied("acme", top) })

		card.click("rob", "List the 4")
		w.ephemeral("rob", id+" 4 of 40 NOT BLOCKED · high storm")

		list := w.atShell("attacks", "storm="+id, "--all", "--json")
		require.Equal(t, exitDone, list.code, list.err)
		var answer struct {
			Data []struct {
				Storm string `json:"storm"`
				Own   bool   `json:"own_card"`
			} `json:"data"`
		}
		require.NoError(t, json.Unmarshal([]byte(list.out), &answer))
		for _, row := range answer.Data {
			require.Equal(t, id, row.Storm)
			require.False(t, row.Own)
		}
		require.Len(t, answer.Data, grouped)

		w.types("vic", "explain attack="+id)
		w.ephemeral("vic", "Why one card: more than 10 new attacks came in 1 min", "It isn't muted")
		w.types("vic", "status")
		w.ephemeral("vic", "Going on: 1 storm", "4 of 40 NOT BLOCKED · high storm", "and 1 more application", "Rob Diaz is on it")
		card.opens("rob", "More…", "List…", "Deny several…", "Mute "+loudest, "Report…")
		require.NotContains(t, strings.Join(card.labels(), " "), "patch")
		w.presses("rob", "List…")
		w.sees("rob", id+" 4 of 40 NOT BLOCKED · high storm")
	})
}

// sees waits until the modal that a user sees says all the parts.
func (w *world) sees(user string, parts ...string) (seen workspace.View) {
	w.t.Helper()
	w.until(user+" sees: "+strings.Join(parts, ", "), func() bool {
		v := w.Slack.OpenView(user)
		if v == nil {
			return false
		}
		seen = *v
		return hasAll(bare(v.Plain()), parts)
	})
	return seen
}

// submits fills in the modal that a user sees and sends it off, again where a machine too busy to check it in time asks
// for that.
func (w *world) submits(user string, values map[string]any) workspace.Submitted {
	w.t.Helper()
	for range 20 {
		s := w.submitsOnce(user, values)
		if s.Outcome != workspace.OutcomePushed {
			return s
		}
		if said := w.Slack.OpenView(user).Plain(); !strings.Contains(said, "Send it again in a moment") && !strings.Contains(said, "type it again") {
			return s
		}
		w.leaves(user)
	}
	w.t.Fatal("a form is never looked at in time")
	return workspace.Submitted{}
}

func (w *world) submitsOnce(user string, values map[string]any) workspace.Submitted {
	w.t.Helper()
	s, err := w.Slack.Submit(w.t.Context(), workspace.Submission{User: user, Values: values})
	require.NoError(w.t, err)
	require.Empty(w.t, s.Warning)
	if s.Outcome != workspace.OutcomeIncomplete {
		require.Equal(w.t, http.StatusOK, s.Status, "%+v", s)
	}
	return s
}

// checked submits a form that can't be taken as it is. A machine too busy to check in time takes it all the same, and
// says what is wrong afterwards: then it is opened again.
func (w *world) checked(user string, open func(), values map[string]any) workspace.Submitted {
	w.t.Helper()
	for range 5 {
		s := w.submits(user, values)
		if s.Outcome != workspace.OutcomeCleared && s.Outcome != workspace.OutcomeClosed {
			return s
		}
		open()
	}
	w.t.Fatal("a form is never looked at in time")
	return workspace.Submitted{}
}

// confirms waits for a question and answers it with yes. On a machine too busy to show a view in time it is asked in a
// message.
func (w *world) confirms(user string, parts ...string) {
	w.t.Helper()
	const yes = "Do it anyway"
	w.until(user+" is asked: "+strings.Join(parts, ", "), func() bool {
		return w.Slack.OpenView(user) != nil || len(w.ephemerals(user, append(parts, yes)...)) > 0
	})
	if asked := w.ephemerals(user, append(parts, yes)...); w.Slack.OpenView(user) == nil {
		w.click(user, asked[len(asked)-1], yes)
		return
	}
	w.sees(user, parts...)
	require.Equal(w.t, workspace.OutcomeCleared, w.submits(user, nil).Outcome)
}

// presses clicks a button of the modal that a user sees.
func (w *world) presses(user, button string) {
	w.t.Helper()
	d, err := w.Slack.Click(w.t.Context(), workspace.Click{User: user, View: "modal", Button: button})
	w.acknowledged(d, err)
}

// opens clicks a button of a card that opens a view, and waits for what is in it.
func (c shownCard) opens(user, button string, parts ...string) workspace.View {
	c.w.t.Helper()
	c.click(user, button)
	c.w.until("a view", func() bool {
		v := c.w.Slack.OpenView(user)
		return v != nil && !strings.Contains(v.Plain(), "Loading …")
	})
	return c.w.sees(user, parts...)
}

// leaves closes the modal that a user sees.
func (w *world) leaves(user string) {
	w.t.Helper()
	_, err := w.Slack.CloseView(w.t.Context(), workspace.Closing{User: user})
	require.NoError(w.t, err)
}

// learns waits for a refusal: an ephemeral message, or in the view that was opened where it took too long to find out
// who asks.
func (w *world) learns(user, refusal string) {
	w.t.Helper()
	w.until(user+" learns: "+refusal, func() bool {
		v := w.Slack.OpenView(user)
		return len(w.ephemerals(user, refusal)) > 0 || v != nil && strings.Contains(bare(v.Plain()), refusal)
	})
}

// opensHome has a user open the Home tab.
func (w *world) opensHome(user string) {
	w.t.Helper()
	_, err := w.Slack.OpenHome(user)
	require.NoError(w.t, err)
}

// home waits until a user's Home tab shows all the parts.
func (w *world) home(user string, parts ...string) string {
	w.t.Helper()
	shown := func() string {
		v := w.Slack.Home(user)
		if v == nil {
			return ""
		}
		return bare(v.Plain())
	}
	w.until("home of "+user+": "+strings.Join(parts, ", "), func() bool { return hasAll(shown(), parts) })
	return shown()
}

// clicksHome has a user click a button in the Home tab.
func (w *world) clicksHome(user, button string) {
	w.t.Helper()
	d, err := w.Slack.Click(w.t.Context(), workspace.Click{User: user, View: "home", Button: button})
	w.acknowledged(d, err)
}

func TestTheHomeTab(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		w.opensHome("rob")
		w.home("rob", "wafbot is live", "Nothing is going on", "Nothing of wafbot's is in force", "1 of 1 account watched well", "[Refresh]", "Your role: responder")
		w.opensHome("guest")
		guests := w.home("guest", "a guest of the workspace can't have one", "Ask a full member of the workspace")
		require.NotContains(t, guests, "Going on")
		require.NotContains(t, guests, "U0ANN0001", "who has a role is for those who have one")
		w.rough = true
		w.Slack.SetFault(workspace.Fault{Kind: "ratelimited", Method: "views.publish", RetryAfter: 1, Times: 1})
		w.opensHome("vic")
		w.home("vic", "Nothing is going on")

		w.attack(injection())
		card := w.card(attacker)
		w.clicksHome("rob", "Refresh")
		w.home("rob", "Going on: 1 attack, 0 incidents among them", card.id(), "Unacknowledged", "[Acknowledge]")
		w.clicksHome("rob", "Acknowledge")
		w.home("rob", "Rob Diaz is on it since", "Going on: 1 attack")
		card.says("<@U0ROB0002> is on it")
		card.click("ann", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Anna Weber")

		w.opensHome("rob")
		link := "/archives/" + card.now().Channel + "/p" + strings.ReplaceAll(card.ts, ".", "") + "|card"
		w.until("a link to the card", func() bool { return strings.Contains(string(w.Slack.Home("rob").Raw), link) })
		require.NotContains(t, w.home("rob", "In force by wafbot: 1", "Deny "+attacker+" everywhere for 4 h · Anna Weber", "[Undo]"), "[Acknowledge]")
		w.clicksHome("rob", "Undo")
		w.home("rob", "Undo of: Deny "+attacker, "Nothing of wafbot's is in force")
		require.Empty(t, w.entries("acme"))
		w.clicksHome("rob", "Refresh")
		w.until("the answer is gone", func() bool { return !strings.Contains(w.Slack.Home("rob").Plain(), "Undo of") })

		w.types("rob", "deny country:FR for=2h")
		w.ephemeral("rob", "Waiting for approval")
		w.opensHome("rob")
		require.NotContains(t, w.home("rob", "Waiting for approval: 1", "Deny country:FR everywhere for 2 h · asked by Rob Diaz"), "[Approve]")
		w.opensHome("ann")
		w.home("ann", "Waiting for approval: 1", "[Approve] [Reject]")
		w.clicksHome("ann", "Approve")
		require.NotContains(t, w.home("ann", "approved by Anna Weber", "In force by wafbot: 1", "Deny country:FR"), "Waiting for")
		require.Len(t, w.entries("acme"), 1)

		w.opensHome("vic")
		require.NotContains(t, w.home("vic", card.id(), "Your role: viewer"), "[Undo]")
		require.Zero(t, w.called("chat.postEphemeral"), "what is clicked in the Home tab is answered there")
	})
}

// atThisHour has acme handed over at this very minute, so that it is late already when the bot starts; and globex so
// long ago that it is skipped.
func atThisHour(w *world) {
	cfg, err := demoConfig(w.World)
	require.NoError(w.t, err)
	w.cfg.Accounts = append(w.cfg.Accounts, cfg.Accounts[1])
	for i, ago := range []time.Duration{0, 2 * time.Hour} {
		w.cfg.Accounts[i].Summary.At = time.Now().Add(-ago).In(w.cfg.Timezone).Format("15:04")
	}
}

func TestTheHandOver(t *testing.T) {
	story(t, atThisHour, func(t *testing.T, w *world) {
		handed := func() int {
			return len(slices.DeleteFunc(w.shown("#waf"), func(m workspace.Message) bool { return !says(m, "Hand-over of acme: the last 10 h") }))
		}
		w.message("#waf", "Hand-over of acme: the last 10 h", "Nothing is going on", "What happened: no incidents are known of", "No incidents can be registered on default since")
		first := w.stop
		w.start() // another replica
		first()
		w.attack(injection())
		card := w.card(attacker) // so the other one owns the account by now
		w.stop()
		w.start()
		w.polls(2)
		require.Equal(t, 1, handed(), "once, not for each replica")
		require.Len(t, w.shown("#waf-globex"), 1, "that one it watches")

		second := injection()
		second.Path = "/search"
		w.attack(second)
		other := w.card("/search")
		for _, c := range []card2{{card, "rob"}, {other, "ann"}} {
			c.click(c.user, "Acknowledge")
			c.says("is on it")
		}
		w.types("vic", "summary since=1h")
		answer := w.ephemeral("vic", "Hand-over of acme: the last 1 h", "Going on: 2 attacks", "Rob Diaz is on it", "Anna Weber is on it")
		require.NotContains(t, answer.Plain(), "[I take over]", "a viewer can't")
		w.writes("ann", "#waf", card.ts, "@wafbot summary")
		w.click("ann", w.ephemeral("ann", "Hand-over of acme"), "I take over")
		w.ephemeral("ann", "Anna Weber is on 1 attack of acme now: "+card.id(), "Until now: Rob Diaz on 1, unacknowledged: 0")
		card.says("<@U0ANN0001> is on it")
		notice := w.message("#waf", "Anna Weber takes over 1 attack of acme", "<@U0ROB0002>: no longer yours: "+card.id())
		require.Empty(t, notice.ThreadTS)
		require.Empty(t, card.replies("takes this attack over"), "notified once, and not for each attack")
		w.types("rob", "handover --all to=@me")
		w.ephemeral("rob", "Rob Diaz is on 2 attacks of acme now", "Until now: Anna Weber on 2")
		w.message("#waf", "Rob Diaz takes over 2 attacks of acme", "<@U0ANN0001>: no longer yours: ", card.id(), other.id())
		require.Empty(t, w.sent())
	})
}

// card2 is a card and who clicks on it.
type card2 struct {
	shownCard
	user string
}

// An attack from its first hit to its end, and what is written of it: in Slack, at the terminal, for programs; and
// whether the audit log is whole.
func TestAnAttackAndItsReport(t *testing.T) {
	story(t, func(w *world) { w.cfg.Accounts[0].OngoingFor = 3 * time.Second }, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Acknowledge")
		card.says("<@U0ROB0002> is on it")
		card.click("rob", "Deny "+attacker)
		card.says("Deny " + attacker)
		w.types("rob", "note attack="+card.id()+" same *botnet* as on Monday")
		card.says("under Details")
		w.types("vic", "deny 198.51.100.9 attack="+card.id())
		w.ephemeral("vic", "deny needs the role responder")
		w.types("ann", "verdict real attack="+card.id())
		card.says("verdict real")
		require.NoError(t, w.WAF.StopAttack(attack))
		card.says("ENDED")
		w.types("rob", "undo")
		card.undone("Rob Diaz")

		parts := []string{
			"First hit, says the service", "First seen by wafbot", "Card posted", "Rob Diaz is on it", "Deny " + attacker + " everywhere for 4 h", "As wafbot had seen it",
			"Note of Rob Diaz: same *botnet* as on Monday", "deny needs the role", "Verdict: real, by Anna Weber", "Quiet: no hit since", "Undo of: Deny", "Nothing of wafbot's for this attack",
		}
		w.types("vic", "report attack="+card.id())
		w.ephemeral("vic", append(parts[:4:4], "The report as Markdown", "times are those of UTC")...)
		card.opens("vic", "More…", "Report")
		w.presses("vic", "Report…")
		w.sees("vic", append(parts[:4:4], "The report as Markdown")...)
		w.leaves("vic")
		got := w.atShell("report", "attack="+card.id())
		require.Equal(t, exitDone, got.code, got.err)
		require.True(t, strings.HasPrefix(got.out, "# Attack `"+card.id()+"`: SQL injection on Shop\n"), got.out)
		require.Contains(t, got.out, "times are those of Europe/Berlin")
		at := 0
		for _, part := range parts {
			rest := strings.NewReplacer("**", "", "`", "").Replace(got.out)[at:]
			i := strings.Index(rest, part)
			require.GreaterOrEqual(t, i, 0, "%q, in this order, in\n%s", part, got.out)
			at += i
		}
		got = w.atShell("report", "attack="+card.id(), "--json")
		require.Contains(t, got.out, `"evidence": {`)
		w.auditAgrees(t)
	})
}

// auditAgrees compares what the bot printed with its store.
func (w *world) auditAgrees(t *testing.T) {
	got := w.atShell("audit", "export")
	require.Equal(t, exitDone, got.code, got.err)
	var printed []string
	for line := range strings.Lines(w.journal.String()) {
		if strings.HasPrefix(line, `{"audit":`) {
			printed = append(printed, line)
		}
	}
	number := func(line string) int {
		return decode[struct{ Audit struct{ N int } }](t, line).Audit.N
	}
	slices.SortFunc(printed, func(a, b string) int { return number(a) - number(b) }) // two that come at once may be printed in either order
	require.Equal(t, strings.Join(printed, ""), got.out)
	require.Greater(t, len(printed), 4)
	got = w.atShell("audit", "export", "by=anna")
	require.Equal(t, 1, strings.Count(got.out, "\n"))

	w.types("vic", "audit export")
	w.ephemeral("vic", "wafbot audit export account=acme")
}
