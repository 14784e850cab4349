package commands

import (
	"context"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// rights is what somebody may do, as far as that is known.
type rights struct {
	role   record.Role
	name   string      // as the workspace knows it
	group  string      // the id of the user group that gives the role; "": none does
	was    record.Role // by user groups as they were last known, when they can't be looked up
	could  record.Role // the highest role that a user group may give, likewise
	unsure bool        // the workspace did not say who it is
}

// rights looks up what an actor may do.
func (r *Runner) rights(ctx context.Context, a record.Actor) rights {
	switch a.Via {
	case record.ViaClock:
		return rights{role: record.Admin, name: a.Name}
	case record.ViaCLI:
		if role, ok := r.cfg.Roles.Terminal[strings.TrimPrefix(a.ID, "cli:")]; ok {
			return rights{role: role, name: a.Name}
		}
		return rights{role: record.Viewer, name: a.Name}
	}
	name, full, err := r.cfg.Members.Member(ctx, a.Team, a.ID)
	if err != nil {
		r.cfg.Log.Warn("look up member", "user", a.ID, "err", err)
		role, _ := r.cfg.Roles.of(a.ID)
		return rights{role: min(role, record.Viewer), name: a.Name, unsure: true}
	}
	if !full {
		return rights{name: a.Name}
	}
	if name == "" {
		name = a.Name
	}
	s := rights{name: name}
	s.role, _ = r.cfg.Roles.of(a.ID)
	s.byGroup(ctx, r, a.ID)
	return s
}

// byGroup raises the role by user groups. They are looked up only where one of them gives more.
func (s *rights) byGroup(ctx context.Context, r *Runner, user string) {
	groups := r.cfg.Roles.Groups()
	could, _ := r.cfg.Roles.of(groups...)
	if could <= s.role {
		return
	}
	in, err := r.cfg.Members.Groups(ctx, user, groups)
	role, group := r.cfg.Roles.of(in...)
	if err != nil {
		r.cfg.Log.Debug("look up user groups", "user", user, "err", err) // who asks Slack says it once
		s.was, s.could = role, could
		return
	}
	if role > s.role {
		s.role, s.group = role, group
	}
}

// of is the highest role that lists one of the ids or everybody, and by which of them.
func (r Roles) of(ids ...string) (record.Role, string) {
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

// needRole refuses who has less than that role, and says who has it.
func needRole(c *Call, least record.Role) error {
	if c.Role >= least {
		return nil
	}
	if c.could >= least {
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(text.Code(c.Cmd.Name), " needs the role ", text.Bold(least.String()), ", and whether you have it by a user group Slack doesn't tell wafbot just now. ",
			"Nothing was done: try again in a moment. Whoever runs wafbot finds the reason in its log")}
	}
	who := text.New("Nobody is one yet: see ", text.Code("policy"), " in the configuration")
	if c.Actor.Via == record.ViaCLI {
		who = text.New("At the terminal ", text.Code("policy.terminal"), " in the configuration file gives roles, as ", text.Code("terminal: {"+strings.TrimPrefix(c.Actor.ID, "cli:")+": "+least.String()+"}"))
	} else if ids := c.Roles.list(least); len(ids) > 0 {
		ids = ids[:min(3, len(ids))]
		who = text.New("Ask ", Enumerate(ids, len(ids), func(id string) text.Text { return text.New(text.User(id)) }))
	}
	return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(text.Code(c.Cmd.Name), " needs the role ", text.Bold(least.String()), "; yours is ", c.Role.String(), ". ", who, ". Nothing was done")}
}

// list is who has at least that role, each once and "*" left out.
func (r Roles) list(least record.Role) []string {
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
