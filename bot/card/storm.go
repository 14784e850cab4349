package card

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// stormFacts are the long lists below the buttons: totals, outliers, and why there is one card.
func (c Card) stormFacts() [][]text.Text {
	facts := [][]text.Text{c.stormTotals()}
	if c.Situation.Storm.OutlierCount > 0 {
		facts = append(facts, c.outliers())
	}
	return append(facts, c.whyOneCard())
}

func (c Card) stormHeadline() []text.Text {
	s := *c.Situation.Storm
	title := []string{"STORM", text.Sanitize(describe.StormOn(s, c.Situation.Account), MaxName), apiclient.Known(int64(s.Grouped)).String() + " attacks", describe.StormBlocking(s)}
	switch {
	case c.Quiet:
		title = append(title, "quiet")
	case !s.GoesOn():
		title = append(title, "over")
	}
	return []text.Text{text.New(c.sign(), " ", text.Bold(strings.Join(title, " · ")), " ", text.Code(c.Situation.ID)), describe.StormCause(s, c.Situation.Policy)}
}

// stormTotals count the grouped attacks.
func (c Card) stormTotals() []text.Text {
	s, a := *c.Situation.Storm, c.Situation.Attack
	lines := describe.StormTallies(s, c.Situation.Account, c.Situation.Policy, a.SourceCount)
	counts := text.New(apiclient.Known(s.Hits), text.Plural(s.Hits, " hit"), " since ", c.clock(a.First), " · ", describe.StormOngoing(s, "the attacks"))
	return append(append(lines, c.aged(counts)), c.unrefreshed()...)
}

// outliers list the attacks that get through and don't come from the storm's source, each with its id.
func (c Card) outliers() []text.Text {
	s := *c.Situation.Storm
	title := text.New(text.Bold("Outliers"), " (other sources, not fully blocked):")
	if !s.Source.IsValid() {
		title = text.New(text.Bold("Outliers"), " (not fully blocked, while most are):")
	}
	lines := []text.Text{title}
	named, left := describe.StormOutliers(s)
	for _, attack := range named {
		lines = append(lines, c.outlier(attack))
	}
	if left > 0 {
		lines = append(lines, text.New("… and ", apiclient.Known(int64(left)), " more: type ", text.Code(listLine(c))))
	}
	return lines
}

// outlier is an attack in one line, hostile text last.
func (c Card) outlier(a apiclient.Attack) text.Text {
	account := c.Situation.Account
	line := text.New("• ", text.Code(record.AttackID(account.Name, a.ID)), " ", typeName(a, maxType))
	if len(c.Situation.Storm.Apps) > 1 {
		line = text.New(line, " on ", text.Sanitize(account.AppName(a.App), MaxName))
	}
	line = text.New(line, ", ", text.Bold(describe.StatusName(a)), ", ", a.Hits, text.Plural(a.Hits.N, " hit"))
	if top, ok := call.TopSource(a); ok {
		line = text.New(line, ", ", text.Code(top.IP.String()))
		if top.Country != "" {
			line = text.New(line, " ", text.Sanitize(top.Country, maxCountry))
		}
	}
	return text.New(line, ": ", text.Code(describe.Where(a)))
}

// whyOneCard says why attacks are grouped, until when, and which have cards of their own.
func (c Card) whyOneCard() []text.Text {
	s := *c.Situation.Storm
	beside := text.New("Incidents always get their own card at once: ", s.Incidents, " so far")
	if !s.GoesOn() {
		beside = text.New("Incidents meanwhile, each with its own card: ", s.Incidents)
	}
	if s.CaughtUp {
		beside = text.New("Incidents always get their own card at once: ", s.Incidents, " since the first poll")
	}
	var theirs []string
	if s.Before > 0 {
		theirs = append(theirs, fmt.Sprintf("%d from before the storm", s.Before))
	}
	if s.OwnCards > 0 {
		theirs = append(theirs, fmt.Sprintf("%d of those grouped", s.OwnCards))
	}
	if len(theirs) > 0 {
		beside = text.New(beside, " · with own cards by now: ", strings.Join(theirs, ", "))
	}
	return []text.Text{
		text.New(text.Bold("Why one card: "), describe.StormWhy(s)), beside,
		text.New("All grouped attacks: ", text.Code(listLine(c))),
	}
}

func listLine(c Card) string {
	return record.Line{Name: "attacks"}.With("storm", c.Situation.ID).With("account", c.Situation.Account.Name).String()
}

// stormAdvice says what would stop the storm, how soon, and what would go on.
func (c Card) stormAdvice(advice advice.Advice) []text.Text {
	lines := c.dryRun(advice)
	if denies(advice) {
		deny := c.mitigations(advice.Suggestions[:1])[0]
		if c.Situation.Storm.OutlierCount > 0 {
			deny = text.New(deny, "; the outliers go on")
		}
		lines = append(lines, deny)
	}
	return append(lines, advice.Notes...)
}

// denies reports whether the advice is to deny one source.
func denies(advice advice.Advice) bool {
	return len(advice.Suggestions) > 0 && advice.Suggestions[0].Line.Name == "deny"
}
