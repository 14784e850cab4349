package card

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// The kinds of buttons; an action id is the kind, a colon and a number that makes it unique in its message.
const (
	ActionDo      = "do"     // its value is a command line
	ActionAnyway  = "anyway" // its value is a command line whose warnings were read and accepted
	ActionCancel  = "cancel"
	ActionForm    = "form"    // opens a form; its value is the line as far as it is known
	ActionMore    = "more"    // lists what else can be done about the attack that its value names
	ActionLink    = "link"    // opens an address
	ActionRefresh = "refresh" // redraws a Home tab
)

// buttonMaker makes the buttons of one message.
type buttonMaker struct{ made int }

// button makes a button of a kind.
func (m *buttonMaker) button(kind, label, value string) *slack.ButtonBlockElement {
	m.made++
	return slack.NewButtonBlockElement(kind+":"+strconv.Itoa(m.made), value, plainText(label, maxLabel))
}

// all makes as many of the buttons as one block holds, and lines to type for what has no room.
func (m *buttonMaker) all(suggestions []call.Suggestion) (made []*slack.ButtonBlockElement, without text.Lines) {
	for _, s := range suggestions {
		b := m.suggestion(s)
		if b == nil || len(made) == maxButtons || weight(made...)+weight(b) > maxTogether/2 {
			without = append(without, toType(s))
			continue
		}
		made = append(made, b)
	}
	return made, without
}

// suggestion makes the button that runs a suggestion's line, after its confirm, or opens its form. It returns nil if
// the line is too long for a button.
func (m *buttonMaker) suggestion(s call.Suggestion) *slack.ButtonBlockElement {
	confirm, known := s.In(maxDialogText)
	line := known.String()
	if !fitsValue(line) {
		return nil
	}
	kind := ActionDo
	if s.Form {
		kind = ActionForm
	}
	b := m.button(kind, s.Label, line)
	b.AccessibilityLabel = text.Sanitize(s.Spoken, maxLabel)
	if confirm == "" {
		return b
	}
	b.Confirm = slack.NewConfirmationBlockObject(plainText(cmp.Or(s.Title, s.Label), maxDialogTitle),
		plainText(confirm, maxDialogText),
		plainText(cmp.Or(s.OK, s.Label), maxDialogOK), plainText("Cancel", maxDialogOK))
	if s.Danger {
		b.Confirm.Style = slack.StyleDanger
	}
	return b
}

// toType is the line to type where there is no button.
func toType(s call.Suggestion) text.Text {
	return text.Newf("There is no room for a button *%v*: type `%v`", text.Sanitize(s.Label, maxLabel), s.Line.String())
}

func fitsValue(line string) bool { return len(line) <= maxValue && utf8.ValidString(line) }

// link makes the button that opens an address. It returns nil for an address that a browser can't open.
func (m *buttonMaker) link(l text.Link) *slack.ButtonBlockElement {
	u, ok := openable(l.URL, maxURL)
	if !ok {
		return nil
	}
	return m.button(ActionLink, l.Label, "").WithURL(u)
}

// unwritten matches what an address is not written with.
var unwritten = regexp.MustCompile(`[^!-~]`)

// openable escapes an http or https address. ok is false if it is none, or longer than most.
func openable(address string, most int) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", false
	}
	address = unwritten.ReplaceAllStringFunc(u.String(), url.PathEscape) // keeps the query as written
	return address, len(address) <= most
}

// buttonsOf are the buttons of blocks, in their order.
func buttonsOf(blocks []slack.Block) (buttons []*slack.ButtonBlockElement) {
	for _, block := range blocks {
		switch b := block.(type) {
		case *slack.SectionBlock:
			if b.Accessory != nil && b.Accessory.ButtonElement != nil {
				buttons = append(buttons, b.Accessory.ButtonElement)
			}
		case *slack.ActionBlock:
			for _, e := range b.Elements.ElementSet {
				if button, ok := e.(*slack.ButtonBlockElement); ok {
					buttons = append(buttons, button)
				}
			}
		}
	}
	return buttons
}

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
