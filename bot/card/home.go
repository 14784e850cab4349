package card

import (
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

// Limits of a Home tab: Slack takes 100 blocks and 250 kB. The answer to a click needs some of the blocks.
const (
	maxHomeBlocks = 90
	maxHomeText   = 40_000
)

// Home draws a Home tab, the worst first.
func Home(h report.Home) []slack.Block {
	w := partsWriter{maker: &buttonMaker{}, room: maxHomeText, most: maxHomeBlocks, rules: true}
	head := text.Newf("wafbot is %v · as of %v", h.Policies(), h.Now)
	blocks := []slack.Block{section(mrkdwn(head), w.maker.refresh())}
	blocks = append(blocks, w.write(h.Parts(true))...)
	foot := text.Newf("Your role: %v. Under Messages you can type `help`", h.Roles())
	return append(blocks, slack.NewContextBlock("", markupText(mrkdwn(foot))))
}

func (m *buttonMaker) refresh() *slack.ButtonBlockElement {
	return m.button(ActionRefresh, "Refresh", "refresh")
}

// HomeUnavailable is the Home tab shown when its facts can't be read.
func HomeUnavailable(why ...text.Text) []slack.Block {
	return linesAbove(why, []*slack.ButtonBlockElement{new(buttonMaker).refresh()})
}

// Renumber gives each button a unique id again after blocks of two messages were joined.
func Renumber(blocks []slack.Block) []slack.Block {
	for i, b := range buttonsOf(blocks) {
		kind, _, _ := strings.Cut(b.ActionID, ":")
		b.ActionID = fmt.Sprintf("%s:%d", kind, i+1)
	}
	return blocks
}

// maxNamed is how many of each role are named.
const maxNamed = 10

// Roles lists who has which role; show draws an id. A mention notifies in a channel, and not in a Home tab.
func Roles(r config.Policy, show func(id string) text.Text) text.Text {
	words := text.New("")
	for _, role := range []struct {
		name string
		ids  []string
	}{{"admins ", r.Admins}, {"; responders ", r.Responders}, {"; viewers ", r.Viewers}} {
		words.Addf("%v", role.name)
		if len(role.ids) == 0 {
			words.Addf("none")
		}
		words.Addf("%v", text.Enumerate(role.ids, maxNamed, func(id string) text.Text {
			if id == "*" {
				return text.New("everyone in the workspace")
			}
			return show(id)
		}))
	}
	return words
}
