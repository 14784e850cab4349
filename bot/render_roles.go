package bot

import (
	"context"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/text"
)

// maxNamed is how many of each role are named.
const maxNamed = 10

// roleText lists who has which role, each shown as show does.
func roleText(r commands.Roles, show func(id string) text.Text) text.Text {
	words := text.New("")
	for _, role := range []struct {
		name string
		ids  []string
	}{{"admins ", r.Admins}, {"; responders ", r.Responders}, {"; viewers ", r.Viewers}} {
		words = text.New(words, role.name)
		if len(role.ids) == 0 {
			words = text.New(words, "none")
		}
		words = text.New(words, commands.Enumerate(role.ids, maxNamed, func(id string) text.Text {
			if id == "*" {
				return text.New("everyone in the workspace")
			}
			return show(id)
		}))
	}
	return words
}

// byMention shows a user or user group as Slack does, which calls them wherever more than one person reads it.
func byMention(id string) text.Text { return text.New(text.User(id)) }

// byName shows a user by name, and user groups by their ids: neither calls anybody.
func (b *Bot) byName(ctx context.Context) func(id string) text.Text {
	return func(id string) text.Text {
		if isID(id, "S") {
			return text.New("user group ", text.Code(id))
		}
		if name, err := b.cfg.Slack.name(ctx, id); err == nil {
			return text.New(text.Sanitize(name, maxName))
		}
		return text.New(text.Code(id))
	}
}
