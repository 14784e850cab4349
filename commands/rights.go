package commands

import (
	"context"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// rights looks up what an actor may do.
func (r *Runner) rights(ctx context.Context, a record.Actor) call.Rights {
	switch a.Via {
	case record.ViaClock:
		return call.Rights{Role: record.Admin, Name: a.Name}
	case record.ViaCLI:
		if role, ok := r.cfg.Roles.Terminal[strings.TrimPrefix(a.ID, "cli:")]; ok {
			return call.Rights{Role: role, Name: a.Name}
		}
		return call.Rights{Role: record.Viewer, Name: a.Name}
	}
	name, full, err := r.cfg.Members.Member(ctx, a.Team, a.ID)
	if err != nil {
		r.cfg.Log.Warn("look up member", "user", a.ID, "err", err)
		role, _ := r.cfg.Roles.Of(a.ID)
		return call.Rights{Role: min(role, record.Viewer), Name: a.Name, Unsure: true}
	}
	if !full {
		return call.Rights{Name: a.Name}
	}
	if name == "" {
		name = a.Name
	}
	s := call.Rights{Name: name}
	s.Role, _ = r.cfg.Roles.Of(a.ID)
	addGroupRole(&s, ctx, r, a.ID)
	return s
}

// byGroup raises the role by user groups. They are looked up only where one of them gives more.
func addGroupRole(s *call.Rights, ctx context.Context, r *Runner, user string) {
	groups := r.cfg.Roles.Groups()
	could, _ := r.cfg.Roles.Of(groups...)
	if could <= s.Role {
		return
	}
	in, err := r.cfg.Members.Groups(ctx, user, groups)
	role, group := r.cfg.Roles.Of(in...)
	if err != nil {
		r.cfg.Log.Debug("look up user groups", "user", user, "err", err) // who asks Slack says it once
		s.Was, s.Could = role, could
		return
	}
	if role > s.Role {
		s.Role, s.Group = role, group
	}
}
