package card

import (
	"fmt"
	"html"
	"maps"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// shapes are attacks of many shapes, and what people did about them, as far as a notification says it.
func shapes() map[string]drawing {
	cards := map[string]drawing{}
	attack := func(name string, change func(a *apiclient.Attack)) { cards[name] = attackCard(change) }
	card := func(name string, change func(c *drawing)) {
		c := incident()
		change(&c)
		cards[name] = c
	}
	for _, status := range []string{"blocked", "monitored", "Partially Blocked", "unknown", "", "shadow-banned", strings.Repeat("odd ", 30), "<!channel>"} {
		for kind, vuln := range map[string]string{"attack": "", "incident": "812"} {
			attack(fmt.Sprintf("status %.20q, %s", status, kind), func(a *apiclient.Attack) { a.BlockStatus, a.VulnID = status, vuln })
		}
	}
	for _, of := range []string{"xss", "rce", "ptrav", "scanner", "brute", "credential_stuffing", "bola", "api_abuse", "dirbust", "mass_assignment", "bot", "brand_new_type", "", "<!here> *x*", strings.Repeat("long_", 30)} {
		attack(fmt.Sprintf("type %.20q", of), func(a *apiclient.Attack) { a.Type = of })
		attack(fmt.Sprintf("type %.20q, many sources", of), func(a *apiclient.Attack) { bruteForce(a); a.Type = of })
	}
	wide := netip.MustParseAddr("2001:db8:1234:5678:9abc:def0:1234:5678")
	attack("no source", func(a *apiclient.Attack) { a.Sources, a.SourceCount = nil, known(0) })
	attack("sources unknown", func(a *apiclient.Attack) { a.Sources, a.SourceCount = nil, apiclient.Figure{} })
	attack("source unreadable", func(a *apiclient.Attack) { a.Sources[0].IP = netip.Addr{} })
	attack("one source", func(a *apiclient.Attack) { a.Sources, a.SourceCount, a.Hits = a.Sources[:1], known(1), known(1204) })
	attack("one hit", func(a *apiclient.Attack) {
		a.Sources, a.SourceCount, a.Hits = a.Sources[:1], known(1), known(1)
		a.Sources[0].Hits = known(1)
	})
	attack("IPv6", func(a *apiclient.Attack) { a.Sources[0].IP = wide })
	attack("IPv6, no country", func(a *apiclient.Attack) { a.Sources[0].IP, a.Sources[0].Country = wide, "" })
	attack("hostile country", func(a *apiclient.Attack) { a.Sources[0].Country = "<!channel>" })
	attack("own CDN on top", func(a *apiclient.Attack) { a.Sources[0].IP = netip.MustParseAddr("192.0.2.10") })
	card("likely a proxy", func(c *drawing) {
		c.Situation.Context.Sources = map[netip.Addr]record.SourceActivity{netip.MustParseAddr("203.0.113.7"): {Attacks: 13, Apps: 4, Types: 3, Hours: 7}}
	})
	attack("hits unknown", func(a *apiclient.Attack) { a.Hits = apiclient.Figure{} })
	attack("no hits", func(a *apiclient.Attack) { a.Hits = known(0) })
	attack("hits beyond measure", func(a *apiclient.Attack) { a.Hits, a.SourceCount = known(math.MaxInt64), known(math.MaxInt64) })
	attack("all unknown", func(a *apiclient.Attack) { *a = apiclient.Attack{ID: "x"} })
	for _, path := range []string{"/", "", "[multiple]", "/" + strings.Repeat("long/", 60), "/?q=<!channel>", "/*b* _i_ :skull: @here", "/ü/\u202egnp", "/a b\nc"} {
		attack(fmt.Sprintf("path %.20q", path), func(a *apiclient.Attack) { a.Path = path })
	}
	attack("no method", func(a *apiclient.Attack) { a.Method = "" })
	attack("odd method", func(a *apiclient.Attack) { a.Method = strings.Repeat("X", 400) })
	attack("default application", func(a *apiclient.Attack) { a.App = known(apiclient.DefaultApp) })
	attack("application unknown", func(a *apiclient.Attack) { a.App = apiclient.Figure{} })
	attack("application without a name", func(a *apiclient.Attack) { a.App = known(99) })
	card("everything long", func(c *drawing) {
		a := &c.Situation.Attack
		a.Sources[0].IP, a.Type, a.BlockStatus = wide, "mass_assignment_of_attributes_in_json", "Partially Blocked"
		c.Situation.Account.Applications = map[int]config.Application{4: {Name: "Customer portal of the northern region"}}
		c.Situation.Policy.Sources = named("pen test of the northern region", "2001:db8::/32")
		c.Triage.Owner, c.Late, c.Quiet = &record.Owner{ID: "U0MAX", Name: "Maximiliane von Hohenstaufen-Waiblingen"}, 3*time.Hour, true
	})
	for name, change := range map[string]func(c *drawing){
		"acknowledged": func(c *drawing) { c.Triage = annasTriage() }, "quiet": func(c *drawing) { c.Quiet = true }, "quiet, claimed": func(c *drawing) { c.Triage, c.Quiet = annasTriage(), true },
		"notified late": func(c *drawing) { c.Late = 4 * time.Minute },
		"dry-run":       func(c *drawing) { c.Situation.Policy.Changes = config.ChangesDryRun },
		"no changes":    func(c *drawing) { c.Situation.Policy.Changes = config.ChangesOff },
		"denied":        func(c *drawing) { c.Triage, c.Situation.Changes = annasTriage(), []record.Change{denied()} },
		"muted": func(c *drawing) {
			c.Situation.Attack.VulnID = ""
			c.Situation.Context.Mutes = []record.Mute{{ID: "m1234567a", Account: "acme", Type: "sqli", App: 4, Until: now.Add(time.Hour), By: anna()}}
		},
		"owner of odd name": func(c *drawing) { c.Triage.Owner = &record.Owner{ID: "U0ODD", Name: "<!channel> *x*"} },
	} {
		card(name, change)
	}
	return cards
}

func TestNotices(t *testing.T) {
	t.Parallel()
	cards := shapes()
	require.GreaterOrEqual(t, len(cards), 60)
	var notices strings.Builder
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		c := headed(cards[name])
		text := c.render().Text
		fmt.Fprintf(&notices, "%s\n    %s\n", name, text)
		requireHarmless(t, text)
		plain := strings.ReplaceAll(html.UnescapeString(text), "`", "")
		require.LessOrEqual(t, length(text), maxNotice, name)
		_, state := c.state()
		require.True(t, strings.HasPrefix(plain, state+", "+string(c.Headline.Severity)+" "), name)
		if top, ok := call.TopSource(c.Situation.Attack); ok && top.IP.IsValid() && !strings.Contains(plain, "top one") {
			require.Contains(t, plain, top.IP.String(), "%s: no address is cut", name)
		}
	}
	for _, reason := range []record.EventKind{record.BecameIncident, record.Worsened, record.Resumed} {
		for _, name := range []string{"acknowledged", "all unknown", "everything long", "path \"/long/long/long/long\"", "status \"<!channel>\", incident"} {
			text := Worse(cards[name].Situation.Account, record.Event{Kind: reason, Attack: &record.AttackState{Attack: cards[name].Situation.Attack}}, "").Text
			fmt.Fprintf(&notices, "%s: %s\n    %s\n", reason, name, text)
			requireHarmless(t, text)
			require.LessOrEqual(t, length(text), maxNotice)
		}
	}
	golden(t, filepath.Join("testdata", "notices.txt"), notices.String())
}

func TestAnAttackOfOneSourceThatGetsWorse(t *testing.T) {
	t.Parallel()
	a := injection()
	a.SourceCount = known(1)
	require.Contains(t, Worse(situation(a).Account, record.Event{Kind: record.Worsened, Attack: &record.AttackState{Attack: a}}, "").Text, "1,530 hits, 1 source. POST")
}

// What an older wafbot posted may mean something else by the same words.
func TestACardOfAnotherVersionIsNotRead(t *testing.T) {
	t.Parallel()
	payload := situations()["attack"].render().Metadata.EventPayload
	_, _, ok := ReadAttack("acme", payload)
	require.True(t, ok)
	payload["version"] = "1"
	_, _, ok = ReadAttack("acme", payload)
	require.False(t, ok)
}
