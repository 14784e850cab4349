package card

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
)

// theScanner is the source that is behind most of the storms of the tests.
var theScanner = netip.MustParseAddr("198.51.100.23")

// scanned is a storm that one source is behind, five minutes old. It still grows, and four of its attacks get through.
func scanned() drawing {
	s := record.Storm{
		Over: 10, In: time.Minute, EndsAfter: 10 * time.Minute, Began: now.Add(-5 * time.Minute), Exceeded: now.Add(-40 * time.Second), Before: 3,
		Grouped: 800, Ongoing: 797, Hits: 41_230, Severity: record.SeverityHigh,
		Status: map[apiclient.Status]int{apiclient.StatusBlocked: 796, apiclient.StatusNotBlocked: 4},
		Types:  map[string]int{"scanner": 612, "ptrav": 120, "sqli": 41, "xss": 20, "rce": 7}, Apps: map[int64]int{4: 800}, AppCount: 1,
		Sources: map[netip.Addr]int{theScanner: 787, netip.MustParseAddr("203.0.113.7"): 4, netip.MustParseAddr("2001:db8::7"): 2},
		Source:  theScanner, Country: "NL", SharedBy: 787,
		Through: map[apiclient.Status]int{apiclient.StatusNotBlocked: 4}, UnblockedCount: 4, LastThrough: now.Add(-20 * time.Second),
		Behind: []record.StormSource{
			{Source: apiclient.Source{IP: theScanner, Hits: known(80), Country: "NL"}, In: 1, InAll: 787},
			{Source: apiclient.Source{IP: netip.MustParseAddr("203.0.113.7"), Hits: known(74), Country: "FR"}, In: 3, InAll: 4},
		},
	}
	for i := range 4 {
		a := injection()
		a.ID, a.Path, a.Hits = fmt.Sprint("through ", i), fmt.Sprintf("/login/%d", i), known(int64(40-i))
		s.Unblocked = append(s.Unblocked, a)
	}
	a := apiclient.Attack{
		ID: "storm:C0WAF:1795000000", App: known(4), Domain: "shop.example.com", Path: "[multiple]", First: now.Add(-6 * time.Minute), Last: now.Add(-20 * time.Second),
		Hits: known(41_230), SourceCount: known(13), BlockStatus: "monitored",
		Sources: []apiclient.Source{{IP: theScanner, Hits: known(40_100), Country: "NL"}, {IP: netip.MustParseAddr("203.0.113.7"), Hits: known(154), Country: "FR"}},
	}
	c := incident().of(a)
	c.Situation.Storm = &s
	return c
}

// stormCard is a card of that storm, but for what is changed.
func stormCard(change func(c *drawing, s *record.Storm)) drawing {
	c := scanned()
	change(&c, c.Situation.Storm)
	return c
}

// manySources makes it a storm of many sources.
func manySources(c *drawing, s *record.Storm) {
	s.Source, s.Country, s.SharedBy, s.UnblockedCount, s.Steady = netip.Addr{}, "", 0, 670, record.SteadyPolls
	s.Behind = []record.StormSource{{Source: apiclient.Source{IP: theScanner, Hits: known(90), Country: "NL"}, In: 3, InAll: 3}}
	s.Sources = map[netip.Addr]int{theScanner: 3, netip.MustParseAddr("203.0.113.7"): 2}
	s.Status = map[apiclient.Status]int{apiclient.StatusBlocked: 100, apiclient.StatusNotBlocked: 650, apiclient.StatusPartly: 20, apiclient.StatusUnknown: 30}
	s.Through = map[apiclient.Status]int{apiclient.StatusNotBlocked: 650, apiclient.StatusPartly: 20}
	c.Situation.Attack.SourceCount = known(790)
}

// storms are the cards of the golden files that are about storms.
func storms() map[string]drawing {
	return map[string]drawing{
		"storm":           scanned(),
		"storm-no-source": stormCard(manySources),
		"storm-one-path":  stormCard(onePath),
		"storm-several-apps": stormCard(func(c *drawing, s *record.Storm) {
			c.Situation.Account.Applications[7] = config.Application{Name: "Legacy", CanBlock: new(bool)}
			s.Apps, c.Situation.Attack.App, c.Situation.Attack.Domain, s.AppCount = map[int64]int{4: 500, 7: 280, apiclient.DefaultApp: 20}, apiclient.Figure{}, "", 3
			s.Incidents = 2
		}),
		"storm-all-blocked": stormCard(blockedStorm),
		"storm-partly-blocked": stormCard(func(_ *drawing, s *record.Storm) {
			s.Status, s.Through = map[apiclient.Status]int{apiclient.StatusBlocked: 796, apiclient.StatusPartly: 4}, map[apiclient.Status]int{apiclient.StatusPartly: 4}
		}),
		"storm-status-unknown": stormCard(func(_ *drawing, s *record.Storm) {
			s.Status, s.Through = map[apiclient.Status]int{apiclient.StatusBlocked: 770, apiclient.StatusUnknown: 30}, map[apiclient.Status]int{apiclient.StatusUnknown: 30}
			s.UnblockedCount = 30
		}),
		"storm-nothing-through": stormCard(func(_ *drawing, s *record.Storm) {
			s.Through, s.Unblocked, s.UnblockedCount, s.Behind, s.LastThrough, s.Steady = nil, nil, 0, nil, now.Add(-6*time.Minute), record.SteadyPolls
			s.Began = now.Add(-20 * time.Minute)
		}),
		"storm-unreachable": stormCard(func(c *drawing, _ *record.Storm) {
			c.Outage = record.Outage{From: now.Add(-4 * time.Minute), Why: "the service can't be reached"}
		}),
		"storm-one-through": stormCard(func(_ *drawing, s *record.Storm) {
			s.Through, s.Unblocked, s.UnblockedCount, s.Steady = map[apiclient.Status]int{apiclient.StatusNotBlocked: 1}, s.Unblocked[:1], 1, record.SteadyPolls
			s.Behind = []record.StormSource{{Source: apiclient.Source{IP: netip.MustParseAddr("2001:db8:1:2:3:4:5:6789"), Hits: known(40)}, In: 1, InAll: 1}}
		}),
		"storm-false-positives": stormCard(func(_ *drawing, s *record.Storm) {
			s.Status[apiclient.StatusBlocked] -= 2
			s.Types["scanner"] -= 2
			s.FalsePositives = 2
		}),
		"storm-all-false-positives": stormCard(func(c *drawing, s *record.Storm) {
			manySources(c, s)
			s.Status, s.Types, s.Sources, s.Through, s.Ongoing, s.Hits, s.Unblocked, s.UnblockedCount, s.Behind, s.FalsePositives = nil, nil, nil, nil, 0, 0, nil, 0, nil, 800
			a := &c.Situation.Attack
			c.Quiet, a.BlockStatus, a.Hits, a.Sources, a.SourceCount, a.Last = true, "", apiclient.Figure{}, nil, known(0), time.Time{}
		}),
		"storm-denied": stormCard(func(c *drawing, s *record.Storm) {
			s.Ongoing, s.StillTrying, c.Situation.Attack.SourceCount = 13, 784, apiclient.Figure{}
			ch := denied()
			entry := *ch.Steps[0].Entry
			entry.Subnet, ch.Steps[0].Entry = netip.PrefixFrom(theScanner, 32), &entry
			ch.Line.Words, ch.Does, ch.AttackID = []string{theScanner.String()}, "Deny 198.51.100.23 everywhere for 4 h", c.Situation.ID
			c.Situation.Changes, c.Triage = []record.Change{ch}, annasTriage()
		}),
		"storm-acknowledged": stormCard(func(c *drawing, s *record.Storm) {
			c.Triage, s.OwnCards, s.Unblocked, s.UnblockedCount = annasTriage(), 4, nil, 0
		}),
		"storm-over": stormCard(func(_ *drawing, s *record.Storm) {
			s.Began, s.Exceeded, s.Ended, s.Ongoing, s.Incidents = now.Add(-25*time.Minute), now.Add(-12*time.Minute), now.Add(-2*time.Minute), 796, 1
		}),
		"storm-quiet": stormCard(func(c *drawing, s *record.Storm) {
			s.Began, s.Exceeded, s.Ended, s.Ongoing = now.Add(-45*time.Minute), now.Add(-32*time.Minute), now.Add(-22*time.Minute), 0
			s.Through, s.Unblocked, s.UnblockedCount, s.Behind = nil, nil, 0, nil
			c.Quiet, c.Situation.Attack.Last = true, now.Add(-21*time.Minute)
		}),
		"storm-caught-up":   stormCard(func(_ *drawing, s *record.Storm) { s.CaughtUp, s.Before = true, 0 }),
		"storm-dry-run":     stormCard(func(c *drawing, _ *record.Storm) { c.Situation.Policy.Changes = config.ChangesDryRun }),
		"storm-changes-off": stormCard(func(c *drawing, _ *record.Storm) { c.Situation.Policy.Changes = config.ChangesOff }),
		"storm-own-cdn": stormCard(func(c *drawing, _ *record.Storm) {
			c.Situation.Policy.Sources = named("our CDN", "198.51.100.0/24")
		}),
		"storm-own-cdn-denied": stormCard(func(c *drawing, _ *record.Storm) {
			c.Situation.Policy.Sources = named("our CDN", "198.51.100.0/24")
			c.Situation.Entries = append(c.Situation.Entries, shutOut("198.51.100.0/24"))
		}),
		"storm-likely-shared": stormCard(func(c *drawing, _ *record.Storm) {
			c.Situation.Context.Sources = map[netip.Addr]record.SourceActivity{theScanner: {Attacks: 790, Apps: 5, Types: 3, Hours: 7}}
		}),
		"storm-100000":  stormCard(huge),
		"storm-hostile": hostileStorm("*b* _i_ ~s~ `c` <!channel> <@U0ANN> <http://evil|x> @here :skull: \n> q &amp; \u202egnp.exe\xff"),
	}
}

// blockedStorm makes it a storm of which nothing gets through.
func blockedStorm(c *drawing, s *record.Storm) {
	s.Status, s.Through, s.Unblocked, s.UnblockedCount, s.Behind, s.Before = map[apiclient.Status]int{apiclient.StatusBlocked: 800}, nil, nil, 0, nil, 0
	s.LastThrough, s.Severity, c.Situation.Attack.BlockStatus = time.Time{}, record.SeverityLow, "blocked"
}

// onePath makes it a storm on one path, of the type that can be patched there.
func onePath(c *drawing, s *record.Storm) {
	manySources(c, s)
	s.Place, s.SharedBy = "POST shop.example.com/login", 620
	s.Types = map[string]int{"sqli": 800}
	c.Situation.Attack.Type = "sqli"
}

func huge(_ *drawing, s *record.Storm) {
	s.Grouped, s.Ongoing, s.Hits, s.SharedBy, s.Before, s.OwnCards, s.Incidents = 100_000, 99_998, 123_456_789, 99_123, 10, 40, 12
	s.Through = map[apiclient.Status]int{apiclient.StatusNotBlocked: 800, apiclient.StatusPartly: 70}
	s.Status = map[apiclient.Status]int{apiclient.StatusBlocked: 99_123, apiclient.StatusNotBlocked: 800, apiclient.StatusPartly: 70, apiclient.StatusUnknown: 7}
	s.Types, s.Apps, s.Sources, s.UnblockedCount = map[string]int{}, map[int64]int{}, map[netip.Addr]int{theScanner: 99_123}, 830
	for i := range 30 {
		s.Types[fmt.Sprint("type_", i)], s.Apps[int64(i)], s.Sources[netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})] = 3000, 3000, i+1
	}
	s.AppCount = 30
	for len(s.Unblocked) < 20 {
		s.Unblocked = append(s.Unblocked, s.Unblocked[len(s.Unblocked)%4])
	}
}

// hostileStorm is a storm of which everything that an attacker or another user can write is the text.
func hostileStorm(text string) drawing {
	c := hostile(text)
	s := *scanned().Situation.Storm
	for i := range s.Unblocked {
		s.Unblocked[i] = c.Situation.Attack
	}
	s.Behind[0].Country = text
	s.Types, s.Country, s.Apps = map[string]int{text: 700, "x" + text: 100}, text, map[int64]int{4: 700, 5: 100}
	c.Situation.Storm, c.Situation.Attack.VulnID = &s, ""
	return c
}

func TestStormCardStaysWithinLimits(t *testing.T) {
	t.Parallel()
	for _, text := range full.Some(1, []string{strings.Repeat("a", 100_000), strings.Repeat("&", 100_000), strings.Repeat("`", 100_000), strings.Repeat("\u202e<!channel>", 9_000), strings.Repeat("\xff", 100_000)}) {
		for _, place := range []string{"", "POST " + text} {
			c := hostileStorm(text)
			huge(&c, c.Situation.Storm)
			if place != "" {
				c.Situation.Storm.Source, c.Situation.Storm.Place = netip.Addr{}, place
			}
			c.Situation.Changes = append(c.Situation.Changes, manyChanges(full.Of(100, 2_000))...)
			msg := headed(c).render()
			requireFits(t, msg)
			shown := strings.Join(markupOf(t, msg.Blocks), "\n")
			require.Contains(t, shown, "and 826 more", "what is left out is said")
		}
	}
}

// A person reads a storm's card in five seconds. Its rows are measured in a browser with those of all cards.
func TestAStormsCardHasNoPrimaryButton(t *testing.T) {
	t.Parallel()
	for name, c := range storms() {
		for _, b := range buttonsOf(headed(c).render().Blocks) {
			require.Empty(t, b.Style, "%s: none promises to help: %s", name, b.Text.Text)
		}
	}
}

// What a storm's buttons do is what a person could have typed.
func TestStormButtonsCarryTheirLines(t *testing.T) {
	t.Parallel()
	c := scanned()
	lines := map[string]string{}
	for _, b := range buttonsOf(headed(c).render().Blocks) {
		lines[b.Text.Text] = b.Value
	}
	id := c.Situation.ID
	require.Equal(t, "s", id[:1])
	require.Equal(t, map[string]string{
		"List the 4": "attacks account=acme storm=" + id, "Acknowledge": "ack account=acme attack=" + id,
		"Deny 198.51.100.23": "deny 198.51.100.23 account=acme attack=" + id + " for=4h", "More…": "attack " + id + " account=acme",
	}, lines)
	for _, never := range []string{"patch", "contain", "mode"} {
		for label, line := range lines {
			require.False(t, strings.HasPrefix(line, never+" "), "%s makes no sense for a storm: %s", never, label)
		}
	}
}

// The reply under a storm's card says what got worse in a storm's words.
func TestAStormGotWorse(t *testing.T) {
	t.Parallel()
	c := scanned()
	s := *c.Situation.Storm
	n := record.Event{Account: "acme", Kind: record.Worsened, At: now, Attack: &record.AttackState{Attack: c.Situation.Attack, Storm: &s}}
	msg := Worse(c.Situation.Account, n, "U0ONCALL")
	requireFits(t, msg)
	golden(t, "testdata/card/storm-worse.json", pretty(t, msg))
	require.Equal(t, "storm", msg.Metadata.EventPayload["kind"])
}

// shutOut is an entry by which a user denies a range.
func shutOut(of string) apiclient.IPRule {
	return apiclient.IPRule{
		ID: 4711, List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix(of), Apps: []int{apiclient.AllApps},
		Expires: now.Add(8 * time.Hour), Reason: "Kim Park: attacks from here all morning",
	}
}

// ownDenied has a user deny the own CDN.
func ownDenied(c *drawing) {
	c.Situation.Entries = append(c.Situation.Entries, shutOut("192.0.2.0/24"))
	c.Situation.Others = efficacy.Others(c.Situation, 0)
}

// Customers who are shut out matter more than the attack: it is the first thing on the card, with the first button.
func TestWhatIsOwnAndDeniedStandsFirst(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"own-cdn-denied", "storm-own-cdn-denied"} {
		cards := situations()
		maps.Copy(cards, storms())
		m := cards[name].render()
		require.Contains(t, m.Blocks[0].(*slack.SectionBlock).Text.Text, "*our CDN IS DENIED* until", name)
		require.Equal(t, "End deny of our CDN", labelsOf(m)[0], name)
		require.Equal(t, "remove 4711 account=acme attack="+cards[name].Situation.ID, buttonsOf(m.Blocks)[0].Value, name)
		require.NotContains(t, m.plain("/waf"), "never denies it", name)
	}
	off := situations()["own-cdn-denied"]
	off.Situation.Policy.Changes = config.ChangesOff
	require.NotContains(t, labelsOf(off.render()), "End deny of our CDN")
	require.Contains(t, off.render().plain("/waf"), "in the service's console")
}

func labelsOf(m Message) (all []string) {
	for _, b := range buttonsOf(m.Blocks) {
		all = append(all, b.Text.Text)
	}
	return all
}
