package card

import (
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/headline"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How much a storm's card shows of what may be many.
const (
	maxStormIDs         = 4
	maxStormMitigations = 2
	maxStormButtons     = 4 // and More
)

// stormSigns are the symbols of the states. Their shapes differ, not only their colours.
var stormSigns = map[headline.State]string{
	headline.Unknown: "❓", headline.FalsePositive: "🏁", headline.Test: "🏁", headline.Ended: "🏁", headline.Blocked: "🟩", headline.Quiet: "🔶",
	headline.PartlyBlocked: "🔶", headline.NotBlocked: "🔴",
}

// storm draws a storm's card. All that it counts is in the answer to its id's line.
func (c Card) storm() Message {
	offered := advice.Advise(c.Situation)
	h := headline.Of(headline.Facts{Situation: c.Situation, Quiet: c.Quiet, Outage: c.Outage, Triage: c.Triage})
	var maker buttonMaker
	buttons := c.stormButtons(&maker, h, offered)
	facts := append([]text.Text{c.stormHeadline(h)}, offered.Denied...)
	facts = append(append(facts, c.stormExtent(h)), c.stormSources(h, offered)...)
	facts = append(append(facts, c.stormMitigations()...), c.stormPeople()...)
	blocks := append(paragraphs([][]text.Text{facts}), actions(buttons...)...)
	return Message{Text: c.stormNotice(h), Blocks: append(blocks, c.stormPrint()), Metadata: c.metadata()}
}

func (c Card) stormHeadline(h headline.Headline) text.Text {
	line := text.New(stormSigns[h.State], " ", text.Bold(headline.StormState(h.State, *c.Situation.Storm)))
	switch {
	case h.Since.IsZero():
	case h.State == headline.Ended:
		line = text.New(line, ", last hit ", c.clock(h.Since))
	default:
		line = text.New(line, text.Bold(" since "), c.clock(h.Since))
	}
	return text.New(line, text.Bold(" · "+string(h.Severity)+" storm"))
}

// stormExtent says where the storm is, since when, and how many attacks it is; without a way to the service, what it was.
func (c Card) stormExtent(h headline.Headline) text.Text {
	s := *c.Situation.Storm
	if h.Was != "" {
		return text.New("Was ", headline.StormState(h.Was, s), ". WAF API unreachable: act in the console")
	}
	line := text.New(describe.Applications(s, c.Situation.Account), " · since ", c.clock(s.Began), " · ", describe.Counted(s))
	switch {
	case s.Growing() || c.Quiet:
		return line
	case s.GoesOn():
		return text.New(line, ", ", describe.Active(s))
	}
	return text.New(line, ", no new ones since ", c.clock(s.Ended), ", ", describe.Active(s))
}

// stormSources names what gets through and where it comes from; of a storm of which nothing does, what most of it has in common.
func (c Card) stormSources(h headline.Headline, offered advice.Advice) (lines []text.Text) {
	s := *c.Situation.Storm
	words, through := headline.StormWords(h.State, s)
	if through == 0 {
		return []text.Text{describe.Cause(s, c.Situation.Policy)}
	}
	title := words[:1] + strings.ToLower(words[1:])
	if s.UnblockedCount == 0 {
		lines = append(lines, text.New(title, ": see their own cards"))
	} else {
		ids := text.New(title, ":")
		for _, a := range s.Unblocked[:min(maxStormIDs, len(s.Unblocked))] {
			ids = text.New(ids, " ", text.Code(record.AttackID(c.Situation.Account.Name, a.ID)))
		}
		if more := s.UnblockedCount - maxStormIDs; more > 0 {
			ids = text.New(ids, " and ", text.Number(more), " more")
		}
		lines = append(lines, ids)
	}
	if behind, ok := namedSource(s, offered); ok {
		lines = append(lines, text.New(describe.StormSource(behind.IP, behind.Country, c.Situation.Policy), " ", reach(s, behind)))
	}
	return lines
}

// namedSource is the source that a storm's card names: that of its button, else the busiest of what gets through.
func namedSource(s record.Storm, offered advice.Advice) (record.StormSource, bool) {
	for _, one := range offered.Suggestions {
		for _, behind := range s.Behind {
			if one.Line.Name == "deny" && slices.Contains(one.Line.Words, behind.IP.String()) {
				return behind, true
			}
		}
	}
	if len(s.Behind) == 0 {
		return record.StormSource{}, false
	}
	return s.Behind[0], true
}

// reach says in how many of the attacks that get through a source is, and that it is in many more, if so: denying it stops these alone.
func reach(s record.Storm, source record.StormSource) string {
	through := s.Passing()
	these := text.Number(source.In) + " of these " + text.Number(through)
	if source.In == through {
		these = "all of these " + text.Number(through)
	}
	switch {
	case through == 1:
		return "is in it"
	case 2*source.In < through && 2*source.InAll >= s.Grouped:
		return "is in " + text.Number(source.InAll) + ", but in only " + these
	}
	return "is in " + these
}

// stormMitigations say what was done for the storm and whether it works, the newest first.
func (c Card) stormMitigations() (lines []text.Text) {
	for _, ch := range c.Situation.Changes {
		if !ch.InForce(c.Situation.Now) || ch.Parent() != "" || len(lines) == maxStormMitigations {
			continue
		}
		seen := efficacy.Brief(c.Situation, ch)
		if len(seen) == 0 {
			seen = text.New("sent")
		}
		what := ch.Does
		if ch.Line.Name == "deny" {
			what = "Deny " + strings.Join(ch.Line.Words, " ")
		}
		line := text.New(text.Sanitize(what, text.MaxField), " · ", seen)
		if !ch.Until.IsZero() {
			line = text.New(line, " · until ", c.clock(ch.Until))
		}
		lines = append(lines, text.New(line, " · ", text.Sanitize(ch.Actor.Name, text.MaxField)))
	}
	return lines
}

// stormPeople says who is on it and who is called, and what people found.
func (c Card) stormPeople() []text.Text {
	lines := []text.Text{c.whoIsOnIt()}
	if m, muted := c.muted(); muted {
		lines = append(lines, text.New(text.Bold("Muted"), ": ", describe.Mute(m)))
	}
	if c.Triage.Verdict != nil {
		lines = append(lines, describe.Verdict(*c.Triage.Verdict))
	}
	return lines
}

// stormPrint is the small print: the id, and how old the figures are.
func (c Card) stormPrint() slack.Block {
	line := text.New(text.Code(c.Situation.ID))
	if !c.FiguresAt.IsZero() {
		line = text.New(line, " · as of ", c.clock(c.FiguresAt))
	}
	line = text.New(line, " · sampled")
	if c.Situation.Policy.ChangesNow() == policy.ChangesDryRun {
		line = text.New(text.Bold("DRY RUN"), " · ", line)
	}
	return slack.NewContextBlock("", markupText(mrkdwn(line)))
}

// stormButtons are at most five. None is the primary one: a denial stops a part of a storm at best.
func (c Card) stormButtons(m *buttonMaker, h headline.Headline, offered advice.Advice) (buttons []*slack.ButtonBlockElement) {
	var acknowledge []call.Suggestion
	if c.Triage.Owner == nil {
		acknowledge = append(acknowledge, advice.Acknowledge(c.Situation))
	}
	undo := advice.UndoAny(c.Situation)
	all := slices.Concat(offered.Remedies, advice.ShowUnblocked(c.Situation), acknowledge, offered.Suggestions, undo)
	switch {
	case h.Was != "":
		all = acknowledge
		if console := m.link(text.Link{Label: "Open console", URL: c.ConsoleURL}); console != nil {
			buttons = append(buttons, console)
		}
	case slices.Contains([]headline.State{headline.Ended, headline.FalsePositive, headline.Test}, h.State):
		all = slices.Concat(offered.Remedies, advice.Over(c.Situation), undo)
	}
	made, _ := m.all(all[:min(maxStormButtons, len(all))])
	buttons = append(buttons, made...)
	if line := attackLine(c.Situation); fitsValue(line) {
		more := m.button(ActionMore, "More…", line)
		more.AccessibilityLabel = "More mitigations against the storm"
		buttons = append(buttons, more)
	}
	return buttons
}

// stormNotice is the notification of a storm's card: its state and severity, how many, where, and as far as there is room from where, and who is on it.
func (c Card) stormNotice(h headline.Headline) string {
	s := *c.Situation.Storm
	words, through := headline.StormWords(h.State, s)
	counted, on := text.Count(s.Grouped, "attack"), text.Cut(describe.Applications(s, c.Situation.Account), maxNoticeName)
	if s.AppCount > 1 {
		on = text.Count(s.AppCount, "application")
	}
	if s.Growing() {
		counted = "at least " + counted
	}
	if through > 0 {
		counted = text.Number(through) + " of " + counted
	}
	notice := words + ", " + string(h.Severity) + " storm: " + counted + " on " + on + "."
	for _, more := range []string{c.stormNoticeSource(h, s), stormNoticeOwner(c.Triage), incidentsBeside(s)} {
		if more != "" && noticeFits(notice+" "+more, maxNotice) {
			notice += " " + more
		}
	}
	return notification(notice)
}

// stormNoticeSource is the busiest source of what gets through.
func (c Card) stormNoticeSource(h headline.Headline, s record.Storm) string {
	_, through := headline.StormWords(h.State, s)
	if through == 0 || len(s.Behind) == 0 {
		return ""
	}
	behind := s.Behind[0]
	from := behind.IP.String()
	if whose, _ := c.whose(apiclient.Source{IP: behind.IP, Country: behind.Country}, maxNoticeName); whose != "" {
		from += " (" + whose + ")"
	}
	return from + " " + reach(s, behind) + "."
}

func stormNoticeOwner(t record.Triage) string {
	if t.Owner == nil {
		return "Unacked."
	}
	return text.Sanitize(t.Owner.Name, maxNoticeName) + " on it."
}

func incidentsBeside(s record.Storm) string {
	if s.Incidents == 0 {
		return ""
	}
	return text.Count(s.Incidents, "incident") + " beside it."
}
