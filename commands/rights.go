package commands

import (
	"context"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// clock is the actor of what wafbot does by itself.
var clock = record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}

// Members knows the people of the Slack workspace.
type Members interface {
	// Member returns the user's name if he is a full member of the workspace (no guest, no stranger, no bot, not deactivated).
	// An error means that it could not be found out.
	Member(ctx context.Context, team, user string) (name string, full bool, err error)
	// Groups are those of the user groups that the user is in. After an error they are what was last known, which may be over.
	Groups(ctx context.Context, user string, of []string) (in []string, err error)
}

// rights looks up what an actor may do.
func (l *loader) rights(ctx context.Context, a record.Actor) call.Rights {
	switch a.Via {
	case record.ViaClock:
		return call.Rights{Role: record.Admin, Name: a.Name}
	case record.ViaCLI:
		if role, ok := l.cfg.Roles.Terminal[strings.TrimPrefix(a.ID, "cli:")]; ok {
			return call.Rights{Role: role, Name: a.Name}
		}
		return call.Rights{Role: record.Viewer, Name: a.Name}
	}
	name, full, err := l.cfg.Members.Member(ctx, a.Team, a.ID)
	if err != nil {
		l.cfg.Log.Warn("look up member", "user", a.ID, "err", err)
		role, _ := l.cfg.Roles.Of(a.ID)
		return call.Rights{Role: min(role, record.Viewer), Name: a.Name, Unsure: true}
	}
	if !full {
		return call.Rights{Name: a.Name}
	}
	if name == "" {
		name = a.Name
	}
	s := call.Rights{Name: name}
	s.Role, _ = l.cfg.Roles.Of(a.ID)
	return l.addGroupRole(ctx, s, a.ID)
}

// addGroupRole raises the role by user groups. They are looked up only where one of them gives more.
func (l *loader) addGroupRole(ctx context.Context, s call.Rights, user string) call.Rights {
	groups := l.cfg.Roles.Groups()
	could, _ := l.cfg.Roles.Of(groups...)
	if could <= s.Role {
		return s
	}
	in, err := l.cfg.Members.Groups(ctx, user, groups)
	role, group := l.cfg.Roles.Of(in...)
	if err != nil {
		l.cfg.Log.Debug("look up user groups", "user", user, "err", err) // the Slack client logs it once
		s.Was, s.Could = role, could
		return s
	}
	if role > s.Role {
		s.Role, s.Group = role, group
	}
	return s
}
