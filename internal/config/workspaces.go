package config

import (
	"iter"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// The keys that workspaces stand below: the only one, or several.
const (
	slackKey      = "slack"
	workspacesKey = "workspaces"
)

// EachWorkspace are the workspaces by their keys: slack, or workspaces[0] and so on.
func (c *Config) EachWorkspace() iter.Seq2[string, *Slack] {
	return func(yield func(string, *Slack) bool) {
		if len(c.Workspaces) == 0 {
			yield(slackKey, &c.Slack)
			return
		}
		for i := range c.Workspaces {
			if !yield(Element(workspacesKey, i), &c.Workspaces[i]) {
				return
			}
		}
	}
}

// WorkspaceOf is an account's workspace. Load has checked that there is one.
func (c *Config) WorkspaceOf(a Account) Slack { return *c.Workspace(a.Workspace) }

// Workspace is the one with that name, "" that of the only one; nil: there is none.
func (c *Config) Workspace(name string) *Slack {
	for _, w := range c.EachWorkspace() {
		if w.Name == name {
			return w
		}
	}
	return nil
}

func (c *Config) checkWorkspaces() {
	o := c.origins
	if o.isSet(workspacesKey) && o.isSet(slackKey) {
		o.report(slackKey, "workspaces is set too; write this workspace as one of them, with a name")
	}
	if o.isSet(workspacesKey) && len(c.Workspaces) == 0 {
		o.report(workspacesKey, "there is none; write one, or take the key out and write slack")
	}
	names, secrets := map[string]bool{}, map[apiclient.Secret]string{}
	for key, w := range c.EachWorkspace() {
		w.check(o, key)
		if key == slackKey {
			continue
		}
		o.uniqueName(key, w.Name, names)
		if w.Name != "" && !isName(w.Name) {
			o.reportValue(key+".name", "is no name of a workspace; write up to 32 of a-z 0-9 -")
		}
		w.checkApp(o, key, secrets)
	}
}

// isName reports whether a text is a name that wafbot's own things may have.
func isName(text string) bool { return len(text) <= 32 && onlyOf(text, letters+digits+"-") }

func (s *Slack) check(o *origins, key string) {
	if !strings.HasSuffix(s.APIURL, "/") {
		s.APIURL += "/" // the Slack client appends the method's bare name
	}
	word, slash := strings.CutPrefix(s.Command, "/")
	if !slash || word == "" || len(word) > 31 || !onlyOf(word, letters+digits+"-_") {
		o.reportValue(key+".command", "is no slash command; write / and up to 31 of a-z 0-9 - _")
	}
	if !(s.MessagesPerSecond >= 0 && s.MessagesPerSecond <= 1000) {
		o.reportValue(key+".messages_per_second", "is out of range; write 0 (as fast as Slack takes them) to 1000")
	}
}

// checkApp wants an app of its own for each workspace: what is sent to one app alone is surely of its workspace.
func (s *Slack) checkApp(o *origins, key string, seen map[apiclient.Secret]string) {
	for _, of := range []struct {
		name   string
		secret apiclient.Secret
	}{{"bot_token", s.BotToken}, {"app_token", s.AppToken}, {"signing_secret", s.SigningSecret}} {
		at := below(key, of.name)
		if first := seen[of.secret]; first != "" && of.secret != "" {
			o.report(at, "is the same as %s; make an app of its own for each workspace, and write that one's", first)
		}
		seen[of.secret] = at
	}
}

// checkServe reports what serve needs to reach a workspace, and to be reached from there.
func (c *Config) checkServe(o *origins, key string, s *Slack) {
	token, app := key+".bot_token", key+".app_token"
	if s.BotToken == "" {
		o.report(token, "missing; %s (the app's OAuth & Permissions page shows it)", o.setIt(token))
	}
	if s.AppToken == "" && s.SigningSecret == "" {
		secret := key + ".signing_secret"
		o.report(app, "missing, and %s too: no click would reach wafbot; for Socket Mode %s (an app-level token with connections:write), "+
			"for signed HTTP give %s (the app's Basic Information page has both)", secret, o.setIt(app), c.AsWritten(secret))
	}
}

// checkWorkspaceOf checks which workspace an account is of. Where there is one alone it is that.
func (c *Config) checkWorkspaceOf(a *Account, key string) {
	var names []string
	for _, w := range c.Workspaces {
		if w.Name != "" && !slices.Contains(names, w.Name) { // which is reported elsewhere
			names = append(names, w.Name)
		}
	}
	switch o := c.origins; {
	case slices.Contains(names, a.Workspace):
	case len(names) == 0 && a.Workspace != "":
		o.reportValue(key, "is no workspace: there is only the one of slack; take the key out, or write workspaces")
	case a.Workspace != "":
		o.reportValue(key, "is no workspace; %s", didYouMean(a.Workspace, names, "write one of "+strings.Join(names, ", ")))
	case len(names) > 1:
		o.report(key, "missing; write one of %s", strings.Join(names, ", "))
	case len(names) == 1:
		a.Workspace = names[0]
	}
}

// checkCommonIDs wants ids that hold for accounts of several workspaces to say of which they are: the same id can be another person's elsewhere.
func (c *Config) checkCommonIDs(key string, p Policy) {
	o := c.origins
	if len(c.Workspaces) < 2 {
		return
	}
	for name, list := range map[string][]string{"viewers": p.Viewers, "responders": p.Responders, "admins": p.Admins} {
		for i, id := range list {
			at := Element(below(key, name), i)
			if !o.isSet(at) {
				at = below(key, name)
			}
			o.requireTeam(at, id)
		}
	}
	for name, user := range p.Terminal {
		o.requireTeam(below(key, "terminal."+name+".slack"), user.Slack)
	}
	if p.Approval.Approvers != "" {
		o.reportValue(below(key, "approval.approvers"), "is of one workspace, and this holds for the accounts of all; write it into policy.approval of that workspace's accounts")
	}
}

func (o *origins) requireTeam(key, id string) {
	if id != "" && id != "*" && ofTeam(id) == id {
		o.reportValue(key, "can be another one in each workspace; write T…/%s, with the workspace's id (wafbot doctor prints it) before it, or write the id into the policy of that workspace's accounts", id)
	}
}
