package verb

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// saveMutes is the answer of a command that changed the account's mutes; the cards that the mute is or was about are
// stale.
func saveMutes(c *call.Call, all []record.Mute, one record.Mute, answer ...text.Text) call.Result {
	cards := []string{one.Attack}
	if one.Attack == "" {
		cards = staleCards(c, func(a apiclient.Attack) bool { return !a.Incident() && policy.MuteCovers(one, a) })
	}
	res := saved(one, answer...)
	res.Saves.Mutes, res.Saves.Stale = &all, cards
	return res
}

// saveProtected is the answer of a command that changed what is protected; the cards of attacks from what changed are
// stale.
func saveProtected(c *call.Call, res call.Result, all []record.Protected, changed ...grammar.Target) call.Result {
	cards := staleCards(c, func(a apiclient.Attack) bool {
		return slices.ContainsFunc(a.Sources, func(s apiclient.Source) bool {
			return slices.ContainsFunc(changed, func(t grammar.Target) bool { return t.Overlaps(s.Range()) })
		})
	})
	if attack := c.Line.Keys["attack"]; attack != "" && !slices.Contains(cards, attack) {
		cards = append(cards, attack)
	}
	res.Saves.Protected, res.Saves.Stale = &all, cards
	return res
}

// maxCards is how many cards are redrawn because of one mute, or of what was protected.
const maxCards = 50

// staleCards are some of the account's attacks that go on, whose cards are stale.
func staleCards(c *call.Call, some func(a apiclient.Attack) bool) (cards []string) {
	for id, a := range c.Facts.Stored.Value { // of what can't be read the cards are redrawn when their attacks change
		if len(cards) < maxCards && some(a) && c.Ongoing(a) {
			cards = append(cards, id)
		}
	}
	return cards
}
