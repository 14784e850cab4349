package workspace

import (
	"slices"
	"strconv"
	"strings"
)

func conversationsInfo(w *webAPI, a args) (answer, error) {
	c, err := w.readable(a, "read")
	if err != nil {
		return nil, err
	}
	out := w.wireChannel(c)
	if a.flag("include_num_members") {
		out["num_members"] = len(w.membersOf(c))
	}
	return answer{"channel": out}, nil
}

func conversationsList(w *webAPI, a args) (answer, error) {
	types := strings.Split(a["types"], ",")
	if a["types"] == "" {
		types = []string{"public_channel"}
	}
	families := map[string]string{"public_channel": "channels", "private_channel": "groups", "im": "im", "mpim": "mpim"}
	wanted := map[string]bool{}
	for _, kind := range types {
		family, ok := families[kind]
		if !ok {
			return nil, refuse("invalid_types")
		}
		if err := w.lacks(a["token"], family+":read"); err != nil {
			return nil, err
		}
		wanted[family] = true
	}
	channels := []answer{}
	for i := range w.channels {
		c := &w.channels[i]
		hidden := c.Private && !c.BotIsMember || c.Archived && a.flag("exclude_archived")
		if wanted[c.family()] && !hidden {
			listed := w.wireChannel(c)
			listed["num_members"] = len(w.membersOf(c))
			channels = append(channels, listed)
		}
	}
	return listPage(a, "channels", channels)
}

func conversationsMembers(w *webAPI, a args) (answer, error) {
	c, err := w.readable(a, "read")
	if err != nil {
		return nil, err
	}
	return listPage(a, "members", w.membersOf(c))
}

func (w *people) membersOf(c *Channel) []string {
	members := []string{}
	for _, u := range w.users {
		if u.ID == w.cfg.BotUserID && c.BotIsMember || u.ID != w.cfg.BotUserID && !u.Deleted && c.has(u.ID) {
			members = append(members, u.ID)
		}
	}
	return members
}

func conversationsJoin(w *webAPI, a args) (answer, error) {
	c := w.channel(a["channel"])
	if c == nil || c.ID != a["channel"] || c.Private && !c.BotIsMember {
		return nil, refuse("channel_not_found")
	}
	if c.family() != "channels" {
		return nil, refuse("method_not_supported_for_channel_type")
	}
	if c.Archived {
		return nil, refuse("is_archived")
	}
	out := answer{}
	if c.BotIsMember {
		out["warning"] = "already_in_channel"
		out["response_metadata"] = answer{"warnings": []string{"already_in_channel"}}
	}
	c.BotIsMember = true
	w.notify()
	out["channel"] = w.wireChannel(c)
	return out, nil
}

// conversationsOpen opens the direct message with a user, or one that is known by its id. With several users it would be a group's.
func conversationsOpen(w *webAPI, a args) (answer, error) {
	if a["channel"] != "" {
		c := w.channel(a["channel"])
		if c == nil || c.ID != a["channel"] || c.family() != "im" {
			return nil, refuse("channel_not_found")
		}
		return w.openedDirect(a, c, true)
	}
	users := slices.DeleteFunc(strings.Split(a["users"], ","), func(id string) bool { return strings.TrimSpace(id) == "" })
	if len(users) == 0 {
		return nil, refuse("users_list_not_supplied")
	}
	for i := range users {
		users[i] = strings.TrimSpace(users[i])
		if u, ok := w.user(users[i]); !ok || u.ID != users[i] {
			return nil, refuse("user_not_found")
		} else if u.Deleted {
			return nil, refuse("user_disabled")
		}
	}
	if len(users) > 1 {
		return nil, missingScope([]string{"mpim:write"}, w.cfg.Scopes)
	}
	if err := w.lacks(a["token"], "im:write"); err != nil {
		return nil, err
	}
	known := slices.ContainsFunc(w.channels, func(c Channel) bool { return c.family() == "im" && slices.Contains(c.Members, users[0]) })
	return w.openedDirect(a, w.direct(users[0]), known)
}

func (w *people) openedDirect(a args, c *Channel, before bool) (answer, error) {
	out := answer{"channel": answer{"id": c.ID}}
	if a.flag("return_im") {
		out["channel"] = w.wireChannel(c)
	}
	if before {
		out["no_op"], out["already_open"] = true, true
	}
	return out, nil
}

// founded is when all channels and user groups were made, in Unix seconds.
const founded = 1_577_836_800

// founder is who made them; empty: there is nobody.
func (w *people) founder() string {
	if len(w.users) == 0 {
		return ""
	}
	return w.users[0].ID
}

func (w *people) wireChannel(c *Channel) answer {
	unset := answer{"value": "", "creator": "", "last_set": 0}
	out := answer{
		"created": founded, "creator": w.founder(), "topic": unset, "purpose": unset,
		"id": c.ID, "name": c.Name, "name_normalized": c.Name, "is_member": c.BotIsMember,
		"is_channel": c.family() == "channels", "is_group": c.family() == "groups", "is_im": c.family() == "im",
		"is_private": c.Private, "is_archived": c.Archived, "is_ext_shared": false, "is_shared": false, "is_org_shared": false, "is_mpim": false,
		"is_general": false, "unlinked": 0, "updated": founded * 1000, "context_team_id": w.cfg.TeamID, "previous_names": []string{},
	}
	if c.family() == "im" && len(c.Members) == 1 {
		out["user"] = c.Members[0]
	}
	return out
}

// listPage cuts a list at its limit; the cursor is the index of the next item.
func listPage[T any](a args, name string, items []T) (answer, error) {
	start := 0
	if cursor := a["cursor"]; cursor != "" {
		var err error
		if start, err = strconv.Atoi(cursor); err != nil || start < 0 || start > len(items) {
			return nil, refuse("invalid_cursor")
		}
	}
	end := min(len(items), start+a.limit(defaultPage, largestPage))
	next := ""
	if end < len(items) {
		next = strconv.Itoa(end)
	}
	return answer{name: slices.Clip(items[start:end]), "response_metadata": answer{"next_cursor": next}}, nil
}
