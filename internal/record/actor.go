package record

import (
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
