package bot

import (
	"context"
	"encoding/json"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/slackconn"
)

// Envelope takes what comes over Socket Mode.
func (b *Bot) Envelope(ctx context.Context, e slackconn.Envelope) *slack.ViewSubmissionResponse {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	d := delivery{names: []string{"envelope " + e.ID}, at: b.cfg.Now()}
	switch e.Type {
	case "slash_commands":
		var c slashCommand
		if err := json.Unmarshal(e.Payload, &c); err != nil {
			b.cfg.Log.Warn("read command", "err", err)
			return nil
		}
		b.command(ctx, d, c)
	case "interactive":
		return b.interaction(ctx, d, e.Payload)
	case "events_api":
		b.event(ctx, d, e.Payload)
	default:
		b.cfg.Log.Warn("unknown envelope", "type", e.Type)
	}
	return nil
}

// Receive takes what Slack sends over Socket Mode until the context ends. It returns at once when there is no app token, and with an error
// when Slack refuses the token from the beginning, in a way that trying again won't change.
func (b *Bot) Receive(ctx context.Context) error { return b.socket.Receive(ctx) }

// SayScopes logs what is lost for each scope that the token lacks, as soon as Slack tells. It returns then, or when the context ends.
func (b *Bot) SayScopes(ctx context.Context) { b.cfg.Slack.LogMissingScopes(ctx) }
