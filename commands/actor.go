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
	Viewers, Responders, Admins []string        // Slack user ids, user group ids, or "*" for every full member of the workspace
	Terminal                    map[string]Role // by user of the operating system; not listed: Viewer
}

// Members knows the people of the Slack workspace.
type Members interface {
	// Member returns the user's name if he is a full member of the workspace (no guest, no stranger, no bot, not deactivated).
	// An error means that it could not be found out.
	Member(ctx context.Context, team, user string) (name string, full bool, err error)
	// Groups are those of the user groups that the user is in. After an error they are what was last known, which may be over.
	Groups(ctx context.Context, user string, of []string) (in []string, err error)
}
