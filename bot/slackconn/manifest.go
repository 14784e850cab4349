package slackconn

import (
	"net/url"
	"strings"
	"text/template"
)

// Manifest is the Slack app's manifest as YAML. With a base URL, as https://wafbot.example.com, Slack sends requests there over HTTP; without one
// the app uses Socket Mode.
func Manifest(base string) string {
	var b strings.Builder
	// Writing to a Builder and the fields of a fixed template can't fail.
	_ = manifestTemplate().Execute(&b, struct {
		Base   string
		Scopes []Scope
	}{base, scopes()})
	return b.String()
}

// ManifestLink is the address of Slack's page that creates the app from its manifest.
func ManifestLink(manifest string) string {
	escaped := strings.ReplaceAll(url.QueryEscape(manifest), "+", "%20") // not every decoder takes a plus for a space
	return "https://api.slack.com/apps?new_app=1&manifest_yaml=" + escaped
}

func manifestTemplate() *template.Template {
	return template.Must(template.New("manifest").Parse(`display_information:
  name: wafbot
  description: Brings attacks to Slack as cards with buttons, and carries out what people decide.
  background_color: "#1f2d3d"
features:
  app_home:
    home_tab_enabled: true # what is going on, for each person
    messages_tab_enabled: true # people write to wafbot
    messages_tab_read_only_enabled: false
  bot_user:
    display_name: wafbot
    always_online: true
  slash_commands:
    - command: /waf
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
`))
}
