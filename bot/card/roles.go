package card

import (
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/text"
)

// maxNamed is how many of each role are named.
const maxNamed = 10

// Roles lists who has which role; show draws an id.
func Roles(r policy.Roles, show func(id string) text.Text) text.Text {
	words := text.New("")
	for _, role := range []struct {
		name string
		ids  []string
	}{{"admins ", r.Admins}, {"; responders ", r.Responders}, {"; viewers ", r.Viewers}} {
		words = text.New(words, role.name)
		if len(role.ids) == 0 {
			words = text.New(words, "none")
		}
		words = text.New(words, text.Enumerate(role.ids, maxNamed, func(id string) text.Text {
			if id == "*" {
				return text.New("everyone in the workspace")
			}
			return show(id)
		}))
	}
	return words
}

// byMention draws a user or user group as a mention. In a channel that notifies them.
func byMention(id string) text.Text { return text.New(text.User(id)) }
