package card

import (
	"fmt"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// FirstStart is the message after an account's first poll.
func FirstStart(a *call.Account, first record.FirstStartFacts, p policy.Policy, whoMay text.Text) Message {
	lines := []text.Text{
		text.New(text.Bold("wafbot watches "+a.Name), " from now on. ", goingOn(first), ", ", first.Incidents, text.Plural(int64(first.Incidents), " incident"), " in the last ", text.Duration(a.Lookback)),
		text.New("It is ", p.Describe()),
		text.New("Who may act: ", whoMay),
	}
	var buttons []call.Suggestion
	if first.Incidents > 0 {
		buttons = append(buttons, call.Suggestion{Label: "List incidents", Line: record.Line{Name: "incidents"}.With("account", a.Name)})
	}
	return Message{
		Text: answerText(lines[:1]), Blocks: renderLines(lines, buttons),
		Metadata: slack.SlackMetadata{EventType: MetaStart, EventPayload: map[string]any{"version": metadataVersion, "account": text.Sanitize(a.Name, maxMeta)}},
	}
}

// goingOn says what was active at the first poll, and whether cards follow.
func goingOn(first record.FirstStartFacts) string {
	follow := "cards follow"
	switch first.Gathered {
	case 0:
	case first.Ongoing:
		follow = "grouped in a storm's card"
	default:
		follow = fmt.Sprintf("%d of them grouped in a storm's card, cards of the others follow", first.Gathered)
	}
	if first.Ongoing == 0 {
		return "Nothing goes on"
	}
	return fmt.Sprintf("%d going on (%s, no one is mentioned)", first.Ongoing, follow)
}
