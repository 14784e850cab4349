package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

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
