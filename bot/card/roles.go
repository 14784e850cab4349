package card

import (
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/text"
)

// maxNamed is how many of each role are named.
const maxNamed = 10

// Roles lists who has which role, each shown as show does.
func Roles(r commands.Roles, show func(id string) text.Text) text.Text {
	words := text.New("")
	for _, role := range []struct {
		name string
		ids  []string
	}{{"admins ", r.Admins}, {"; responders ", r.Responders}, {"; viewers ", r.Viewers}} {
		words = text.New(words, role.name)
		if len(role.ids) == 0 {
			words = text.New(words, "none")
		}
		for i, id := range role.ids[:min(maxNamed, len(role.ids))] {
			if i > 0 {
				words = text.New(words, ", ")
			}
			if id == "*" {
				words = text.New(words, "everyone in the workspace")
			} else {
				words = text.New(words, show(id))
			}
		}
		if more := len(role.ids) - maxNamed; more > 0 {
			words = text.New(words, " and ", more, " more")
		}
	}
	return words
}

// ByMention shows a user or user group as Slack does, which calls them wherever more than one person reads it.
func ByMention(id string) text.Text { return text.New(text.User(id)) }
