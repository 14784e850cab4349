package card

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

var update = flag.Bool("update", false, "write golden files again")

// now is when the cards of the tests are drawn.
var now = time.Date(2026, 11, 21, 3, 5, 10, 0, time.UTC)

func known(n int64) apiclient.Figure { return apiclient.Known(n) }

func injection() apiclient.Attack {
	return apiclient.Attack{
		ID: "attacks_production_5_202611_v_1:aZ_1", App: known(4), Domain: "shop.example.com", Path: "/login", Method: "POST",
		Parameter: "POST_FORM_URLENCODED_login_value", Type: "sqli", First: now.Add(-7 * time.Minute), Last: now.Add(-20 * time.Second),
		Hits: known(1530), SourceCount: known(14), Payloads: known(43), Threat: known(90), BlockStatus: "monitored", StatusCodes: []int{200, 500},
		Sources: []apiclient.Source{
			{IP: netip.MustParseAddr("203.0.113.7"), Hits: known(1204), Country: "FR"},
			{IP: netip.MustParseAddr("198.51.100.4"), Hits: known(101), Country: "NL"},
		},
	}
}

// live is a policy under which changes are made and no denial is renewed.
func live() policy.Policy {
	p := policy.Policy{Policy: config.Default[config.Policy]()}
	p.Changes, p.RenewWhileActive = config.ChangesOn, 0
	return p
}

func situation(a apiclient.Attack) call.Situation {
	account := &config.Account{Name: "acme", Applications: map[int]config.Application{4: {Name: "Shop"}}}
	guards := live()
	guards.Sources = named("our CDN", "192.0.2.0/24")
	return call.Situation{
		Account: account, Policy: guards, ID: record.AttackID("acme", a.ID), Attack: a, ListsReadAt: now.Add(-30 * time.Second), Now: now,
		Rules: []apiclient.Rule{{ID: 1, Type: apiclient.RuleMode, Mode: apiclient.ModeMonitoring, Conditions: []apiclient.Condition{
			{Type: "equal", Value: "4", Point: apiclient.Part{"instance"}},
		}}},
	}
}

func incident() drawing {
	a := injection()
	a.VulnID = "812"
	s := situation(a)
	s.FiguresAt, s.Account.ConsoleURL = now.Add(-10*time.Second), "https://console.example.com/attacks"
	s.Runbook, s.Mention, s.Delivery = "https://wiki.example.com/sqli", "S0ONCALL", "0123456789abcdef0123456789abcdef"
	return drawing{Situation: s}
}

// of is the card with another attack.
func (c drawing) of(a apiclient.Attack) drawing {
	c.ID, c.Attack = record.AttackID("acme", a.ID), a
	return c
}

func attackCard(change func(a *apiclient.Attack)) drawing {
	a := injection()
	change(&a)
	return incident().of(a)
}

func anna() record.Actor {
	return record.Actor{ID: "U0ANN", Name: "Anna Weber", Via: record.ViaButton}
}

func denied() record.Change {
	e := apiclient.IPRule{List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.7/32"), Apps: []int{apiclient.AllApps}, Expires: now.Add(4 * time.Hour), ID: 101}
	return record.Change{
		Steps: []record.Step{{Kind: record.AddEntry, Entry: &e, Sent: true, Done: true, ID: 101}},
		ID:    "c7k2m9xw4", Account: "acme", Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}}, Does: "Deny 203.0.113.7 everywhere for 4 h",
		When: "in about 1 min", Actor: anna(), At: now.Add(-2 * time.Minute), Until: now.Add(4 * time.Hour), State: record.StateDone,
	}
}

// patchRule is the rule of a patch that fits an attack.
func patchRule(a apiclient.Attack) *apiclient.Rule {
	spec, _ := change.PatchFor(a)
	rule, err := spec.Rule()
	if err != nil {
		panic(err)
	}
	rule.ID = 77
	return &rule
}

func patched() record.Change {
	return record.Change{
		ID: "c4p8t2rz1", Account: "acme", Line: record.Line{Name: "patch"}, When: "in minutes to 1 h", Actor: anna(), At: now.Add(-time.Minute),
		Does:  "Patch exactly POST shop.example.com/login, field login, SQL injection only for 7 days",
		Until: now.Add(7 * 24 * time.Hour), State: record.StateDone,
		Steps: []record.Step{{Kind: record.CreateRule, Rule: patchRule(injection()), Sent: true, Done: true, ID: 77}},
	}
}

// situations are the cards of the golden files.
func situations() map[string]drawing {
	cards := map[string]drawing{
		"incident":    incident(),
		"attack":      attackCard(func(*apiclient.Attack) {}),
		"blocked":     attackCard(func(a *apiclient.Attack) { a.BlockStatus = "blocked" }),
		"default-app": attackCard(func(a *apiclient.Attack) { a.App = known(apiclient.DefaultApp) }),
		"unknown": attackCard(func(a *apiclient.Attack) {
			*a = apiclient.Attack{ID: "x", Sources: a.Sources[:1]}
			a.Sources[0].Hits = apiclient.Figure{}
		}),
		"own-cdn-on-top": attackCard(func(a *apiclient.Attack) { a.Sources[0].IP = netip.MustParseAddr("192.0.2.10") }),
		"brute-force":    attackCard(bruteForce),
		"quiet":          incident(),
		"hostile":        hostile("*b* _i_ ~s~ `c` <!channel> <@U0ANN> <http://evil|x> @here :skull: \n> q &amp; \u202egnp.exe\xff"),
	}
	maps.Copy(cards, effectCards())
	cards["nothing"] = drawing{}
	edit := func(name, from string, change func(c *drawing)) {
		c := cards[from]
		change(&c)
		cards[name] = c
	}
	edit("unknown", "unknown", func(c *drawing) { c.FiguresAt, c.Situation.ListsReadAt, c.Mention = time.Time{}, time.Time{}, "" })
	edit("brute-force-paged", "brute-force", func(c *drawing) { c.Pager = call.PagerState{At: c.Situation.Now.Add(4 * time.Minute)} })
	edit("quiet", "quiet", func(c *drawing) {
		a := &c.Situation.Attack
		c.Quiet, a.First, a.Last, c.Course = true, now.Add(-50*time.Minute), now.Add(-21*time.Minute), hitsOver(now.Add(-50*time.Minute), 0, 40, 200, 700, 1500, 1530, 1530)
	})
	edit("course", "incident", func(c *drawing) {
		c.Triage, c.Situation.Changes = annasTriage(), []record.Change{denied(), patched()}
		c.Course = hitsOver(now.Add(-6*time.Minute), 0, 60, 300, 900, 1480, 1530)
	})
	edit("course-and-ends", "course", func(c *drawing) {
		ended, undone := denied(), patched()
		ended.At, ended.Until = now.Add(-4*time.Minute), now.Add(-time.Minute)
		undone.At, undone.State, undone.EndedAt = now.Add(-3*time.Minute), record.StateUndone, now.Add(-30*time.Second)
		c.Situation.Changes = []record.Change{ended, undone}
	})
	edit("unreachable", "course", func(c *drawing) {
		c.FiguresAt, c.Outage = now.Add(-6*time.Minute), record.Outage{From: now.Add(-5 * time.Minute), Why: "the service refuses the token"}
		c.Course, c.Situation.Attack.First, c.Situation.Attack.Last = hitsOver(now.Add(-11*time.Minute), 0, 60, 300, 900, 1530), now.Add(-11*time.Minute), now.Add(-7*time.Minute)
	})
	edit("drawn-late", "course", func(c *drawing) { c.StaleFor = 3*time.Minute + 20*time.Second })
	edit("redrawn-rarely", "course", func(c *drawing) { c.Rare, c.StaleFor = true, 34*time.Minute })
	edit("posted-late", "attack", func(c *drawing) { c.Late = 4*time.Minute + 20*time.Second })
	edit("quiet-hours", "attack", func(c *drawing) { c.Mention, c.QuietHours = "", true })
	edit("reposted", "incident", func(c *drawing) { c.Reposted = true })
	edit("reposted-uneditable", "incident", func(c *drawing) { c.Reposted, c.Uneditable = true, true })
	edit("own-cdn-denied", "own-cdn-on-top", ownDenied)
	edit("dry-run", "incident", func(c *drawing) { c.Situation.Policy.Changes = config.ChangesDryRun })
	edit("changes-off", "incident", func(c *drawing) { c.Situation.Policy.Changes = config.ChangesOff })
	edit("allowlisted", "incident", func(c *drawing) {
		c.Situation.Entries = []apiclient.IPRule{{ID: 3, List: apiclient.ListAllow, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.0/24"),
			Apps: []int{apiclient.AllApps}, Reason: "partner *x*", Expires: now.Add(time.Hour)}}
	})
	edit("shared-and-locked", "incident", func(c *drawing) {
		c.Situation.Context = record.AccountContext{RulesLockedAt: now.Add(-time.Minute), Sources: map[netip.Addr]record.SourceActivity{
			netip.MustParseAddr("203.0.113.7"): {Attacks: 13, Apps: 4, Types: 3, Hours: 7}, netip.MustParseAddr("198.51.100.4"): {Attacks: 2, Apps: 1},
		}}
	})
	edit("protected", "incident", func(c *drawing) {
		c.Situation.Policy = c.Situation.Policy.With([]record.Protected{{Range: netip.MustParsePrefix("203.0.113.0/24"), Name: "branch office", By: anna()}})
	})
	edit("only-watches", "attack", func(c *drawing) {
		c.Situation.Account = &config.Account{Name: "acme", ConsoleURL: c.Account.ConsoleURL, Applications: map[int]config.Application{4: {Name: "Legacy", CanBlock: new(bool)}}}
	})
	edit("denied-and-patched", "incident", func(c *drawing) {
		c.Triage, c.Situation.Changes = annasTriage(), []record.Change{denied(), patched()}
	})
	edit("changes-of-every-state", "incident", func(c *drawing) { c.Triage, c.Situation.Changes = annasTriage(), everyState() })
	edit("being-verified", "denied-and-patched", inDoubt)
	edit("noted", "incident", func(c *drawing) {
		c.Triage = annasTriage()
		c.Triage.Verdict = &record.Verdict{Is: "false_positive", By: anna(), At: now.Add(-time.Minute)}
		c.Triage.Notes = noted("first", "second", "the *third* of <!channel>", strings.Repeat("long ", 100))
	})
	edit("pages-later", "incident", func(c *drawing) { c.Pager.At = now.Add(2 * time.Minute) })
	edit("paged", "incident", func(c *drawing) { c.Pager.PagedAt = now.Add(-time.Minute) })
	edit("not-paged", "incident", func(c *drawing) { c.Pager.Fault = "it answers with status 503 <!channel>" })
	edit("muted", "attack", func(c *drawing) {
		c.Situation.Context.Mutes = []record.Mute{{ID: "m1234567a", Account: "acme", Type: "sqli", App: 4, Until: now.Add(time.Hour), By: anna()}}
	})
	edit("false-positive", "denied-and-patched", func(c *drawing) { c.Situation.Attack.State = "falsepositive" })
	edit("many-changes", "changes-of-every-state", func(c *drawing) { c.Situation.Changes = append(c.Situation.Changes, manyChanges(10)...) })
	maps.Copy(cards, storms())
	maps.Copy(cards, stateCards())
	for name, c := range cards {
		cards[name] = headed(c)
	}
	return cards
}

// headed is a card whose changes are for its attack, with the headline that follows from what it shows, unless it has
// one.
func headed(c drawing) drawing {
	s := &c.Situation
	for i := range s.Changes {
		s.Changes[i].AttackID = s.ID
	}
	if s.Changes != nil {
		s.AccountChanges = append(slices.Clone(s.Changes), s.AccountChanges...)
	}
	if c.Headline.State == "" {
		c.Headline = efficacy.Headline(c.Situation)
	}
	return c
}

// hitsOver is a course that has a point a minute.
func hitsOver(begin time.Time, hits ...int64) []record.HitPoint {
	var course []record.HitPoint
	for i, n := range hits {
		course = append(course, record.HitPoint{At: begin.Add(time.Duration(i) * time.Minute).Unix(), Hits: n})
	}
	return course
}

// annasTriage is what is said when Anna is on it.
func annasTriage() record.Triage {
	return record.Triage{Owner: &record.Owner{ID: "U0ANN", Name: "Anna Weber", Since: now.Add(-2 * time.Minute), By: anna()}}
}

func noted(texts ...string) []record.Note {
	var notes []record.Note
	for i, text := range texts {
		notes = append(notes, record.Note{ID: fmt.Sprintf("n%d", i), By: anna(), At: now.Add(time.Duration(i-10) * time.Minute), Text: text})
	}
	return notes
}

func hostileTriage(text string) record.Triage {
	by := record.Actor{ID: text, Name: text}
	return record.Triage{
		Owner: &record.Owner{ID: text, Name: text, Since: now, By: by}, Verdict: &record.Verdict{Is: text, By: by, At: now},
		Notes: []record.Note{{ID: text, By: by, At: now, Text: text}, {By: by, At: now, Text: text}, {By: by, At: now, Text: text}},
	}
}

func bruteForce(a *apiclient.Attack) {
	a.Type, a.Parameter, a.Hits, a.SourceCount = "credential_stuffing", "", known(40120), known(4012)
}

// everyState is a change in each state, and one whose time is over.
func everyState() []record.Change {
	var all []record.Change
	for i, state := range []record.State{record.StateBegun, record.StateFailed, record.StateHalf, record.StateUndone, record.StateDone} {
		ch := denied()
		ch.ID, ch.Effect, ch.State, ch.At = fmt.Sprintf("cstate%03d", i), fmt.Sprint("deny ", i), state, now.Add(time.Duration(i-30)*time.Minute)
		if state == record.StateFailed || state == record.StateHalf {
			ch.Fault = "the service refused it (403)"
		}
		if state == record.StateUndone {
			by := record.Actor{Name: "Rob Diaz"}
			ch.EndedBy, ch.EndedAt = &by, now.Add(-time.Minute)
		}
		all = append(all, ch)
	}
	all[4].Until = now.Add(-time.Minute)
	return all
}

// inDoubt gives the card three changes with an unknown outcome: a patch that was just sent, a denial that wafbot no
// longer verifies, and one whose undo was sent.
func inDoubt(c *drawing) {
	patch, unknown, denial := patched(), denying("198.51.100.4"), denying("203.0.113.7")
	patch.State, patch.Steps[0].Done, patch.Steps[0].SentAt = record.StateBegun, false, now.Add(-20*time.Second)
	unknown.ID, unknown.State, unknown.Does, unknown.Fault = "cunknown1", record.StateBegun, "Deny 198.51.100.4 everywhere for 4 h", "the service does not answer"
	unknown.Steps[0].Done, unknown.Steps[0].SentAt = false, now.Add(-2*time.Minute)
	undo := record.Change{ID: "cundo0001", Undoes: denial.ID, State: record.StateBegun}
	undo.Steps = []record.Step{{Kind: record.DeleteEntry, Entry: denial.Steps[0].Entry, Sent: true, SentAt: now.Add(-5 * time.Second)}}
	s := &c.Situation
	s.Changes, s.AccountChanges, s.Entries = []record.Change{denial, unknown, patch}, []record.Change{undo}, []apiclient.IPRule{*denial.Steps[0].Entry}
}

func manyChanges(n int) []record.Change {
	var all []record.Change
	for i := range n {
		ch := denied()
		ch.ID, ch.At = fmt.Sprintf("cforce%03d", i), now.Add(time.Duration(i-20)*time.Minute)
		all = append(all, ch)
	}
	return all
}

// hostile is a card on which everything that an attacker or another user can write is the text.
func hostile(text string) drawing {
	a := injection()
	a.VulnID = text
	a.ID, a.Domain, a.Path, a.Method, a.Parameter, a.Type, a.BlockStatus = text, text, text, text, text, text, text
	a.Sources[0].Country, a.Sources[1].Country, a.Sources[1].IP = text, text, a.Sources[1].IP.Unmap()
	c := incident().of(a)
	c.FiguresAt, c.Runbook, c.Mention, c.Delivery, c.Triage = now, "https://wiki.example.com/"+text, text, text, hostileTriage(text)
	c.Account.ConsoleURL = "https://console.example.com/?" + text
	s := &c.Situation
	s.ID, s.Account.Name, s.Account.Applications = text, text, map[int]config.Application{4: {Name: text}}
	s.Policy.Sources = named(text, "198.51.100.0/24")
	s.Rules[0].Mode = text
	s.Entries = []apiclient.IPRule{{List: apiclient.ListAllow, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.7/32"), Apps: []int{0}, Reason: text, Author: text}}
	for _, state := range []record.State{record.StateDone, record.StateFailed, record.StateUndone} {
		s.Changes = append(s.Changes, record.Change{
			ID: text, Account: text, Does: text, When: text, Fault: text, Reason: text, Actor: record.Actor{ID: text, Name: text}, At: now, State: state,
		})
	}
	return c
}

func TestRenderGolden(t *testing.T) {
	t.Parallel()
	messages := map[string]Message{}
	var read strings.Builder
	cards := situations()
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		messages[name] = cards[name].render()
		fmt.Fprintf(&read, "--- %s\n%s\n", name, seenAs(messages[name]))
	}
	golden(t, filepath.Join("testdata", "cards.txt"), read.String())
	golden(t, filepath.Join("testdata", "notifications.txt"), goldenMessages(t, "card", messages))
}

// goldenMessages compares messages with the golden files of a folder, and returns their notifications.
func goldenMessages(t *testing.T, folder string, messages map[string]Message) string {
	t.Helper()
	var notices strings.Builder
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		msg := messages[name]
		requireFits(t, msg)
		fmt.Fprintf(&notices, "%s: %s\n", name, msg.Text)
		golden(t, filepath.Join("testdata", folder, name+".json"), pretty(t, msg))
	}
	return notices.String()
}

func pretty(t *testing.T, msg Message) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(map[string]any{"text": msg.Text, "blocks": msg.Blocks, "metadata": msg.Metadata}))
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s (go test -update writes it again)", file)
}

// named is a policy's source of one range.
func named(name, ranges string) func() []config.Source {
	return func() []config.Source {
		return []config.Source{{Name: name, Ranges: []netip.Prefix{netip.MustParsePrefix(ranges)}, Cards: true}}
	}
}
