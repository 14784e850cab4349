package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Via tells how a request came.
type Via string

// The ways a request comes. ViaClock is wafbot itself, ending what was made for a time.
const (
	ViaSlash   Via = "slash"
	ViaMention Via = "mention" // also a message to the bot alone
	ViaButton  Via = "button"
	ViaForm    Via = "form"
	ViaCLI     Via = "cli"
	ViaClock   Via = "clock"
)

// Actor is who asks.
type Actor struct {
	ID   string `json:"id"`             // Slack user id, or "cli:<os user>"
	Team string `json:"team,omitempty"` // Slack workspace of the user
	Name string `json:"name"`           // for people
	Via  Via    `json:"via"`
}

// clock is the actor of what wafbot does by itself.
var clock = Actor{ID: "wafbot", Name: "wafbot", Via: ViaClock}

// Role is what a person may do; each includes the ones before it.
type Role int

// The roles.
const (
	NoRole Role = iota
	Viewer
	Responder
	Admin
)

var roleNames = []string{"nobody", "viewer", "responder", "admin"}

// String is the role's name.
func (r Role) String() string { return roleNames[r] }

// ParseRole reads a role's name.
func ParseRole(name string) (Role, bool) {
	i := slices.Index(roleNames, strings.ToLower(name))
	return Role(max(i, 0)), i > 0
}

// MarshalText is the role's name: what is kept and printed for programs must not change its meaning when a role is added.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a role's name.
func (r *Role) UnmarshalText(text []byte) error {
	role, ok := ParseRole(string(text))
	if !ok {
		return fmt.Errorf("read role: %q is none", text)
	}
	*r = role
	return nil
}

// Roles says who may do what.
type Roles struct {
	Viewers, Responders, Admins []string        // Slack user ids, or "*" for every full member of the workspace
	Terminal                    map[string]Role // by user of the operating system; not listed: Viewer
}

// Members knows the people of the Slack workspace.
type Members interface {
	// Member returns the user's name if he is a full member of the workspace (no guest, no stranger, no bot, not deactivated).
	// An error means that it could not be found out.
	Member(ctx context.Context, team, user string) (name string, full bool, err error)
}

// role is the actor's role and his name as the workspace knows it; unsure tells that the workspace did not answer.
func (r *Runner) role(ctx context.Context, a Actor) (role Role, name string, unsure bool) {
	switch a.Via {
	case ViaClock:
		return Admin, a.Name, false
	case ViaCLI:
		if role, ok := r.cfg.Roles.Terminal[strings.TrimPrefix(a.ID, "cli:")]; ok {
			return role, a.Name, false
		}
		return Viewer, a.Name, false
	}
	name, full, err := r.cfg.Members.Member(ctx, a.Team, a.ID)
	if err != nil {
		r.cfg.Log.Warn("look up member", "user", a.ID, "err", err)
		return min(r.cfg.Roles.of(a.ID), Viewer), a.Name, true
	}
	if !full {
		return NoRole, a.Name, false
	}
	if name == "" {
		name = a.Name
	}
	return r.cfg.Roles.of(a.ID), name, false
}

// of is the highest role that lists the user or everybody.
func (r Roles) of(user string) Role {
	lists := map[Role][]string{Viewer: r.Viewers, Responder: r.Responders, Admin: r.Admins}
	for _, role := range []Role{Admin, Responder, Viewer} {
		if slices.Contains(lists[role], user) || slices.Contains(lists[role], "*") {
			return role
		}
	}
	return NoRole
}

func (r *Runner) needRole(c *Call, least Role) error {
	if c.Role >= least {
		return nil
	}
	who := Say("Nobody is one yet: see ", Code("policy"), " in the configuration")
	if c.Actor.Via == ViaCLI {
		who = Say("At the terminal ", Code("policy.terminal"), " in the configuration file gives roles, as ", Code("terminal: {"+strings.TrimPrefix(c.Actor.ID, "cli:")+": "+least.String()+"}"))
	} else if ids := r.cfg.Roles.list(least); len(ids) > 0 {
		who = Say("Ask ")
		for i, id := range ids[:min(3, len(ids))] {
			if i > 0 {
				who = Say(who, ", ")
			}
			who = Say(who, User(id))
		}
	}
	return &Refusal{Kind: ErrDenied, Text: Say(Code(c.Cmd.Name), " needs the role ", Bold(least.String()), "; yours is ", c.Role.String(), ". ", who, ". Nothing was done")}
}

// list is who has at least that role, each once and "*" left out.
func (r Roles) list(least Role) []string {
	all := r.Admins
	if least <= Responder {
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
