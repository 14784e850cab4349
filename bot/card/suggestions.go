package card

import (
	"slices"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// mostButtons is how many buttons a card has, More among them: a phone shows them in two rows.
const mostButtons = 5

// suggestions are what gets a button, beside More: the mitigations that would help, then what people tell each other
// by, then what ends it.
func (c drawing) suggestions(offered advice.Advice) []call.Suggestion {
	var acknowledge, triage []call.Suggestion
	measures := offered.Suggestions
	switch {
	case c.Unwatched():
		measures = nil
	case c.is(words.FalsePositive, words.Test, words.Ended, words.Blocked):
		measures, triage = nil, advice.Triage(c.Situation)
	case c.is(words.Mitigated): // every source is covered: only a patch stops it for longer
		measures = slices.DeleteFunc(slices.Clone(measures), func(b call.Suggestion) bool { return b.Line.Name != "patch" })
	case c.is(words.Quiet):
		measures = slices.DeleteFunc(slices.Clone(measures), func(b call.Suggestion) bool { return b.Line.Name == "mode" }) // it affects every visitor
	}
	if c.is(words.Mitigated, words.Quiet) && len(measures) == 0 {
		triage = advice.Triage(c.Situation)
	}
	over := c.is(words.FalsePositive, words.Test) || c.is(words.Ended) && (c.Triage.Verdict != nil || !c.Headline.Incident)
	if c.Triage.Owner == nil && !over {
		acknowledge = append(acknowledge, advice.Acknowledge(c.Situation))
	}
	remedies, undo := offered.Remedies[:min(1, len(offered.Remedies))], advice.UndoAll(c.Situation)
	if c.Storm != nil {
		return c.ofStorm(offered, remedies, acknowledge, undo)
	}
	measures = measures[:min(len(measures), mostButtons-1-len(remedies)-len(acknowledge))]
	all := slices.Concat(remedies, measures, acknowledge, triage, undo)
	return all[:min(mostButtons-1, len(all))]
}

// ofStorm are those of a storm.
func (c drawing) ofStorm(offered advice.Advice, remedies, acknowledge, undo []call.Suggestion) []call.Suggestion {
	all := slices.Concat(remedies, advice.ShowUnblocked(c.Situation), acknowledge, offered.Suggestions, undo)
	switch {
	case c.Unwatched():
		all = acknowledge
	case c.is(words.Ended, words.FalsePositive, words.Test):
		all = slices.Concat(remedies, advice.Triage(c.Situation), undo)
	}
	return all[:min(mostButtons-1-len(remedies), len(all))] // a remedy's label takes the room of two
}

// buttons are a card's, and lines to type for what has no room.
func (c drawing) buttons(offered advice.Advice) (buttons []*slack.ButtonBlockElement, without text.Lines) {
	var m buttonMaker
	suggestions := c.suggestions(offered)
	if c.Unwatched() {
		if b := m.link(text.Link{Label: "Open console", URL: c.Account.ConsoleURL}); b != nil {
			buttons = append(buttons, b)
		}
	}
	made, without := m.all(suggestions)
	// The one button that should be seen first. A denial stops a part of a storm at best.
	if c.Storm == nil && len(made) > 0 && len(without) == 0 &&
		slices.Contains([]string{"deny", "patch", "remove"}, suggestions[0].Line.Name) && c.gettingThrough() {
		made[0].Style = slack.StylePrimary
	}
	buttons = append(buttons, made...)
	if line := attackLine(c.Situation); fitsValue(line) {
		more := m.button(ActionMore, "More…", line)
		more.AccessibilityLabel = "More mitigations against the storm"
		if c.Storm == nil {
			more.AccessibilityLabel = text.Sanitize(
				"More about "+typeName(c.Attack, maxNoticeName)+" on "+c.appName(maxNoticeName), maxLabel)
		}
		buttons = append(buttons, more)
	}
	return buttons, without
}

// attackLine is the line that shows all of an attack.
func attackLine(s call.Situation) string {
	return record.LineOf(s.Account.Name, "attack", s.ID).String()
}
