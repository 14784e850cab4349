package policy

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/record"
)

// Roles says who may do what.
type Roles struct {
	// Viewers, Responders and Admins are Slack user ids, user group ids, or "*" for every full member of the workspace.
	Viewers, Responders, Admins []string
	Terminal                    map[string]TerminalUser // by user of the operating system; not listed: Viewer
}

// TerminalUser is a user of the operating system.
type TerminalUser struct {
	Role  record.Role
	Slack string // the same person's user id in Slack; "": not known
}

// TerminalUser is who asks at the terminal.
func (r Roles) TerminalUser(a record.Actor) TerminalUser {
	u := r.Terminal[strings.TrimPrefix(a.ID, "cli:")]
	u.Role = max(u.Role, record.Viewer)
	return u
}

// everyone stands for every full member of the workspace.
const everyone = "*"

// Of is the highest role of a full member of the workspace, by his id or as one of all.
func (r Roles) Of(user string) record.Role {
	role, _ := r.Named(user, everyone)
	return role
}

// Everyone is the role of each full member of the workspace.
func (r Roles) Everyone() record.Role {
	role, _ := r.Named(everyone)
	return role
}

// Named is the highest role that lists one of the ids, and by which id.
func (r Roles) Named(ids ...string) (record.Role, string) {
	lists := map[record.Role][]string{record.Viewer: r.Viewers, record.Responder: r.Responders, record.Admin: r.Admins}
	for _, role := range []record.Role{record.Admin, record.Responder, record.Viewer} {
		if i := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(lists[role], id) }); i >= 0 {
			return role, ids[i]
		}
	}
	return record.NoRole, ""
}

// Groups are the ids of the user groups that have a role.
func (r Roles) Groups() []string {
	return slices.DeleteFunc(slices.Concat(r.Admins, r.Responders, r.Viewers), func(id string) bool { return !strings.HasPrefix(id, "S") })
}

// List is who has at least that role, each once and "*" left out.
func (r Roles) List(least record.Role) []string {
	all := r.Admins
	if least <= record.Responder {
		all = slices.Concat(r.Responders, all)
	}
	var ids []string
	for _, id := range all {
		if id != everyone && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
