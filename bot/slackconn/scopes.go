package slackconn

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
)

// Scope is a permission of the app's bot token.
type Scope struct {
	Name     string
	For      string // the feature that needs it
	Without  string // what doesn't work without it
	Optional bool   // the manifest doesn't ask for it
}

// scopes are exactly the permissions that wafbot uses. The manifest requests them and doctor checks them.
func scopes() []Scope {
	return []Scope{
		{Name: "chat:write", For: "cards and answers", Without: "nothing is posted in Slack"},
		{Name: "commands", For: "the slash command", Without: "only buttons, mentions and the terminal are left"},
		{Name: "app_mentions:read", For: "lines that mention wafbot, also in threads, where slash commands don't work", Without: "mentions are ignored"},
		{Name: "im:history", For: "lines in a direct message to wafbot", Without: "messages to wafbot are ignored"},
		{Name: "users:read", For: "who clicks: a full member, a guest or a stranger", Without: "no changes from Slack"},
		{Name: "channels:history", For: "verifying in a public channel that a card isn't there before it is posted again; rebuilding state from its messages after Redis was emptied", Without: "a card can come twice there, never not at all; after Redis was emptied all do, and what was done before can't be undone"},
		{Name: "groups:history", For: "the same in a private channel", Without: "the same there"},
		{Name: "channels:read", For: "`wafbot doctor`: a public channel's name, whether it is archived, whether wafbot is in it", Without: "doctor can't check public channels"},
		{Name: "groups:read", For: "`wafbot doctor`: the same of a private channel", Without: "doctor can't check private channels"},
		{Name: "usergroups:read", For: "who is in the user groups that have a role; `wafbot doctor`: the groups that have one or are mentioned", Without: "no user has a role by a user group"},
		{Name: "chat:write.public", For: "cards in public channels that wafbot isn't in", Without: "wafbot has to be invited into every channel", Optional: true},
	}
}

// scopesAgain is the pause before Slack is asked again for the token's scopes.
const scopesAgain = time.Minute

// LogMissingScopes logs for each missing scope what doesn't work without it. It tries until Slack answers or the context ends.
func (s *Client) LogMissingScopes(ctx context.Context) {
	for {
		in, err := (&Examiner{s.api}).Installation(ctx)
		if err == nil {
			for _, scope := range in.Missing() {
				s.log.Warn("slack's token lacks a scope", "scope", scope.Name, "for", scope.For, "without_it", scope.Without, "fix", FixScope(scope.Name))
			}
			return
		}
		if delay.Sleep(ctx, scopesAgain) != nil {
			return
		}
	}
}
