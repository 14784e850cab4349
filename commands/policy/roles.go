package policy

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/record"
)

// Roles says who may do what.
type Roles struct {
	Viewers, Responders, Admins []string               // Slack user ids, user group ids, or "*" for every full member of the workspace
	Terminal                    map[string]record.Role // by user of the operating system; not listed: Viewer
}

// Of is the highest role that lists one of the ids or "*", and by which id.
func (r Roles) Of(ids ...string) (record.Role, string) {
	lists := map[record.Role][]string{record.Viewer: r.Viewers, record.Responder: r.Responders, record.Admin: r.Admins}
	for _, role := range []record.Role{record.Admin, record.Responder, record.Viewer} {
		for _, id := range append(ids[:len(ids):len(ids)], "*") {
			if slices.Contains(lists[role], id) {
				return role, strings.TrimPrefix(id, "*")
			}
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
		if id != "*" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
