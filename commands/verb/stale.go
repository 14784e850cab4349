package verb

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
)

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
