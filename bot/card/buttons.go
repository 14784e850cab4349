package card

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
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

func (m *buttonMaker) id(kind string) string {
	m.made++
	return fmt.Sprintf("%s:%d", kind, m.made)
}

// suggestion makes the button that runs a suggestion's line, after its confirm, or opens its form. ok is false if the line is too long for a button.
func (m *buttonMaker) suggestion(s call.Suggestion) (*slack.ButtonBlockElement, bool) {
	line := s.Line.String()
	if !fitsValue(line) {
		return nil, false
	}
	kind := ActionDo
	if s.Form {
		kind = ActionForm
	}
	b := slack.NewButtonBlockElement(m.id(kind), line, plainText(s.Label, maxLabel))
	b.AccessibilityLabel = text.Sanitize(s.Spoken, maxLabel)
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

// toType is the line to type where there is no button.
func toType(s call.Suggestion) text.Text {
	return text.New("There is no room for a button ", text.Bold(text.Sanitize(s.Label, maxLabel)), ": type ", text.Code(s.Line.String()))
}

// link makes the button that opens an address. It returns nil for an address that a browser can't open.
func (m *buttonMaker) link(label, address string) *slack.ButtonBlockElement {
	u, ok := openable(address, maxURL)
	if !ok {
		return nil
	}
	return slack.NewButtonBlockElement(m.id(ActionLink), "", plainText(label, maxLabel)).WithURL(u)
}

// openable escapes an http or https address. ok is false if it is none, or longer than most.
func openable(address string, most int) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", false
	}
	var b strings.Builder
	for _, c := range []byte(u.String()) { // keeps the query as written
		if c > ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String(), b.Len() <= most
}

// inLine is an address short enough for a line of a card. Longer ones get a button.
func inLine(address string) (string, bool) { return openable(address, maxLineURL) }

// maxMitigations is how many mitigations get a button. All are under More.
const maxMitigations = 2

// suggestions are what gets a button: the fastest mitigations, or forms where no button stops the attack, and Acknowledge.
func (c Card) suggestions(offered advice.Advice) []call.Suggestion {
	var acknowledge []call.Suggestion
	if c.Triage.Owner == nil {
		acknowledge = append(acknowledge, advice.Acknowledge(c.Situation))
	}
	if c.Situation.Storm != nil {
		return slices.Concat(offered.Remedies, offered.Suggestions, acknowledge)
	}
	isMode := func(s call.Suggestion) bool { return s.Line.Name == "mode" } // it affects every visitor: only where nothing else fits
	mitigations := slices.DeleteFunc(slices.Clone(offered.Suggestions), isMode)
	if len(mitigations) == 0 {
		mitigations = offered.Suggestions
	}
	mitigations = mitigations[:min(maxMitigations, len(mitigations))]
	if c.tooThin(offered) && !advice.WatchedOnly(c.Situation) {
		return slices.Concat(offered.Remedies, acknowledge, advice.Alternatives(c.Situation))
	}
	return slices.Concat(offered.Remedies, mitigations, acknowledge)
}

// more makes the button that lists everything else. It returns nil if the attack's id is too long for a button.
func (m *buttonMaker) more(c Card) *slack.ButtonBlockElement {
	line := record.Line{Name: "attack", Words: []string{c.Situation.ID}}.With("account", c.Situation.Account.Name).String()
	if !fitsValue(line) {
		return nil
	}
	b := slack.NewButtonBlockElement(m.id(ActionMore), line, plainText("More…", maxLabel))
	against := typeName(c.Situation.Attack, maxNoticeName) + " on " + c.appName(maxNoticeName)
	if c.Situation.Storm != nil {
		against = "the storm"
	}
	b.AccessibilityLabel = text.Sanitize("More mitigations against "+against, maxLabel)
	return b
}

// card makes the buttons of a card, and lines to type for what has no room.
func (m *buttonMaker) card(c Card, advice advice.Advice) (buttons []*slack.ButtonBlockElement, without []text.Text) {
	for i, s := range c.suggestions(advice) {
		b, ok := m.suggestion(s)
		if !ok {
			without = append(without, toType(s))
			continue
		}
		// The one button that should be seen first.
		if i == 0 && !slices.Contains([]string{"mode", "ack", "cards"}, s.Line.Name) && gettingThrough(c.Situation.Attack) && !c.Quiet && !c.tooThin(advice) {
			b.Style = slack.StylePrimary
		}
		buttons = append(buttons, b)
	}
	if b := m.more(c); b != nil {
		buttons = append(buttons, b)
	}
	for _, link := range []struct{ label, address string }{{"Runbook", c.Runbook}, {"Open console", c.ConsoleURL}} {
		if _, fits := inLine(link.address); fits {
			continue // it stands beside who is on it
		}
		if b := m.link(link.label, link.address); b != nil {
			buttons = append(buttons, b)
		}
	}
	return buttons, without
}
