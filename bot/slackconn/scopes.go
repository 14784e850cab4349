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
	Without  string // what is lost when it is missing
	Optional bool   // the manifest doesn't ask for it
}

// Scopes are all the permissions that wafbot makes use of, and none besides: the manifest asks for them and doctor looks for them.
func Scopes() []Scope {
	return []Scope{
		{Name: "chat:write", For: "cards and answers", Without: "nothing is told in Slack"},
		{Name: "commands", For: "the slash command", Without: "only buttons, mentions and the terminal are left"},
		{Name: "app_mentions:read", For: "lines that mention wafbot, also in threads, where slash commands don't work", Without: "mentions are not heard"},
		{Name: "im:history", For: "lines in a direct message to wafbot", Without: "messages to wafbot are not heard"},
		{Name: "users:read", For: "who clicks: a full member, a guest or a stranger", Without: "no changes from Slack"},
		{Name: "channels:history", For: "looking in a public channel whether a card is there, before it is posted again; reading back what was told and done there when Redis was emptied", Without: "a card can come twice there, never not at all; after Redis was emptied all do, and what was done before can't be undone"},
		{Name: "groups:history", For: "the same in a private channel", Without: "the same there"},
		{Name: "channels:read", For: "`wafbot doctor`: a public channel's name, whether it is archived, whether wafbot is in it", Without: "doctor can't check public channels"},
		{Name: "groups:read", For: "`wafbot doctor`: the same of a private channel", Without: "doctor can't check private channels"},
		{Name: "usergroups:read", For: "who is in the user groups that have a role; `wafbot doctor`: the groups that have one or are mentioned", Without: "nobody has a role by a user group"},
		{Name: "chat:write.public", For: "cards in public channels that wafbot isn't in", Without: "wafbot has to be invited into every channel", Optional: true},
	}
}

// scopesAgain is how long to wait before Slack is asked again for the token's scopes.
const scopesAgain = time.Minute

// LogMissingScopes logs what is lost for each scope that the token lacks, as soon as Slack tells. It returns then, or when the context ends.
func (s *Client) LogMissingScopes(ctx context.Context) {
	for {
		in, err := (&Examiner{s.api}).Installation(ctx)
		if err == nil {
			for _, scope := range in.Missing() {
				s.log.Warn("slack's token lacks a scope", "scope", scope.Name, "for", scope.For, "without it", scope.Without, "mend", FixScope(scope.Name))
			}
			return
		}
		if delay.Sleep(ctx, scopesAgain) != nil {
			return
		}
	}
}
