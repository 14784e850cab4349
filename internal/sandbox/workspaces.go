package sandbox

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// Workspace is a workspace of the world, as a bot is configured with it.
type Workspace struct {
	Name          string // "": it is the only one
	TeamID        string
	BotToken      string
	AppToken      string
	SigningSecret string
	APIURL        string
	Slack         *workspace.Workspace
}

// Workspaces lists the workspaces. The first is that of Slack.
func (w *World) Workspaces() []Workspace { return append([]Workspace(nil), w.workspaces...) }

// openWorkspaces makes the workspaces: one without a name, or all that the configuration names.
func (w *World) openWorkspaces() error {
	names := w.cfg.Workspaces
	if len(names) == 0 {
		names = []string{""}
	}
	for i, name := range names {
		one := Workspace{Name: name, TeamID: teamID, BotToken: botToken, AppToken: appToken, SigningSecret: signingSecret}
		title, app, path := teamName, "", "/slack"
		if i > 0 {
			one.TeamID, one.BotToken, one.AppToken, one.SigningSecret = "T0"+strings.ToUpper(name), "xoxb-sandbox-of-"+name, "xapp-sandbox-of-"+name, "sandbox-signing-secret-of-"+name
			title, app, path = name, "A0"+strings.ToUpper(name), "/workspaces/"+name
		}
		one.APIURL = w.URL() + path + "/api/"
		var err error
		one.Slack, err = workspace.New(workspace.Config{
			TeamID: one.TeamID, TeamName: title, Name: name, AppID: app, BotToken: one.BotToken, AppToken: one.AppToken, SigningSecret: one.SigningSecret, BotUserID: botUserID,
			Users: castUsers(one.TeamID), Channels: castChannels(), UserGroups: castGroups(), Command: slashCommand, BaseURL: w.URL() + path, Deliver: w.deliver,
			RateLimits: true, Speed: w.cfg.Speed, Patience: w.cfg.Patience,
		})
		if err != nil {
			return fmt.Errorf("make the emulated workspace %s: %w", cmp.Or(name, title), err)
		}
		w.workspaces = append(w.workspaces, one)
	}
	w.Slack = w.workspaces[0].Slack
	return nil
}
