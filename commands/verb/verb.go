// Package verb has a file per command or family of commands: descriptions, the facts that they need, and their pure plans or answers.
package verb

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
)

// All is all the verbs, in the order of help. A new command is one file, or a function in the file of its family, and one line here.
func All() []*call.Command {
	return []*call.Command{
		status(), incidents(), attacks(), attack(), vulns(), summary(),
		contain(), deny(), allow(), gray(), lists(), remove(),
		patch(), blockPath(), indicator(), mode(), rules(), conditions(), deleteRule(),
		undo(), extend(), approve(), reject(), override(),
		ack(), unack(), handover(), note(), verdict(), mute(), unmute(), explain(), reportCommand(), cards(),
		protect(), unprotect(), sources(),
		audit(), drill(), whoami(), help(),
	}
}

// maxCards is how many cards are redrawn because of one mute, or of what was protected.
const maxCards = 50

// staleCards are some of the account's attacks that go on, whose cards are stale.
func staleCards(c *call.Call, some func(a apiclient.Attack) bool) (cards []string) {
	known, err := report.KnownAttacks(c)
	if err != nil {
		return nil // they are redrawn when their attacks change
	}
	for id, a := range known {
		if len(cards) < maxCards && some(a) && c.Ongoing(c.Account, a) {
			cards = append(cards, id)
		}
	}
	return cards
}
