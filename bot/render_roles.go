package bot

import (
	"context"

	"github.com/wafbot/wafbot/commands"
)

// maxNamed is how many of each role are named.
const maxNamed = 10

// roleText lists who has which role, each shown as show does.
func roleText(r commands.Roles, show func(id string) commands.Text) commands.Text {
	text := commands.Say("")
	for _, role := range []struct {
		name string
		ids  []string
	}{{"admins ", r.Admins}, {"; responders ", r.Responders}, {"; viewers ", r.Viewers}} {
		text = commands.Say(text, role.name)
		if len(role.ids) == 0 {
			text = commands.Say(text, "none")
		}
		for i, id := range role.ids[:min(maxNamed, len(role.ids))] {
			if i > 0 {
				text = commands.Say(text, ", ")
			}
			if id == "*" {
				text = commands.Say(text, "everyone in the workspace")
			} else {
				text = commands.Say(text, show(id))
			}
		}
		if more := len(role.ids) - maxNamed; more > 0 {
			text = commands.Say(text, " and ", more, " more")
		}
	}
	return text
}

// byMention shows a user or user group as Slack does, which calls them wherever more than one person reads it.
func byMention(id string) commands.Text { return commands.Say(commands.User(id)) }

// byName shows a user by name, and user groups by their ids: neither calls anybody.
func (b *Bot) byName(ctx context.Context) func(id string) commands.Text {
	return func(id string) commands.Text {
		if isID(id, "S") {
			return commands.Say("user group ", commands.Code(id))
		}
		if name, err := b.cfg.Slack.name(ctx, id); err == nil {
			return commands.Say(commands.Visible(name, maxName))
		}
		return commands.Say(commands.Code(id))
	}
}
