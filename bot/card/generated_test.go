package card

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// generated is a card of a situation that may occur, with names as long as they may be.
func generated(t *rapid.T) drawing {
	long := rapid.SampledFrom([]string{"", "a", "Shop", "<!channel> *x*", strings.Repeat("very-long/", 12), strings.Repeat("日本", 60)})
	maybe := func(what string) bool { return rapid.Bool().Draw(t, what) }
	rarely := func(what string) bool { return rapid.IntRange(0, 9).Draw(t, what) == 9 } // rapid draws small numbers more often
	a := injection()
	a.Type = rapid.SampledFrom([]string{"sqli", "xss", "brute", "credential_stuffing", "brand_new_type", strings.Repeat("long_", 20)}).Draw(t, "type")
	a.BlockStatus = rapid.SampledFrom([]string{"monitored", "blocked", "Partially Blocked", ""}).Draw(t, "status")
	a.Path, a.Domain = "/"+long.Draw(t, "path"), long.Draw(t, "host")+".example.com"
	if maybe("incident") {
		a.VulnID = long.Draw(t, "vulnerability") + "1"
	}
	a.Sources = nil
	for i := range rapid.IntRange(0, 5).Draw(t, "sources") {
		ip := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		if maybe("IPv6") {
			ip = netip.MustParseAddr(fmt.Sprintf("2001:db8:1234:5678:9abc:def0:1234:567%d", i))
		}
		a.Sources = append(a.Sources, apiclient.Source{IP: ip, Hits: known(rapid.Int64Range(0, 2000).Draw(t, "hits of a source")), Country: rapid.SampledFrom([]string{"", "FR", "NL"}).Draw(t, "country")})
	}
	a.SourceCount = known(int64(len(a.Sources)) + rapid.Int64Range(0, 4000).Draw(t, "more sources"))
	a.Hits = apiclient.Figure{N: rapid.Int64Range(0, 1_000_000_000).Draw(t, "hits"), Known: maybe("hits are known")}
	c := incident().of(a)
	s := &c.Situation
	account := rapid.SampledFrom([]string{"acme", "acme-production-europe-west"}).Draw(t, "account")
	s.Account = &config.Account{Name: account, ConsoleURL: s.Account.ConsoleURL, Applications: map[int]config.Application{4: {Name: long.Draw(t, "application"), CanBlock: new(!rarely("can't block"))}}}
	s.Policy.Changes = rapid.SampledFrom([]string{config.ChangesOn, config.ChangesOn, config.ChangesDryRun, config.ChangesOff}).Draw(t, "changes")
	for i, source := range a.Sources {
		list := rapid.SampledFrom([]string{"", "", apiclient.ListDeny, apiclient.ListAllow}).Draw(t, "list")
		e := apiclient.IPRule{ID: int64(i), List: list, Kind: apiclient.KindRange, Subnet: netip.PrefixFrom(source.IP, source.IP.BitLen()), Author: long.Draw(t, "author")}
		if maybe("by country") && source.Country != "" {
			e.Kind, e.Values = apiclient.KindCountry, []string{source.Country}
		}
		if list != "" {
			s.Entries = append(s.Entries, e)
		}
	}
	s.Rules[0].Mode = rapid.SampledFrom([]string{apiclient.ModeMonitoring, apiclient.ModeBlock}).Draw(t, "mode by another author")
	if spec, not := change.PatchFor(a); not.String() == "" && maybe("patched by another author") {
		if rule, err := spec.Rule(); err == nil {
			rule.ID = 31
			s.Rules = append(s.Rules, rule)
		}
	}
	s.Efficacy = map[string]record.Efficacy{}
	for i := range rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "changes made") {
		ch := generatedChange(t, c, i)
		s.Changes = append(s.Changes, ch)
		e := record.Efficacy{Finding: rapid.SampledFrom([]record.Finding{record.NotYet, record.Working, record.PartlyWorking, record.NotWorking, record.EfficacyUnknown}).Draw(t, "finding")}
		s.Efficacy[ch.ID] = e
		for _, step := range ch.Steps {
			if step.Entry != nil {
				s.Entries = append(s.Entries, *step.Entry)
			} else {
				s.Rules = append(s.Rules, *step.Rule)
			}
		}
	}
	c.Quiet, c.SharedChannel, c.QuietHours = rarely("quiet"), maybe("shared channel"), maybe("quiet hours")
	if maybe("owner") {
		c.Triage = annasTriage()
		c.Triage.Owner.Name = long.Draw(t, "owner's name")
	}
	if rarely("verdict") {
		c.Triage.Verdict = &record.Verdict{Is: rapid.SampledFrom([]string{"real", "false_positive", "test"}).Draw(t, "verdict is"), By: record.Actor{Name: long.Draw(t, "by")}, At: now}
	}
	if rarely("outage") {
		c.Outage = record.Outage{From: earlier(time.Minute), Why: long.Draw(t, "why")}
	}
	if maybe("late") {
		c.Late, c.StaleFor, c.Rare = 5*time.Minute, 3*time.Minute, maybe("rare")
	}
	c.Pager.Fault = long.Draw(t, "pager")
	c = headed(c)
	if maybe("stopped") && !c.Quiet && c.Outage.From.IsZero() && c.Triage.Verdict == nil {
		c.Headline.State = rapid.SampledFrom([]words.State{words.Mitigated, words.Quiet}).Draw(t, "state")
		c.Headline.Since = earlier(10 * time.Minute)
	}
	return c
}

// generatedChange is a denial of one of the card's sources, or a patch.
func generatedChange(t *rapid.T, c drawing, i int) record.Change {
	ch, a := patched(), c.Situation.Attack
	if len(a.Sources) > 0 && rapid.Bool().Draw(t, "deny") {
		ch = denied()
		e := *ch.Steps[0].Entry
		e.Subnet = netip.PrefixFrom(a.Sources[0].IP, a.Sources[0].IP.BitLen())
		ch.Line.Words, ch.Steps[0].Entry = []string{a.Sources[0].IP.String()}, &e
	} else {
		ch.Steps[0].Rule = patchRule(injection())
	}
	ch.ID, ch.At = fmt.Sprintf("c%08d", i), earlier(time.Duration(rapid.IntRange(0, 200).Draw(t, "age"))*time.Minute)
	ch.State = rapid.SampledFrom([]record.State{record.StateBegun, record.StateDone, record.StateDone, record.StateHalf, record.StateUndone, record.StateFailed}).Draw(t, "state of a change")
	if ch.State == record.StateUndone {
		ch.EndedBy = &record.Actor{Name: "Rob"}
	}
	if rapid.Bool().Draw(t, "observed") {
		ch.Observed = &record.Observation{At: ch.At, Attack: a}
	}
	return ch
}

// Whatever the situation: the card is short, offers nothing that can't help, and no line contradicts its headline.
func TestGeneratedCards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := generated(t)
		m := c.render()
		requireShort(t, "generated", limitsOf("generated", c), m)
		for _, b := range buttonsOf(m.Blocks) {
			requireHelps(t, c, b.Value)
		}
		requireConsistent(t, c, seenAs(m))
	})
}

// requireHelps fails for a button whose measure can't help.
func requireHelps(t require.TestingT, c drawing, line string) {
	s := c.Situation
	verb, rest, _ := strings.Cut(line, " ")
	if !slices.Contains([]string{"deny", "patch", "mode"}, verb) {
		return
	}
	require.NotEqual(t, config.ChangesOff, s.Policy.ChangesNow())
	require.False(t, s.Account.Applications[4].CannotBlock(), "nothing is blocked there")
	require.NotEqual(t, apiclient.StatusBlocked, s.Attack.Status(), "all is blocked")
	require.False(t, c.Unwatched())
	switch verb {
	case "mode":
		require.NotEqual(t, apiclient.ModeBlock, words.ModeByRules(s.Rules, 4), "it blocks already")
	case "patch":
		require.False(t, slices.ContainsFunc(s.Rules, func(r apiclient.Rule) bool { return r.ID == 31 }), "it is patched already")
	}
	address, _, _ := strings.Cut(rest, " ")
	for _, source := range s.Attack.Sources {
		if verb != "deny" || source.IP.String() != address {
			continue
		}
		for _, e := range s.Entries {
			holds := e.Subnet.IsValid() && e.Kind == apiclient.KindRange && e.Subnet.Contains(source.IP) || e.Kind == apiclient.KindCountry && e.Values[0] == source.Country
			require.False(t, holds, "%s is on the %s list", address, e.List)
		}
	}
}

// requireConsistent fails for a card that says what its headline denies.
func requireConsistent(t require.TestingT, c drawing, seen string) {
	first, below, _ := strings.Cut(seen, "\n")
	_, state := c.state()
	require.Contains(t, first, state)
	if !c.Unwatched() { // which names the state before
		require.NotContains(t, below, "NOT BLOCKED")
	}
	require.NotContains(t, below, "MITIGATED")
	if !c.gettingThrough() && !c.Unwatched() {
		for _, words := range []string{"hits through since", "No button stops this", "Next:", "may get through"} {
			require.NotContains(t, below, words, first)
		}
	}
	if strings.HasPrefix(first, "🟩") {
		require.True(t, !c.Headline.Incident || c.Triage.Verdict != nil, "an incident is never green before a verdict")
		require.NotContains(t, below, "[Block mode]")
	}
}
