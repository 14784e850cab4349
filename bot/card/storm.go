package card

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// storm draws a storm's card.
func (c Card) storm() Message {
	offered := advice.Advise(c.Situation)
	var maker buttonMaker
	var acknowledge []call.Suggestion
	if c.Triage.Owner == nil {
		acknowledge = append(acknowledge, advice.Acknowledge(c.Situation))
	}
	buttons, without := maker.all(slices.Concat(offered.Remedies, offered.Suggestions, acknowledge))
	var people line
	people.say(0, c.whoIsOnIt())
	blocks := paragraphs([][]text.Text{append(c.stormHeadline(), offered.Denied...), append(c.stormAdvice(offered), without...), {people.text()}})
	blocks = append(blocks, actions(append(buttons, c.more(&maker)...)...)...)
	return Message{Text: c.stormNotice(offered), Blocks: append(blocks, paragraphs(c.stormFacts())...), Metadata: c.metadata()}
}

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
	title := []string{"STORM", text.Sanitize(describe.Applications(s, c.Situation.Account), text.MaxField), apiclient.Known(int64(s.Grouped)).String() + " attacks", describe.Blocking(s)}
	switch {
	case c.Quiet:
		title = append(title, "quiet")
	case !s.GoesOn():
		title = append(title, "over")
	}
	return []text.Text{text.New(text.Bold(strings.Join(title, " · ")), " ", text.Code(c.Situation.ID)), describe.Cause(s, c.Situation.Policy)}
}

// stormTotals count the grouped attacks.
func (c Card) stormTotals() []text.Text {
	s, a := *c.Situation.Storm, c.Situation.Attack
	lines := describe.Tallies(s, c.Situation.Account, c.Situation.Policy, a.SourceCount)
	counts := text.New(apiclient.Known(s.Hits), text.Plural(s.Hits, " hit"), " since ", c.clock(a.First), " · ", describe.Ongoing(s, "the attacks"))
	return append(lines, counts)
}

// outliers list the attacks that get through and don't come from the storm's source, each with its id.
func (c Card) outliers() []text.Text {
	s := *c.Situation.Storm
	title := text.New(text.Bold("Outliers"), " (other sources, not fully blocked):")
	if !s.Source.IsValid() {
		title = text.New(text.Bold("Outliers"), " (not fully blocked, while most are):")
	}
	lines := []text.Text{title}
	named, left := describe.Outliers(s)
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
	line := append(make([]any, 0, 18), "• ", text.Code(record.AttackID(account.Name, a.ID)), " ", typeName(a, text.MaxField))
	if len(c.Situation.Storm.Apps) > 1 {
		line = append(line, " on ", text.Sanitize(account.AppName(a.App), text.MaxField))
	}
	line = append(line, ", ", text.Bold(describe.StatusName(a)), ", ", a.Hits, text.Plural(a.Hits.N, " hit"))
	if top, ok := call.TopSource(a); ok {
		line = append(line, ", ", text.Code(top.IP.String()))
		if top.Country != "" {
			line = append(line, " ", text.Sanitize(top.Country, maxCountry))
		}
	}
	return text.New(append(line, ": ", text.Code(describe.Where(a)))...)
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
		text.New(text.Bold("Why one card: "), describe.NoOwnCards(s)), beside,
		text.New("All grouped attacks: ", text.Code(listLine(c))),
	}
}

func listLine(c Card) string {
	return record.Line{Name: "attacks"}.With("storm", c.Situation.ID).With("account", c.Situation.Account.Name).String()
}

// stormAdvice says what would stop the storm, how soon, and what would go on.
func (c Card) stormAdvice(advice advice.Advice) []text.Text {
	return advice.Notes
}

// denies reports whether the advice is to deny one source.
func denies(advice advice.Advice) bool {
	return len(advice.Suggestions) > 0 && advice.Suggestions[0].Line.Name == "deny"
}

// stormNotice is the notification of a storm's card, as notice is of an attack's.
func (c Card) stormNotice(advice advice.Advice) string {
	s := *c.Situation.Storm
	lead := "STORM"
	switch {
	case c.Quiet:
		lead = "STORM quiet"
	case !s.GoesOn():
		lead = "STORM over"
	}
	on := describe.Applications(s, c.Situation.Account)
	if len(s.Apps) > 1 {
		on = fmt.Sprintf("%d apps", len(s.Apps))
	}
	when := "in " + text.Duration(describe.Lasted(s, c.FiguresAt))
	if s.CaughtUp {
		when = "found"
	}
	what := fmt.Sprintf("on %s, %s, %d%s.", text.Sanitize(on, maxNoticeName), stormBlocking(s), s.Incidents, text.Plural(int64(s.Incidents), " incident"))
	if c.Triage.Owner != nil {
		what += " " + text.Sanitize(c.Triage.Owner.Name, maxNoticeName) + " on it."
	}
	lead += ": " + apiclient.Known(int64(s.Grouped)).String() + " attacks"
	cause := c.stormCause(advice)
	text := strings.Join([]string{lead, when, what, cause}, " ")
	if !noticeFits(text, maxNotice) { // the duration matters least
		text = strings.Join([]string{lead, what, cause}, " ")
	}
	if !noticeFits(text, maxNotice) {
		text = strings.TrimSuffix(text, oneDeny)
	}
	return notification(text)
}

// oneDeny says that one denial stops most of the storm.
const oneDeny = " One deny helps."

// stormBlocking is how much of a storm gets through, where room is short: of some more it may not be known.
func stormBlocking(s record.Storm) string {
	through, unknown := s.Status[apiclient.StatusNotBlocked]+s.Status[apiclient.StatusPartly], s.Status[apiclient.StatusUnknown]
	if through == 0 || unknown == 0 {
		return strings.Replace(describe.Blocking(s), "not ", "NOT ", 1)
	}
	s.Status = maps.Clone(s.Status)
	delete(s.Status, apiclient.StatusUnknown)
	number, words, _ := strings.Cut(describe.Blocking(s), " not ")
	return number + "+ NOT " + words
}

// stormCause names what is behind a storm and whether one deny helps; a path, which its attacker wrote, stands last.
func (c Card) stormCause(advice advice.Advice) string {
	s := *c.Situation.Storm
	behind := apiclient.Known(int64(s.SharedBy))
	own, isOwn := c.Situation.Policy.SourceOf(s.Source)
	shared := describe.LikelyShared(c.Situation.Context.Sources[s.Source])
	switch {
	case !s.Source.IsValid() && s.Place != "":
		return fmt.Sprintf("No one source, %s go to %s", behind, s.Place)
	case !s.Source.IsValid():
		return "No one source: one deny won't stop it."
	case c.sourceDenied():
		return fmt.Sprintf("Denied: %s.", s.Source)
	case isOwn:
		return fmt.Sprintf("%s = %s is behind %s.", s.Source, text.Sanitize(own.Name, maxNoticeName), behind)
	case shared:
		return fmt.Sprintf("%s (CDN, proxy?) is behind %s.", s.Source, behind)
	}
	from := ""
	if s.Country != "" {
		from = " (" + text.Sanitize(s.Country, 3) + ")"
	}
	text := fmt.Sprintf("%s%s is behind %s.", s.Source, from, behind)
	if s.GoesOn() && s.Through > 0 && c.Triage.Owner == nil && !c.Quiet && denies(advice) {
		text += oneDeny
	}
	return text
}

// sourceDenied reports whether the storm's source was denied from its card.
func (c Card) sourceDenied() bool {
	return slices.ContainsFunc(c.Situation.Changes, func(ch record.Change) bool {
		return ch.InForce(c.Situation.Now) && ch.Line.Name == "deny" && slices.Contains(ch.Line.Words, c.Situation.Storm.Source.String())
	})
}
