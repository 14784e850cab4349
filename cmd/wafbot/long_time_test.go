package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// expires is when the entry for a range ends; zero: there is none.
func (w *world) expires(subnet string) time.Time {
	w.t.Helper()
	for _, e := range w.entries("acme") {
		if e.Subnet == subnet {
			return time.Unix(e.ExpiredAt, 0)
		}
	}
	return time.Time{}
}

// A denial is extended while its source is still trying, by any live replica, and undone with all its extensions. What can't be extended is
// asked about, and ends on its card.
func TestWhatEndsWhileTheAttackGoesOn(t *testing.T) {
	prepare := func(w *world) { w.cfg.Policy.RenewWhileActive = time.Hour }
	story(t, prepare, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "deny "+attacker+" for=20s attack="+card.id())
		w.confirms("rob", "may hold longer than 20 s")
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.types("ann", "deny 198.51.100.96/28 for=16s attack="+card.id())
		w.confirms("ann", "may hold longer than 16 s")
		w.ephemeral("ann", "Deny 198.51.100.96/28 everywhere for 16 s: accepted")
		first := w.expires(attacker + "/32")
		w.stop()
		w.start()

		ask := w.message("#waf", "Deny 198.51.100.96/28 everywhere for 16 s ends at ", "and the attack goes on")
		require.Equal(t, card.ts, ask.ThreadTS)
		require.Contains(t, ask.Text, "<@U0ROB0002>", "who is on it")
		require.False(t, ask.Broadcast)
		w.until("renewed", func() bool { return w.expires(attacker + "/32").Equal(first.Add(20 * time.Second)) })
		w.until("the clock's line is printed", func() bool {
			return w.journal.has(`"via":"clock"`, "extend ", "it is still trying", `"outcome":"done"`)
		})
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		card.shows(first.Add(20 * time.Second))
		w.until("it has ended", func() bool { return w.expires("198.51.100.96/28").IsZero() })
		w.types("rob", "attack "+card.id())
		w.ephemeral("rob", "Deny 198.51.100.96/28", "ended")
		require.Len(t, card.replies("198.51.100.96/28", "the attack goes on"), 1)
		require.Empty(t, card.replies("Extend by"), "the card says until when")

		card.undo("rob", "Deny "+attacker)
		card.undone("Rob Diaz")
		require.Empty(t, w.entries("acme"))
		require.False(t, w.WAF.Denied("acme", attacker))
	})
}

// Who acted at a terminal can't be mentioned: the channel is asked.
func TestTheChannelIsAskedWhereNoOneCanBeMentioned(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		short := []string{"deny", "198.51.100.96/28", "for=24s", "attack=" + card.id(), "-y"}
		asked := w.atShell(short...)
		require.Equal(t, exitUsage, asked.code)
		require.Contains(t, asked.err, "may hold longer than 24 s. for=5m is the shortest that is certain\n")
		require.Contains(t, asked.err, "This is asked in spite of -y")
		denied := typedAtTerminal(t, w.shell("[]", record.Responder), "y\n", short...)
		require.Equal(t, exitDone, denied.code, denied.err)
		ask := w.message("#waf", "Deny 198.51.100.96/28 everywhere for 24 s ends at ", "and the attack goes on")
		require.Equal(t, card.ts, ask.ThreadTS)
		require.True(t, ask.Broadcast)
	})
}

// Slack is away when people are to be asked, and until it is over: they hear that it is.
func TestWhatEndedBeforeAnybodyCouldBeAsked(t *testing.T) {
	overOne(t, workspace.IngressHTTP, rough, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "deny 198.51.100.96/28 for=20s attack="+card.id())
		w.confirms("rob", "may hold longer than 20 s")
		card.says("Deny 198.51.100.96/28 · ", "Rob Diaz")
		// the reply about the denial comes after its card: not posted yet it would be tried before the question, again and again
		w.until("posted in the thread", func() bool { return len(card.replies("Deny 198.51.100.96/28")) == 1 })
		w.ephemeral("rob", "Deny 198.51.100.96/28", "accepted")
		w.Slack.SetFault(workspace.Fault{Kind: "500"})
		w.until("it can't be posted", func() bool { return w.journal.has("notify event", "kind=ending") })
		w.polls(24) // six seconds: it is over
		w.Slack.ClearFaults()
		notice := w.message("#waf", "Deny 198.51.100.96/28 everywhere for 20 s ended at ", "while the attack went on")
		require.Equal(t, card.ts, notice.ThreadTS)
		require.Contains(t, notice.Text, "<@U0ROB0002>", "who is on it")
		w.polls(4)
		require.Len(t, card.replies("while the attack went on"), 1)
	})
}

// overwrites is what a person does in the service's console.
func (w *world) overwrites(subnet, reason string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"clientid":%d,"force":true,"ip_rule":{"list":"black","rule_type":"ip_range","subnet":%q,"pools":[0],"expired_at":%d,"reason":%q}}`,
		w.cfg.Accounts[0].ClientID, subnet, time.Now().Add(time.Hour).Unix(), reason)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.cfg.Accounts[0].APIURL+"/v4/ip_rules", strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("X-ServiceApi-Token", w.cfg.Accounts[0].Token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	status, answer := w.do(r)
	require.Less(w.t, status, 300, answer)
}

func TestAWholeAttackIsUndone(t *testing.T) {
	overOne(t, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "contain attack="+card.id())
		w.ephemeral("rob", "Patch exactly", "accepted by the service")
		w.types("ann", "deny "+neighbour+" attack="+card.id())
		w.ephemeral("ann", "Deny "+neighbour, "accepted")
		w.overwrites(neighbour+"/32", "mine now")

		w.types("ann", "undo attack="+card.id())
		w.sees("ann", "Undo 3 changes, the newest first?", "Deny "+neighbour+" everywhere for 4 h · Anna Weber", "Patch exactly", "Deny "+attacker+" everywhere for 4 h · Rob Diaz")
		w.confirms("ann", "Undo 3 changes")
		w.ephemeral("ann", "the entry for "+neighbour+" is another author's now (mine now), left as it is", "Undo of: Patch exactly", "Undo of: Deny "+attacker)
		w.until("posted in the thread", func() bool { return len(card.replies("nothing of it was left")) == 1 })
		entries := w.entries("acme")
		require.Len(t, entries, 1)
		require.Equal(t, "mine now", entries[0].Reason)
		require.Empty(t, w.rules("acme", "vpatch"))
	})
}

// A mode returns after a restart, and where it can't that is said, once.
func TestATimedModeOverARestart(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		w.types("rob", "mode Shop block for=3s")
		w.confirms("rob", "Switch Shop to block for 3 s?", "incidents are registered only in monitoring")
		w.ephemeral("rob", "Switch Shop to block for 3 s", "accepted")
		w.stop()
		w.start()
		w.until("mode returns", func() bool { return len(w.modeRules()) == 1 && w.modeRules()[0] == "monitoring" })
		w.message("#waf", "Undo of: Switch Shop to block for 3 s", "wafbot")
		w.until("audited", func() bool { return w.journal.has(`"via":"clock"`, `"outcome":"done"`) })

		w.types("rob", "mode Shop block for=15s")
		w.confirms("rob", "Switch Shop to block for 15 s?")
		answer := w.ephemeral("rob", "Switch Shop to block for 15 s", "accepted")
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: createRule, Kind: "status:400"}))
		w.message("#waf", "@U0ROB0002", "OVERDUE on acme: Shop should return to monitoring", "NOT done", "refused it as invalid", "set the mode of Shop to monitoring")
		require.Equal(t, []string{"block"}, w.modeRules())
		w.stop()
		w.start()
		w.polls(2)
		require.Equal(t, 1, w.count("#waf", "OVERDUE"))
		w.WAF.ClearFaults()
		w.types("ann", "undo "+changeIn(answer.Plain()))
		w.message("#waf", "Done after all, due at", "Undo of: Switch Shop to block for 15 s", "Anna Weber")
		require.Equal(t, []string{"monitoring"}, w.modeRules())
		require.Zero(t, w.count("#waf", "WAF permission lost"))
	})
}
