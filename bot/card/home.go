package card

import (
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/text"
)

// Limits of a Home tab: Slack takes 100 blocks, some of which the answer to a click needs, and 250 kB.
const (
	maxHomeBlocks = 90
	maxHomeText   = 40_000
)

// Home draws a Home tab, the worst first.
func Home(h report.Home) []slack.Block {
	maker := &buttonMaker{}
	head := text.New("wafbot is ", h.Policy.Describe(), " · as of ", h.Now)
	blocks := []slack.Block{section(mrkdwn(head), refreshButton(maker))}
	w := partsWriter{maker: maker, room: maxHomeText, most: maxHomeBlocks, rules: true}
	blocks = append(blocks, w.write(h.Parts(true))...)
	foot := text.New("Your role: ", h.Role.String(), ". Under Messages you can type ", text.Code("help"))
	return append(blocks, slack.NewContextBlock("", markupText(mrkdwn(foot))))
}

func refreshButton(maker *buttonMaker) *slack.ButtonBlockElement {
	return slack.NewButtonBlockElement(maker.id(ActionRefresh), "refresh", plainText("Refresh", maxLabel))
}

// HomeWithoutRole is the Home tab of a user without a role: who has one, and how to get it.
func HomeWithoutRole(user string, why text.Text, roles policy.Roles) []slack.Block {
	lines := []text.Text{
		why, text.New("Who may act: ", Roles(roles, byMention)),
		text.New("To get a role, ask one of the admins to write your id ", text.Code(user), " into wafbot's configuration, under ", text.Code("policy")),
	}
	return append(sections(lines, maxTogether), actions([]*slack.ButtonBlockElement{refreshButton(&buttonMaker{})}))
}

// HomeUnavailable is the Home tab shown when its facts can't be read.
func HomeUnavailable(why text.Text) []slack.Block {
	return append(sections([]text.Text{why}, maxTogether), actions([]*slack.ButtonBlockElement{refreshButton(&buttonMaker{})}))
}

// Renumber gives each button a unique id again after blocks of two messages were joined.
func Renumber(blocks []slack.Block) []slack.Block {
	made := 0
	number := func(b *slack.ButtonBlockElement) {
		kind, _, _ := strings.Cut(b.ActionID, ":")
		made++
		b.ActionID = fmt.Sprintf("%s:%d", kind, made)
	}
	for _, block := range blocks {
		switch b := block.(type) {
		case *slack.SectionBlock:
			if b.Accessory != nil && b.Accessory.ButtonElement != nil {
				number(b.Accessory.ButtonElement)
			}
		case *slack.ActionBlock:
			for _, e := range b.Elements.ElementSet {
				if button, ok := e.(*slack.ButtonBlockElement); ok {
					number(button)
				}
			}
		}
	}
	return blocks
}
