package slackconn

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
)

// Kinds of Slack tokens.
const (
	TokenBot     = "bot token"
	TokenApp     = "app token"
	TokenUser    = "user token"
	TokenExpires = "token that expires" // token rotation is on
)

// TokenKind is a token's kind, by its prefix; "": another one.
func TokenKind(token apiclient.Secret) string {
	prefix, _, _ := strings.Cut(token.Reveal(), "-")
	kinds := map[string]string{"xoxb": TokenBot, "xapp": TokenApp, "xoxp": TokenUser}
	if strings.HasPrefix(prefix, "xoxe.") {
		return TokenExpires
	}
	return kinds[prefix]
}

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
		{"chat:write", "cards and answers", "nothing is posted in Slack", false},
		{"commands", "the slash command", "only buttons, mentions and the terminal are left", false},
		{"app_mentions:read", "lines that mention wafbot, also in threads, where slash commands don't work",
			"mentions are ignored", false},
		{"im:history", "lines in a direct message to wafbot", "messages to wafbot are ignored", false},
		{"users:read", "who clicks: a full member, a guest or a stranger", "no changes from Slack", false},
		{"channels:history", "verifying in a public channel that a card isn't there before it is posted again; rebuilding state from its messages after Redis was emptied", "a card can come twice there, never not at all; after Redis was emptied all do, and what was done before can't be undone", false},
		{"groups:history", "the same in a private channel", "the same there", false},
		{"channels:read", "`wafbot doctor`: a public channel's name, whether it is archived, whether wafbot is in it",
			"doctor can't check public channels", false},
		{"groups:read", "`wafbot doctor`: the same of a private channel", "doctor can't check private channels", false},
		{"usergroups:read", "who is in the user groups that have a role; `wafbot doctor`: the groups that have one or are mentioned", "no user has a role by a user group", false},
		{"chat:write.public", "cards in public channels that wafbot isn't in",
			"wafbot has to be invited into every channel", true},
	}
}

// Has reports whether the token has a scope.
func (i Identity) Has(scope string) bool { return slices.Contains(i.Scopes, scope) }

// Missing are the scopes that the manifest requests and the token lacks; none if Slack didn't list its scopes.
func (i Identity) Missing() []Scope {
	return slices.DeleteFunc(scopes(), func(s Scope) bool {
		return i.Scopes == nil || s.Optional || slices.Contains(i.Scopes, s.Name)
	})
}

// Surplus are the token's scopes that wafbot doesn't use.
func (i Identity) Surplus() []string {
	return slices.DeleteFunc(slices.Clone(i.Scopes), func(name string) bool {
		return slices.ContainsFunc(scopes(), func(s Scope) bool { return s.Name == name })
	})
}

// selfAgain is the pause before Slack is asked again who the token is.
const selfAgain = time.Minute

// withSelf does something with the token's owner until it succeeds or the context ends.
func (s *Client) withSelf(ctx context.Context, do func(self Identity) error) {
	for {
		self, err := s.Self(ctx)
		if err == nil {
			err = do(self)
		}
		if err == nil || delay.Sleep(ctx, selfAgain) != nil {
			return
		}
	}
}

// LogMissingScopes logs for each missing scope what doesn't work without it. It tries until Slack answers or the
// context ends.
func (s *Client) LogMissingScopes(ctx context.Context) {
	s.withSelf(ctx, func(self Identity) error {
		for _, scope := range self.Missing() {
			s.Log.WarnContext(ctx, "slack's token lacks a scope", "scope", scope.Name, "for", scope.For,
				"without_it", scope.Without, "fix", FixScope(scope.Name))
		}
		return nil
	})
}

// FindApp asks Slack which app the token is of (bots.info). It tries until Slack answers or the context ends.
func (s *Client) FindApp(ctx context.Context) {
	s.withSelf(ctx, func(self Identity) error {
		bot, err := s.api.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: self.Bot})
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.app = bot.AppID
		}
		return err
	})
}

// App is the id of the token's app; "": it isn't known.
func (s *Client) App() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app
}

// Manifest is the Slack app's manifest as YAML. With a base URL, as https://wafbot.example.com, Slack sends requests to
// what is below it over HTTP; without one the app uses Socket Mode. The command and the name must need no quotes.
func Manifest(base, command, name string) string {
	var b strings.Builder
	// Writing to a Builder and a fixed template's values can't fail.
	_ = template.Must(template.New("manifest").Parse(manifest)).Execute(&b,
		map[string]any{"Base": base, "Command": command, "Name": name, "Scopes": scopes()})
	return b.String()
}

// ManifestLink is the address of Slack's page that creates the app from its manifest.
func ManifestLink(manifest string) string {
	escaped := strings.ReplaceAll(url.QueryEscape(manifest), "+", "%20") // not every decoder takes a plus for a space
	return "https://api.slack.com/apps?new_app=1&manifest_yaml=" + escaped
}

// manifest is the template of the manifest.
const manifest = `display_information:
  name: {{printf "%q" .Name}}
  description: Brings attacks to Slack as cards with buttons, and carries out what people decide.
  background_color: "#1f2d3d"
features:
  app_home:
    home_tab_enabled: true # what is going on, for each person
    messages_tab_enabled: true # people write to wafbot
    messages_tab_read_only_enabled: false
  bot_user:
    display_name: {{printf "%q" .Name}}
    always_online: true
  slash_commands:
    - command: {{.Command}}
{{- if .Base}}
      url: {{printf "%q" (print .Base "/slack/commands")}}
{{- end}}
      description: Shows what burns, and does something about it
      usage_hint: status | attacks | deny ADDRESS for=4h | undo | help
      should_escape: true
oauth_config:
  scopes:
    bot:
{{- range .Scopes}}{{if not .Optional}}
      - {{.Name}} # {{.For}}
{{- end}}{{end}}
settings:
  event_subscriptions:
{{- if .Base}}
    request_url: {{printf "%q" (print .Base "/slack/events")}}
{{- end}}
    bot_events:
      - app_mention # a line that mentions wafbot
      - message.im # a line in a direct message to it
      - user_change # a user became a guest, or left
      - subteam_members_changed # who is in a user group that has a role
      - subteam_updated # the same, or the group was disabled
      - subteam_created # a group was enabled again
      - app_home_opened # draws the Home tab
  interactivity:
    is_enabled: true # buttons
{{- if .Base}}
    request_url: {{printf "%q" (print .Base "/slack/interactions")}}
{{- end}}
  org_deploy_enabled: false
  socket_mode_enabled: {{not .Base}}
  token_rotation_enabled: false # wafbot doesn't renew tokens
`
