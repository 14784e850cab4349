package card

import (
	"cmp"
	"net/url"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/call"
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
	b.Confirm = slack.NewConfirmationBlockObject(plainText(cmp.Or(s.Title, s.Label), maxDialogTitle), plainText(confirm, maxDialogText),
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
