package workspace

import (
	"slices"
	"strings"
)

func authTest(w *Workspace, a args) (answer, error) {
	if same(a["token"], w.cfg.AppToken) {
		return answer{"app_id": w.cfg.AppID, "app_name": "wafbot"}, nil
	}
	bot, _ := w.user(w.cfg.BotUserID)
	return answer{
		"url": "https://" + w.domain() + ".slack.com/", "team": w.cfg.TeamName, "team_id": w.cfg.TeamID,
		"user": bot.Name, "user_id": bot.ID, "bot_id": w.cfg.BotID, "is_enterprise_install": false,
	}, nil
}

func botsInfo(w *Workspace, a args) (answer, error) {
	if a["bot"] != w.cfg.BotID {
		return nil, refuse("bot_not_found")
	}
	bot, _ := w.user(w.cfg.BotUserID)
	return answer{"bot": answer{
		"id": w.cfg.BotID, "app_id": w.cfg.AppID, "user_id": bot.ID, "name": bot.Name, "deleted": false,
	}}, nil
}

func teamInfo(w *Workspace, _ args) (answer, error) {
	return answer{"team": answer{"id": w.cfg.TeamID, "name": w.cfg.TeamName, "domain": w.domain()}}, nil
}

func usersInfo(w *Workspace, a args) (answer, error) {
	u, ok := w.user(a["user"])
	if !ok || u.ID != a["user"] {
		return nil, refuse("user_not_found")
	}
	return answer{"user": wireUser(u)}, nil
}

func usersList(w *Workspace, a args) (answer, error) {
	users := []answer{}
	for _, u := range w.users {
		if !u.Stranger {
			users = append(users, wireUser(u))
		}
	}
	return listPage(a, "members", users)
}

func wireUser(u User) answer {
	return answer{
		"id": u.ID, "team_id": u.TeamID, "name": u.Name, "real_name": u.RealName, "deleted": u.Deleted,
		"is_bot": u.Bot, "is_restricted": u.Restricted || u.UltraRestricted, "is_ultra_restricted": u.UltraRestricted,
		"is_stranger": u.Stranger, "tz": "Etc/UTC",
		"profile": answer{"real_name": u.RealName, "display_name": u.Name, "team": u.TeamID},
	}
}

func usergroupsList(w *Workspace, a args) (answer, error) {
	groups := []answer{}
	for _, g := range w.groups {
		if g.Disabled && !a.flag("include_disabled") {
			continue
		}
		group := answer{
			"id": g.ID, "team_id": w.cfg.TeamID, "handle": g.Handle, "name": g.Name, "is_usergroup": true,
			"date_delete": 0, "user_count": len(g.Users),
		}
		if g.Disabled {
			group["date_delete"] = w.cfg.Now().Unix()
		}
		if a.flag("include_users") {
			group["users"] = slices.Clone(g.Users)
		}
		groups = append(groups, group)
	}
	return answer{"usergroups": groups}, nil
}

func usergroupsUsersList(w *Workspace, a args) (answer, error) {
	i := slices.IndexFunc(w.groups, func(g UserGroup) bool { return g.ID == a["usergroup"] })
	if i < 0 {
		return nil, refuse("no_such_subteam")
	}
	if w.groups[i].Disabled && !a.flag("include_disabled") {
		return nil, refuse("no_such_subteam")
	}
	return answer{"users": append([]string{}, w.groups[i].Users...)}, nil
}

// SetUserGroup adds a user group, or replaces the one with its id.
func (w *Workspace) SetUserGroup(g UserGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g.Users = slices.Clone(g.Users)
	w.groups = append(slices.DeleteFunc(w.groups, func(old UserGroup) bool { return old.ID == g.ID }), g)
	w.notify()
}

// SetUser adds a user, or replaces the one with its id: made a guest, deactivated, and so on.
func (w *Workspace) SetUser(u User) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := slices.Clone(w.users)
	w.users = slices.DeleteFunc(w.users, func(old User) bool { return old.ID == u.ID })
	if err := w.addUser(u); err != nil {
		w.users = kept
		return err
	}
	w.notify()
	return nil
}

// domain is the workspace's part of its address.
func (w *Workspace) domain() string {
	return strings.ToLower(strings.ReplaceAll(w.cfg.TeamName, " ", "-"))
}
