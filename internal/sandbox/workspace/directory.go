package workspace

import (
	"maps"
	"slices"
	"strings"
)

func authTest(w *webAPI, a args) (answer, error) {
	if same(a["token"], w.cfg.AppToken) {
		return answer{"app_id": w.cfg.AppID, "app_name": "wafbot"}, nil
	}
	bot, _ := w.user(w.cfg.BotUserID)
	return answer{
		"url": "https://" + w.domain() + ".slack.com/", "team": w.cfg.TeamName, "team_id": w.cfg.TeamID,
		"user": bot.Name, "user_id": bot.ID, "bot_id": w.cfg.BotID, "is_enterprise_install": false,
	}, nil
}

func botsInfo(w *webAPI, a args) (answer, error) {
	if a["bot"] != w.cfg.BotID {
		return nil, refuse("bot_not_found")
	}
	bot, _ := w.user(w.cfg.BotUserID)
	return answer{"bot": answer{
		"id": w.cfg.BotID, "app_id": w.cfg.AppID, "user_id": bot.ID, "name": bot.Name, "deleted": false,
	}}, nil
}

// botProfile is the bot as its messages have it.
func (w *people) botProfile() answer {
	bot, _ := w.user(w.cfg.BotUserID)
	return answer{
		"id": w.cfg.BotID, "app_id": w.cfg.AppID, "name": bot.Name, "icons": answer{}, "deleted": false, "updated": 0, "team_id": w.cfg.TeamID,
	}
}

// apiTest gives back what it was given, without a token.
func apiTest(_ *webAPI, a args) (answer, error) {
	if name := a["error"]; name != "" {
		return nil, refuse(name)
	}
	given := maps.Clone(a)
	delete(given, "token")
	return answer{"args": given}, nil
}

// usersLookupByEmail finds nobody: no one here has an address.
func usersLookupByEmail(*webAPI, args) (answer, error) { return nil, refuse("users_not_found") }

// reactionsAdd takes a reaction to a message, once; nobody sees it.
func reactionsAdd(w *webAPI, a args) (answer, error) {
	c := w.channel(a["channel"])
	if c == nil || c.ID != a["channel"] || c.Private && !c.BotIsMember {
		return nil, refuse("channel_not_found")
	}
	m, name := w.find(c.ID, a["timestamp"]), strings.Trim(a["name"], ":")
	switch {
	case name == "":
		return nil, refuse("invalid_name")
	case m == nil || m.Ephemeral:
		return nil, refuse("message_not_found")
	case slices.Contains(m.reactions, name):
		return nil, refuse("already_reacted")
	}
	m.reactions = append(m.reactions, name)
	return answer{}, nil
}

func teamInfo(w *webAPI, _ args) (answer, error) {
	return answer{"team": answer{"id": w.cfg.TeamID, "name": w.cfg.TeamName, "domain": w.domain()}}, nil
}

func usersInfo(w *webAPI, a args) (answer, error) {
	u, ok := w.user(a["user"])
	if !ok || u.ID != a["user"] {
		return nil, refuse("user_not_found")
	}
	return answer{"user": wireUser(u)}, nil
}

func usersList(w *webAPI, a args) (answer, error) {
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
		"is_stranger": u.Stranger, "is_admin": false, "is_owner": false, "is_primary_owner": false, "is_app_user": false,
		"tz": "Etc/UTC", "tz_label": "Coordinated Universal Time", "tz_offset": 0, "updated": founded,
		"profile": answer{"real_name": u.RealName, "display_name": u.Name, "team": u.TeamID},
	}
}

// domain is the workspace's part of its address.
func (w *core) domain() string {
	return strings.ToLower(strings.ReplaceAll(w.cfg.TeamName, " ", "-"))
}
