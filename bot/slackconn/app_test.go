package slackconn

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// readManifest reads it as Slack's own type, which must know every key.
func readManifest(t *testing.T, text string) slack.Manifest {
	t.Helper()
	var m slack.Manifest
	require.NoError(t, yaml.Load([]byte(text), &m, yaml.WithKnownFields()), text)
	return m
}

func TestManifest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, base                     string
		socket                         bool
		commands, events, interactions string
		command, app                   string
	}{
		{name: "Socket Mode", socket: true, command: "/waf", app: "wafbot"},
		{name: "a second app", socket: true, command: "/waf-test", app: "WAF 2 - try.out"},
		{
			name: "HTTP", base: "https://waf.example.com:8443", commands: "https://waf.example.com:8443/slack/commands",
			command: "/waf", app: "1e3", // no number
			events: "https://waf.example.com:8443/slack/events", interactions: "https://waf.example.com:8443/slack/interactions",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := Manifest(tt.base, tt.command, tt.app)
			m := readManifest(t, text)
			require.Equal(t, tt.socket, m.Settings.SocketModeEnabled)
			require.Equal(t, tt.events, m.Settings.EventSubscriptions.RequestUrl)
			require.Equal(t, []string{"app_mention", "message.im", "user_change", "subteam_members_changed", "subteam_updated", "subteam_created", "app_home_opened"}, m.Settings.EventSubscriptions.BotEvents)
			require.Equal(t, slack.Interactivity{IsEnabled: true, RequestUrl: tt.interactions}, *m.Settings.Interactivity)
			require.False(t, m.Settings.OrgDeployEnabled)
			require.False(t, m.Settings.TokenRotationEnabled)
			require.Equal(t, slack.AppHome{HomeTabEnabled: true, MessagesTabEnabled: true}, m.Features.AppHome)
			require.Equal(t, slack.BotUser{DisplayName: tt.app, AlwaysOnline: true}, m.Features.BotUser)
			require.Len(t, m.Features.SlashCommands, 1)
			command := m.Features.SlashCommands[0]
			require.Equal(t, tt.app, m.Display.Name)
			require.Equal(t, tt.command, command.Command)
			require.Equal(t, tt.commands, command.Url)
			require.True(t, command.ShouldEscape)
			require.NotEmpty(t, command.UsageHint)
			require.LessOrEqual(t, len(m.Display.Description), 140, "Slack's limit")
			var asked []string
			for _, s := range scopes() {
				if !s.Optional {
					asked = append(asked, s.Name)
					require.Contains(t, text, s.Name+" # "+s.For)
				}
			}
			require.Equal(t, slack.OAuthScopes{Bot: asked}, m.OAuthConfig.Scopes)
		})
	}
}

func TestManifestLinkHoldsTheManifest(t *testing.T) {
	t.Parallel()
	manifest := Manifest("https://waf.example.com", "/waf", "wafbot")
	link := ManifestLink(manifest)
	u, err := url.Parse(link)
	require.NoError(t, err)
	require.Equal(t, "api.slack.com", u.Host)
	require.Equal(t, "1", u.Query().Get("new_app"))
	require.Equal(t, manifest, u.Query().Get("manifest_yaml"))
	require.NotContains(t, link, "+", "which not every reader takes for a space")
	require.Less(t, len(link), 4_000, "servers cut long addresses")
}

func TestDocsHaveTheTableOfScopes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/slack-app.md")
	require.NoError(t, err)
	want := []string{}
	for _, s := range scopes() {
		name := "`" + s.Name + "`"
		if s.Optional {
			name += " (optional)"
		}
		want = append(want, "| "+strings.Join([]string{name, s.For, s.Without}, " | ")+" |")
	}
	require.Equal(t, want, regexp.MustCompile("(?m)^\\| `.*$").FindAllString(string(text), -1))
}
