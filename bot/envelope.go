package bot

import (
	"context"
	"encoding/json"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/slackconn"
)

// Envelope handles a delivery over Socket Mode.
func (in *ingress) Envelope(ctx context.Context, e slackconn.Envelope) *slack.ViewSubmissionResponse {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	d := delivery{names: []string{"envelope " + e.ID}, at: in.cfg.Now()}
	switch e.Type {
	case "slash_commands":
		var c slashCommand
		if err := json.Unmarshal(e.Payload, &c); err != nil {
			in.cfg.Log.Warn("read command", "err", err)
			return nil
		}
		in.command(ctx, d, c)
	case "interactive":
		return in.interaction(ctx, d, e.Payload)
	case "events_api":
		in.event(ctx, d, e.Payload)
	default:
		in.cfg.Log.Warn("unknown envelope", "type", e.Type)
	}
	return nil
}
