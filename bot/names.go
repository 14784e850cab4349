package bot

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/text"
)

// byName draws a user's name or a user group's id, without a mention.
func (b *Bot) byName(ctx context.Context) func(id string) text.Text {
	return func(id string) text.Text {
		if card.IsID(id, "S") {
			return text.New("user group ", text.Code(id))
		}
		if name, err := b.cfg.Slack.UserName(ctx, id); err == nil {
			return text.New(text.Sanitize(name, card.MaxName))
		}
		return text.New(text.Code(id))
	}
}
