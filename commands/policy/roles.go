package policy

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// TerminalUser is who asks at the terminal: his role, and the same person's user id in Slack; "": not known.
func TerminalUser(p config.Policy, a record.Actor) (role record.Role, slack string) {
	u := p.Terminal[strings.TrimPrefix(a.ID, "cli:")]
	role, _ = record.ParseRole(u.Role)
	return max(role, record.Viewer), u.Slack
}

// everyone stands for every full member of the workspace.
const everyone = "*"

// RoleOf is the highest role of a full member of the workspace, by his id or as one of all.
func RoleOf(p config.Policy, user string) record.Role {
	role, _ := Named(p, user, everyone)
	return role
}

// Everyone is the role of each full member of the workspace.
func Everyone(p config.Policy) record.Role {
	role, _ := Named(p, everyone)
	return role
}

// Named is the highest role that lists one of the ids, and by which id.
func Named(p config.Policy, ids ...string) (record.Role, string) {
	lists := map[record.Role][]string{record.Viewer: p.Viewers, record.Responder: p.Responders, record.Admin: p.Admins}
	for _, role := range []record.Role{record.Admin, record.Responder, record.Viewer} {
		if i := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(lists[role], id) }); i >= 0 {
			return role, ids[i]
		}
	}
	return record.NoRole, ""
}

// Groups are the ids of the user groups that have a role.
func Groups(p config.Policy) []string {
	return slices.DeleteFunc(slices.Concat(p.Admins, p.Responders, p.Viewers), func(id string) bool { return !strings.HasPrefix(id, "S") })
}

// List is who has at least that role, each once and "*" left out.
func List(p config.Policy, least record.Role) []string {
	all := p.Admins
	if least <= record.Responder {
		all = slices.Concat(p.Responders, all)
	}
	var ids []string
	for _, id := range all {
		if id != everyone && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
