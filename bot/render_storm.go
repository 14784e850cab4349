package bot

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// storm is a storm as the commands know it; nil for none.
func storm(s *poller.Storm) *commands.Storm {
	if s == nil {
		return nil
	}
	known := commands.Storm(*s)
	return &known
}

// stormFacts are the long lists of a storm's card, below its buttons: how much of what, what doesn't fit in, and why there is one card.
func (c Card) stormFacts() [][]commands.Text {
	facts := [][]commands.Text{c.stormTotals()}
	if c.Situation.Storm.OddCount > 0 {
		facts = append(facts, c.oddOnes())
	}
	return append(facts, c.whyOneCard())
}

func (c Card) stormHeadline() []commands.Text {
	s := *c.Situation.Storm
	title := []string{"STORM", commands.Visible(s.On(c.Situation.Account), maxName), apiclient.Known(int64(s.Gathered)).String() + " attacks", s.Blocking()}
	switch {
	case c.Quiet:
		title = append(title, "quiet")
	case !s.GoesOn():
		title = append(title, "over")
	}
	return []commands.Text{commands.Say(c.sign(), " ", commands.Bold(strings.Join(title, " · ")), " ", commands.Code(c.Situation.ID)), s.Cause(c.Situation.Policy)}
}

// stormTotals count what was gathered.
func (c Card) stormTotals() []commands.Text {
	s, a := *c.Situation.Storm, c.Situation.Attack
	lines := s.Tallies(c.Situation.Account, c.Situation.Policy, a.SourceCount)
	counts := commands.Say(apiclient.Known(s.Hits), commands.Plural(s.Hits, " hit"), " since ", c.clock(a.First), " · ", s.StillOn("the attacks"))
	return append(append(lines, c.aged(counts)), c.unrefreshed()...)
}

// oddOnes are what gets through though the one source isn't behind it, each with the id by which it can be dealt with.
func (c Card) oddOnes() []commands.Text {
	s := *c.Situation.Storm
	title := commands.Say(commands.Bold("Odd ones out"), " (other sources, not fully blocked):")
	if !s.Source.IsValid() {
		title = commands.Say(commands.Bold("Odd ones out"), " (not fully blocked, while most are):")
	}
	lines := []commands.Text{title}
	named, left := s.OddNamed()
	for _, odd := range named {
		lines = append(lines, c.oddOne(odd))
	}
	if left > 0 {
		lines = append(lines, commands.Say("… and ", apiclient.Known(int64(left)), " more: type ", commands.Code(c.listLine())))
	}
	return lines
}

// oddOne is an attack in one line, what its attacker wrote last.
func (c Card) oddOne(a apiclient.Attack) commands.Text {
	account := c.Situation.Account
	line := commands.Say("• ", commands.Code(commands.AttackID(account.Name, a.ID)), " ", typeName(a, maxType))
	if len(c.Situation.Storm.Apps) > 1 {
		line = commands.Say(line, " on ", commands.Visible(account.AppName(a.App), maxName))
	}
	line = commands.Say(line, ", ", commands.Bold(commands.StatusName(a)), ", ", a.Hits, commands.Plural(a.Hits.N, " hit"))
	if top, ok := commands.TopSource(a); ok {
		line = commands.Say(line, ", ", commands.Code(top.IP.String()))
		if top.Country != "" {
			line = commands.Say(line, " ", commands.Visible(top.Country, maxCountry))
		}
	}
	return commands.Say(line, ": ", commands.Code(commands.Where(a)))
}

// whyOneCard says why there are no single cards, until when, and what has one all the same.
func (c Card) whyOneCard() []commands.Text {
	s := *c.Situation.Storm
	beside := commands.Say("Incidents always get their own card at once: ", s.Incidents, " so far")
	if !s.GoesOn() {
		beside = commands.Say("Incidents meanwhile, each with its own card: ", s.Incidents)
	}
	if s.CaughtUp {
		beside = commands.Say("Incidents always get their own card at once: ", s.Incidents, " since wafbot looked")
	}
	var theirs []string
	if s.Before > 0 {
		theirs = append(theirs, fmt.Sprintf("%d from before the storm", s.Before))
	}
	if s.Own > 0 {
		theirs = append(theirs, fmt.Sprintf("%d of those gathered", s.Own))
	}
	if len(theirs) > 0 {
		beside = commands.Say(beside, " · with own cards by now: ", strings.Join(theirs, ", "))
	}
	return []commands.Text{
		commands.Say(commands.Bold("Why one card: "), s.Why()), beside,
		commands.Say("All that it gathered: ", commands.Code(c.listLine())),
	}
}

func (c Card) listLine() string {
	return commands.Line{Name: "attacks"}.With("storm", c.Situation.ID).With("account", c.Situation.Account.Name).String()
}

// stormAdvice says what would stop the storm and how soon, and what that leaves.
func (c Card) stormAdvice(advice commands.Advice) []commands.Text {
	lines := c.rehearsal(advice)
	if denies(advice) {
		deny := c.measures(advice.Suggestions[:1])[0]
		if c.Situation.Storm.OddCount > 0 {
			deny = commands.Say(deny, "; the odd ones out go on")
		}
		lines = append(lines, deny)
	}
	return append(lines, advice.Notes...)
}

// denies reports whether denying one source is what is advised.
func denies(advice commands.Advice) bool {
	return len(advice.Suggestions) > 0 && advice.Suggestions[0].Line.Name == "deny"
}
