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
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// The kinds of buttons; an action id is the kind, a colon and a number that makes it unique in its message.
const (
	ActionDo      = "do"     // its value is a command line
	ActionAnyway  = "anyway" // likewise; its warnings were read and accepted
	ActionCancel  = "leave"
	ActionForm    = "form"    // opens a form; its value is the line as far as it is known
	ActionMore    = "more"    // lists what else can be done about the attack that its value names
	ActionLink    = "link"    // opens an address
	ActionRefresh = "refresh" // draws a Home tab anew
)

// buttonMaker makes the buttons of one message.
type buttonMaker struct{ made int }

func (m *buttonMaker) id(kind string) string {
	m.made++
	return fmt.Sprintf("%s:%d", kind, m.made)
}

// suggestion is the button that runs a suggestion's line, after its dialog, or opens its form. It reports false if the line is too long for a button.
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

// toType says in words what a button would run that can't be made.
func toType(s call.Suggestion) text.Text {
	return text.New("There is no room for a button ", text.Bold(text.Sanitize(s.Label, maxLabel)), ": type ", text.Code(s.Line.String()))
}

// link is the button that opens an address; nil for one that a browser couldn't open.
func (m *buttonMaker) link(label, address string) *slack.ButtonBlockElement {
	u, ok := openable(address, maxURL)
	if !ok {
		return nil
	}
	return slack.NewButtonBlockElement(m.id(ActionLink), "", plainText(label, maxLabel)).WithURL(u)
}

// openable is an address that a browser opens, in letters of addresses only, if it is one of at most so many characters.
func openable(address string, most int) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", false
	}
	var b strings.Builder
	for _, c := range []byte(u.String()) { // in which a query stands as it was
		if c > ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String(), b.Len() <= most
}

// inLine is an address that a line of a card has room for. Longer ones have a button.
func inLine(address string) (string, bool) { return openable(address, maxLineURL) }

// maxMeasures is how many measures a card has buttons for: a tired thumb needs few, and under More are all.
const maxMitigations = 2

// suggestions are what a card has buttons for: the fastest measures, or the forms for an attack that no button stops, and who is on it.
func (c Card) suggestions(offered advice.Advice) []call.Suggestion {
	var claim []call.Suggestion
	if c.Triage.Owner == nil {
		claim = append(claim, advice.ClaimButton(c.Situation))
	}
	if c.Situation.Storm != nil {
		return slices.Concat(offered.Open, offered.Suggestions, claim)
	}
	isMode := func(s call.Suggestion) bool { return s.Line.Name == "mode" } // it hits everybody: only where nothing else fits
	measures := slices.DeleteFunc(slices.Clone(offered.Suggestions), isMode)
	if len(measures) == 0 {
		measures = offered.Suggestions
	}
	measures = measures[:min(maxMitigations, len(measures))]
	if c.tooThin(offered) && !efficacy.WatchedOnly(c.Situation) {
		return slices.Concat(offered.Open, claim, advice.ThinForms(c.Situation))
	}
	return slices.Concat(offered.Open, measures, claim)
}

// more is the button under which everything else is; nil if the attack can't be named in one.
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

// card makes the buttons of a card; what has no room for a button is told in words.
func (m *buttonMaker) card(c Card, advice advice.Advice) (buttons []*slack.ButtonBlockElement, without []text.Text) {
	for i, s := range c.suggestions(advice) {
		b, ok := m.suggestion(s)
		if !ok {
			without = append(without, toType(s))
			continue
		}
		// The one button that should be seen first.
		if i == 0 && !slices.Contains([]string{"mode", "claim", "cards"}, s.Line.Name) && gettingThrough(c.Situation.Attack) && !c.Quiet && !c.tooThin(advice) {
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
