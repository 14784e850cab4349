package card

import (
	"fmt"
	"html"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

// stateCards are a card of each headline, and of each situation that a person meets.
func stateCards() map[string]drawing {
	cards := map[string]drawing{}
	add := func(name string, from drawing, change func(c *drawing)) {
		change(&from)
		cards["state-"+name] = from
	}
	attack, since := attackCard(func(*apiclient.Attack) {}), now.Add(-4*time.Minute)
	is := func(state words.State, since time.Time) func(c *drawing) {
		return func(c *drawing) {
			c.Headline = headed(*c).Headline
			c.Headline.State, c.Headline.Since = state, since
		}
	}
	for _, state := range []words.State{
		words.Unknown, words.FalsePositive, words.Test, words.Ended, words.Blocked, words.Mitigated, words.Quiet,
		words.PartlyBlocked, words.NotBlocked,
	} {
		add("attack-"+string(state), attack, is(state, since))
		add("incident-"+string(state), incident(), is(state, since))
	}
	reviewed := incident()
	reviewed.Triage = annasTriage()
	reviewed.Triage.Verdict = &record.Verdict{Is: "real", By: anna(), At: now.Add(-time.Minute)}
	add("incident-ended-reviewed", reviewed, is(words.Ended, since))
	add("resumed", incident(), func(c *drawing) {
		is(words.NotBlocked, time.Time{})(c)
		c.Headline.Resumed = since
	})
	add("unreachable", incident(), func(c *drawing) {
		c.Outage = record.Outage{From: since, Why: "the service can't be reached"}
		is(words.Unknown, since)(c)
		c.Headline.Was = words.NotBlocked
	})
	add("stopped", incident(), func(c *drawing) {
		stoppedBoth(c)
		is(words.Mitigated, since)(c)
	})
	add("console-country", attack, func(c *drawing) {
		c.Situation.Entries = []apiclient.IPRule{{ID: 9, List: apiclient.ListDeny, Kind: apiclient.KindCountry, Values: []string{"FR"}, Apps: []int{apiclient.AllApps}, Author: "rob"}}
		c.Situation.Attack.Sources, c.Situation.Attack.SourceCount = c.Situation.Attack.Sources[:1], known(1)
		c.Situation.Attack.Last = since
		c.Situation.Stopped.Sources = map[netip.Addr]record.Tally{c.Situation.Attack.Sources[0].IP: {N: 40, First: since, Last: now}}
		c.Situation.Others = efficacy.Others(c.Situation, 0)
		is(words.Mitigated, since)(c)
	})
	add("deny-not-working", incident(), func(c *drawing) {
		stoppedBoth(c)
		c.Situation.Changes, c.Situation.Rules = c.Situation.Changes[:1], c.Situation.Rules[:1]
		through := record.Tally{N: 40, First: now.Add(-3 * time.Minute), Last: now}
		c.Situation.Efficacy = map[string]record.Efficacy{denied().ID: {Finding: record.NotWorking, Parts: map[string]record.Traffic{"203.0.113.7": {Through: through}}}}
	})
	add("next-source", incident(), func(c *drawing) {
		stoppedBoth(c)
		c.Situation.Changes, c.Situation.Rules = c.Situation.Changes[:1], c.Situation.Rules[:1]
		c.Situation.Changes[0].Observed = &record.Observation{Attack: injection()}
		a := &c.Situation.Attack
		a.Hits, a.Sources[1].Hits = known(1930), known(297)
	})
	add("shared-channel", incident(), func(c *drawing) { c.SharedChannel = true })
	return cards
}

// stoppedBoth has Anna deny the source and patch the hole, both seen to work.
func stoppedBoth(c *drawing) {
	c.Triage = annasTriage()
	deny, patch := denied(), patched()
	s := &c.Situation
	s.Changes, s.Entries, s.Rules = []record.Change{deny, patch}, []apiclient.IPRule{*deny.Steps[0].Entry}, append(s.Rules, *patch.Steps[0].Rule)
	s.Efficacy = map[string]record.Efficacy{
		deny.ID:  {Finding: record.Working, Parts: map[string]record.Traffic{"203.0.113.7": {Stopped: record.Tally{N: 10, Last: now}}}},
		patch.ID: {Finding: record.Working, Parts: map[string]record.Traffic{"": {Stopped: record.Tally{N: 1, Last: now}}}},
	}
}

var (
	dateToken = regexp.MustCompile(`<!date\^(\d+)\^([^|]*)\|[^>]*>`)
	userToken = regexp.MustCompile(`<(?:!subteam\^|[@#])([A-Z0-9]+)>`)
	linkToken = regexp.MustCompile(`<[^|>]*\|([^>]*)>`)
)

// seenAs is a message as a person reads it.
func seenAs(m Message) string {
	var out strings.Builder
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case *slack.SectionBlock:
			fmt.Fprintln(&out, readAs(b.Text.Text))
		case *slack.ContextBlock:
			for _, e := range b.ContextElements.Elements {
				fmt.Fprintln(&out, readAs(e.(*slack.TextBlockObject).Text))
			}
		case *slack.ActionBlock:
			for _, button := range buttonsOf([]slack.Block{b}) {
				fmt.Fprintf(&out, "[%s] ", button.Text.Text)
			}
			out.WriteString("\n")
		}
	}
	return out.String()
}

// readAs is markup as a person reads it.
func readAs(markup string) string {
	markup = dateToken.ReplaceAllStringFunc(markup, func(token string) string {
		parts := dateToken.FindStringSubmatch(token)
		unix, _ := strconv.ParseInt(parts[1], 10, 64)
		if strings.Contains(parts[2], "date") {
			return time.Unix(unix, 0).UTC().Format("Jan 2, 2006 15:04")
		}
		return time.Unix(unix, 0).UTC().Format("15:04")
	})
	markup = linkToken.ReplaceAllString(userToken.ReplaceAllString(markup, "@$1"), "$1")
	return html.UnescapeString(strings.NewReplacer("`", "", "*", "").Replace(markup))
}
