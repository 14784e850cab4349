package card

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How much a storm's card shows of what may be many.
const (
	maxStormIDs         = 4
	maxStormMitigations = 2
)

// storm draws a storm's card. All that it counts is in the answer to its id's line.
func (c drawing) storm() Message {
	offered, done := advice.Advise(c.Situation), c.done()
	lines := slices.Concat([]line{c.stormHeadline()}, deniedOwn(offered), []line{c.stormExtent()}, c.stormSources(offered),
		c.mitigations(offered, done, maxStormMitigations), []line{c.people(done, maxName, true), c.smallPrint()})
	most := maxCard
	if len(done) > 0 || c.Triage.Verdict != nil {
		most = maxCardAfter
	}
	lines = fitLines(lines, most)
	var maker buttonMaker
	return c.message(lines[:len(lines)-1], lines[len(lines)-1], c.stormNotice(), c.stormButtons(&maker, offered))
}

func (c drawing) stormHeadline() (l line) {
	h := c.Headline
	label := text.Newf("%v *%v*", signs[cmp.Or(h.State, words.Unknown)], words.StormState(h.State, *c.Storm))
	switch {
	case h.Since.IsZero():
	case h.State == words.Ended:
		label.Addf(", last hit %v", c.clock(h.Since))
	default:
		label.Addf(" since %v", c.clock(h.Since))
	}
	l.say(0, label)
	l.sayf(0, "*%v storm*", string(h.Severity))
	return l
}

// stormExtent says where the storm is, since when, and how many attacks it is; without a way to the service, what it
// was.
func (c drawing) stormExtent() (l line) {
	s := *c.Storm
	if c.SharedChannel {
		l.sayf(0, "*%v*", text.Sanitize(c.Account.Name, maxName))
	}
	if was := c.Headline.Was; was != "" {
		l.sayf(0, "Was %v. *WAF API unreachable*: act in the console", words.StormState(was, s))
		return l
	}
	l.say(0, words.Applications(s, c.Account))
	l.say(0, "since ", c.clock(s.Began))
	counted := text.New(words.Counted(s))
	switch {
	case s.Growing() || c.Quiet:
	case s.GoesOn():
		counted.Addf(", %v", words.Active(s))
	default:
		counted.Addf(", no new ones since %v, %v", c.clock(s.Ended), words.Active(s))
	}
	l.say(0, counted)
	return l
}

// stormSources names what gets through and where it comes from; of a storm of which nothing does, what most of it has
// in common.
func (c drawing) stormSources(offered advice.Advice) (lines []line) {
	s := *c.Storm
	said, through := words.StormWords(c.Headline.State, s)
	if through == 0 {
		return []line{{{words.Cause(s, c.Policy), 0}}}
	}
	title := said[:1] + strings.ToLower(said[1:])
	if s.UnblockedCount == 0 {
		lines = append(lines, line{{text.New(title, ": see their own cards"), 0}})
	} else {
		ids := text.New(title, ":")
		for _, a := range s.Unblocked[:min(maxStormIDs, len(s.Unblocked))] {
			ids.Addf(" `%v`", record.AttackID(c.Account.Name, a.ID))
		}
		if more := s.UnblockedCount - maxStormIDs; more > 0 {
			ids.Addf(" and %v more", text.Number(more))
		}
		lines = append(lines, line{{ids, 0}})
	}
	if behind, ok := namedSource(s, offered); ok {
		lines = append(lines, line{{text.New(words.StormSource(behind.IP, behind.Country, c.Policy), " ", reach(s, behind)), 0}})
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

// reach says in how many of the attacks that get through a source is, and that it is in many more, if so: denying it
// stops these alone.
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

// stormButtons are at most five. None is the primary one: a denial stops a part of a storm at best.
func (c drawing) stormButtons(m *buttonMaker, offered advice.Advice) (buttons []*slack.ButtonBlockElement) {
	var acknowledge []call.Suggestion
	if c.Triage.Owner == nil {
		acknowledge = append(acknowledge, advice.Acknowledge(c.Situation))
	}
	undo := advice.UndoAll(c.Situation)
	remedies := offered.Remedies[:min(1, len(offered.Remedies))]
	all := slices.Concat(remedies, advice.ShowUnblocked(c.Situation), acknowledge, offered.Suggestions, undo)
	switch {
	case c.Unwatched():
		all = acknowledge
		if console := m.link(text.Link{Label: "Open console", URL: c.Account.ConsoleURL}); console != nil {
			buttons = append(buttons, console)
		}
	case c.is(words.Ended, words.FalsePositive, words.Test):
		all = slices.Concat(remedies, advice.Triage(c.Situation), undo)
	}
	most := mostButtons - 1
	if len(remedies) > 0 { // its label takes the room of two
		most--
	}
	made, _ := m.all(all[:min(most, len(all))])
	buttons = append(buttons, made...)
	if line := attackLine(c.Situation); fitsValue(line) {
		more := m.button(ActionMore, "More…", line)
		more.AccessibilityLabel = "More mitigations against the storm"
		buttons = append(buttons, more)
	}
	return buttons
}

// stormNotice is the notification of a storm's card: its state and severity, how many, where, and as far as there is
// room from where, and who is on it.
func (c drawing) stormNotice() string {
	s, h := *c.Storm, c.Headline
	said, through := words.StormWords(h.State, s)
	counted, on := text.Count(s.Grouped, "attack"), text.Cut(words.Applications(s, c.Account), maxNoticeName)
	if s.AppCount > 1 {
		on = text.Count(s.AppCount, "application")
	}
	if s.Growing() {
		counted = "at least " + counted
	}
	if through > 0 {
		counted = text.Number(through) + " of " + counted
	}
	notice := said + ", " + string(h.Severity) + " storm: " + counted + " on " + on + "."
	for _, more := range []string{c.stormNoticeSource(s), stormNoticeOwner(c.Triage), incidentsBeside(s)} {
		if more != "" && noticeFits(notice+" "+more, maxNotice) {
			notice += " " + more
		}
	}
	return notification(notice)
}

// stormNoticeSource is the busiest source of what gets through.
func (c drawing) stormNoticeSource(s record.Storm) string {
	_, through := words.StormWords(c.Headline.State, s)
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
