package bot

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
)

// foreign reports whether a delivery is of another Slack app than the one whose bot token wafbot has. That happens
// where its signing secret or app token is of another app: then wafbot can't know what else it doesn't see. While the
// token's app isn't known no delivery is.
func (in *ingress) foreign(ctx context.Context, app string) bool {
	ours := in.Slack.App()
	if ours == "" || app == "" || app == ours {
		return false
	}
	in.log.warn(ctx, "refuse delivery of another app", "app", app, "bot_token_of", ours, "fix", "take bot token, app token and signing secret from one app's page at https://api.slack.com/apps")
	return true
}

// ofAnotherApp says why a delivery is refused.
func ofAnotherApp() card.Message {
	return say("Not done: this was sent by another Slack app than the one whose bot token wafbot has. Its tokens and signing secret must be of one app")
}
