package bot

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
)

// The kinds of buttons; an action id is the kind, a colon and a number that makes it unique in its message.
const (
	actionDo     = "do"     // its value is a command line
	actionAnyway = "anyway" // likewise; its warnings were read and accepted
	actionLeave  = "leave"
	actionLink   = "link" // opens an address
)

// buttonMaker makes the buttons of one message.
type buttonMaker struct{ made int }

func (m *buttonMaker) id(kind string) string {
	m.made++
	return fmt.Sprintf("%s:%d", kind, m.made)
}

// suggestion is the button that runs a suggestion's line, after its dialog. It reports false if the line is too long for a button.
func (m *buttonMaker) suggestion(s commands.Suggestion) (*slack.ButtonBlockElement, bool) {
	line := s.Line.String()
	if !fitsValue(line) {
		return nil, false
	}
	b := slack.NewButtonBlockElement(m.id(actionDo), line, plainText(s.Label, maxLabel))
	if s.Confirm == "" {
		return b, true
	}
	b.Confirm = slack.NewConfirmationBlockObject(plainText(cmp.Or(s.Title, s.Label), maxDialogTitle), plainText(s.Confirm, maxDialogText),
		plainText(cmp.Or(s.OK, s.Label), maxDialogOK), plainText("Cancel", maxDialogOK))
	if s.Danger {
		b.Confirm.Style = slack.StyleDanger
	}
	return b, true
}

func fitsValue(line string) bool { return len(line) <= maxValue && utf8.ValidString(line) }

// toType says in words what a button would run that can't be made.
func toType(s commands.Suggestion) commands.Text {
	return commands.Say("There is no room for a button ", commands.Bold(commands.Visible(s.Label, maxLabel)), ": type ", commands.Code(s.Line.String()))
}

// link is the button that opens an address; nil for one that a browser couldn't open.
func (m *buttonMaker) link(label, address string) *slack.ButtonBlockElement {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(u.String()) > maxURL || !utf8.ValidString(u.String()) {
		return nil
	}
	return slack.NewButtonBlockElement(m.id(actionLink), "", plainText(label, maxLabel)).WithURL(u.String())
}

// suggestions are what a card has buttons for. A mode hits everybody, so it comes last.
func (c Card) suggestions(advice commands.Advice) []commands.Suggestion {
	if c.Case.Owner != nil {
		return advice.Suggestions
	}
	isMode := func(s commands.Suggestion) bool { return s.Line.Name == "mode" }
	last := slices.IndexFunc(advice.Suggestions, isMode)
	if last < 0 {
		last = len(advice.Suggestions)
	}
	return slices.Insert(slices.Clone(advice.Suggestions), last, commands.ClaimButton(c.Situation))
}

// card makes the buttons of a card; what has no room for a button is told in words.
func (m *buttonMaker) card(c Card, advice commands.Advice) (buttons []*slack.ButtonBlockElement, without []commands.Text) {
	for i, s := range c.suggestions(advice) {
		b, ok := m.suggestion(s)
		if !ok {
			without = append(without, toType(s))
			continue
		}
		// The one button that should be seen first.
		if i == 0 && s.Line.Name != "mode" && s.Line.Name != "claim" && gettingThrough(c.Situation.Attack) && !c.Quiet && !c.tooThin(advice) {
			b.Style = slack.StylePrimary
		}
		buttons = append(buttons, b)
	}
	for _, link := range []struct{ label, address string }{{"Runbook", c.Runbook}, {"Open console", c.ConsoleURL}} {
		if b := m.link(link.label, link.address); b != nil {
			buttons = append(buttons, b)
		}
	}
	return buttons, without
}
