package workspace

import (
	"reflect"
	"slices"
)

func usergroupsList(w *webAPI, a args) (answer, error) {
	groups := []answer{}
	for _, g := range w.groups {
		if g.Disabled && !a.flag("include_disabled") {
			continue
		}
		group := w.wireGroup(g)
		if a.flag("include_users") {
			group["users"] = slices.Clone(g.Users)
		}
		groups = append(groups, group)
	}
	return answer{"usergroups": groups}, nil
}

func usergroupsUsersList(w *webAPI, a args) (answer, error) {
	i := slices.IndexFunc(w.groups, func(g UserGroup) bool { return g.ID == a["usergroup"] })
	if i < 0 {
		return nil, refuse("no_such_subteam")
	}
	if w.groups[i].Disabled && !a.flag("include_disabled") {
		return nil, refuse("no_such_subteam")
	}
	return answer{"users": append([]string{}, w.groups[i].Users...)}, nil
}

// wireGroup is a user group as answers and events have it, without its members.
func (w *people) wireGroup(g UserGroup) answer {
	group := answer{
		"id": g.ID, "team_id": w.cfg.TeamID, "handle": g.Handle, "name": g.Name, "description": "",
		"is_usergroup": true, "is_subteam": true, "is_external": false, "auto_provision": false, "auto_type": nil,
		"created_by": w.founder(), "prefs": answer{"channels": []string{}, "groups": []string{}},
		"date_create": founded, "date_update": w.changedAt(g.ID), "date_delete": 0, "user_count": len(g.Users),
	}
	if g.Disabled {
		group["date_delete"] = w.changedAt(g.ID)
	}
	return group
}

// changedAt is when a user group last changed, in Unix seconds; 0: never.
func (w *people) changedAt(group string) int64 {
	at, ok := w.regrouped[group]
	if !ok {
		return 0
	}
	return at.Unix()
}

// UserGroups lists the user groups, disabled ones included.
func (w *people) UserGroups() []UserGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	groups := slices.Clone(w.groups)
	for i := range groups {
		groups[i].Users = slices.Clone(groups[i].Users)
	}
	return groups
}

// SetUserGroup adds a user group, or replaces the one with its id. The bot gets events in the background.
func (w *eventLog) SetUserGroup(g UserGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g.Users = slices.Clone(g.Users)
	before := w.changedAt(g.ID)
	i := slices.IndexFunc(w.groups, func(old UserGroup) bool { return old.ID == g.ID })
	if i < 0 {
		w.groups = append(w.groups, g)
		w.regrouped[g.ID] = w.cfg.Now()
		w.emitGroup("subteam_created", g)
		w.notify()
		return
	}
	old := w.groups[i]
	if sameGroup(old, g) {
		return
	}
	w.groups[i] = g
	w.regrouped[g.ID] = w.cfg.Now()
	w.emitGroup("subteam_updated", g)
	w.emitMembers(old, g, before)
	w.notify()
}

func sameGroup(a, b UserGroup) bool {
	sameUsers := slices.Equal(a.Users, b.Users)
	a.Users, b.Users = nil, nil
	return sameUsers && reflect.DeepEqual(a, b)
}

func (w *eventLog) emitGroup(event string, g UserGroup) {
	if !w.subscribed(event, "usergroups:read") {
		return
	}
	group := w.wireGroup(g)
	group["users"] = append([]string{}, g.Users...)
	w.emit("", User{}, w.nextTS(), answer{"type": event, "subteam": group})
}

// emitMembers sends an event with the users added to a user group and removed from it.
func (w *eventLog) emitMembers(old, g UserGroup, before int64) {
	added, removed := without(g.Users, old.Users), without(old.Users, g.Users)
	if len(added)+len(removed) == 0 || !w.subscribed("subteam_members_changed", "usergroups:read") {
		return
	}
	w.emit("", User{}, w.nextTS(), answer{
		"type": "subteam_members_changed", "subteam_id": g.ID, "team_id": w.cfg.TeamID,
		"date_previous_update": before, "date_update": w.changedAt(g.ID),
		"added_users": added, "added_users_count": len(added), "removed_users": removed, "removed_users_count": len(removed),
	})
}

// without lists the ids of some that are not among others.
func without(some, others []string) []string {
	return slices.DeleteFunc(append([]string{}, some...), func(id string) bool { return slices.Contains(others, id) })
}
