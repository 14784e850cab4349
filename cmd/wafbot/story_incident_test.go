package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func sqlHole() *waf.VulnSpec {
	return &waf.VulnSpec{ID: 812, Title: "SQL injection in login", Threat: 90}
}

func TestAnAttackBecomesAnIncident(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		card := w.card("high attack", attacker)
		require.NoError(t, w.WAF.MakeIncident(attack, *sqlHole()))
		card.says("critical incident", "exploit", "vulnerability 812")
		w.until("a reply", func() bool { return len(card.replies("INCIDENT")) == 1 })
		require.True(t, card.replies("INCIDENT")[0].Broadcast, "the channel sees it")
		w.polls(3)
		require.Len(t, card.replies(), 1)
		require.Len(t, w.cards("#waf"), 1, "it keeps its card")
	})
}

func TestFirstStartAmongManyAttacks(t *testing.T) {
	const old, ongoing = 60, 20
	full := func(w *world) {
		w.cfg.Accounts[0].Routes = []config.Route{{Mention: "U0ANN0001"}}
		w.cfg.Accounts[0].Storm.Over = 100 // each has its card
		orderly(w)
		for i := range old {
			w.attack(waf.AttackSpec{
				Path: fmt.Sprintf("/old/%d", i), Vulnerability: &waf.VulnSpec{Title: "hole"}, Hits: 100,
				Started: waf.Duration(3 * time.Hour), Lasts: waf.Duration(time.Hour),
			})
		}
		for i := range ongoing {
			w.attack(waf.AttackSpec{Path: fmt.Sprintf("/now/%d", i), Hits: 100, Started: waf.Duration(time.Minute), Sources: []waf.SourceSpec{{IP: attacker, PerSecond: 0.5}}})
		}
	}
	story(t, full, func(t *testing.T, w *world) {
		messages := func() int { return len(w.shown("#waf")) }
		first := w.Slack.Messages("#waf")[0]
		require.True(t, says(first, "20 going on (cards follow, no one is mentioned)", "60 incidents"), first.Plain())
		w.until("all that goes on has a card", func() bool { return messages() >= 1+ongoing })
		w.polls(4)
		require.Len(t, w.cards("#waf", "/now/"), ongoing)
		require.Equal(t, 1+ongoing, messages(), "one message and one card each")
		for _, m := range w.cards("#waf") {
			require.False(t, says(m, "<@U0ANN0001>"), "what went on before mentions no user")
		}
		w.attack(waf.AttackSpec{Path: "/later", Hits: 100, Started: waf.Duration(time.Minute)})
		w.card("/later", "<@U0ANN0001>")
	})
}

func TestRoutesOfTheConfigurationFile(t *testing.T) {
	routed := func(w *world) {
		account := w.Accounts()[0]
		path := writeConfig(w.t, fmt.Sprintf(`
accounts:
  - name: acme
    api_url: %s
    token: %s
    channel: %s
    poll_interval: 250ms
    applications: {4: Shop, 7: Legacy}
    routes:
      - match: {kind: incident}
        channel: C0RANDOM3
        mention: U0ANN0001
      - match: {application: Legacy, type: [xss, sqli]}
        channel: C0WAF0002
        mention: S0ONCALL1
      - match: {kind: attack, min_hits: 500}
`, account.APIURL, account.Token, account.Channel))
		var environ []string
		for _, entry := range w.Env() {
			if !strings.HasPrefix(entry, "WAFBOT_API_") && !strings.HasPrefix(entry, "WAFBOT_CHANNEL") && !strings.HasPrefix(entry, "WAFBOT_REDIS") {
				environ = append(environ, entry)
			}
		}
		cfg, err := config.Load(path, append(environ, "WAFBOT_REDIS_URL="+w.redis.url))
		require.NoError(w.t, err)
		w.cfg = cfg
	}
	story(t, routed, func(t *testing.T, w *world) {
		w.attack(waf.AttackSpec{App: 4, Path: "/worked", Vulnerability: sqlHole(), Hits: 10, Started: waf.Duration(time.Minute)})
		w.attack(waf.AttackSpec{App: 7, Path: "/legacy", Hits: 10, Started: waf.Duration(time.Minute)})
		w.attack(waf.AttackSpec{App: 4, Path: "/few", Hits: 100, Started: waf.Duration(time.Minute)})
		w.attack(waf.AttackSpec{App: 4, Path: "/many", Hits: 600, Started: waf.Duration(time.Minute)})
		w.cardIn("#random", "/worked", "<@U0ANN0001>")
		w.cardIn("#waf-globex", "/legacy", "<!subteam^S0ONCALL1>")
		card := w.card("/many")
		require.False(t, says(card.now(), "<@"), "no user is mentioned here")
		w.polls(3)
		require.Len(t, w.cards("#waf"), 1)
		require.Len(t, w.cards("#random"), 1)
		require.Len(t, w.cards("#waf-globex"), 1)
	})
}
