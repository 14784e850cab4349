package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Via says how a request came.
type Via string

// The ways a request comes. ViaPager is a pager on which somebody acknowledged, ViaClock is wafbot itself, ending what
// was made for a time.
const (
	ViaSlash   Via = "slash"
	ViaMention Via = "mention" // also a message to the bot alone
	ViaButton  Via = "button"
	ViaForm    Via = "form"
	ViaCLI     Via = "cli"
	ViaPager   Via = "pager"
	ViaClock   Via = "clock"
)

// Actor is who asks.
type Actor struct {
	ID   string `json:"id"`             // Slack user id, "cli:<os user>", or "pagerduty:<user id there>"
	Team string `json:"team,omitempty"` // id of the Slack workspace as whose user the person is known; "": at a terminal
	Name string `json:"name"`           // for people
	Via  Via    `json:"via"`
}

// Is reports whether both are one person: ids are unique in a workspace, not beyond. A team is missing at a terminal,
// and in what was rebuilt of somebody who might change something, which takes a user of wafbot's own workspace.
func (a Actor) Is(other Actor) bool {
	return a.ID == other.ID && (a.Team == other.Team || a.Team == "" || other.Team == "")
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

var roleNames = []string{"none", "viewer", "responder", "admin"}

// String is the role's name.
func (r Role) String() string { return roleNames[r] }

// ParseRole reads a role's name.
func ParseRole(name string) (Role, bool) {
	i := slices.Index(roleNames, strings.ToLower(name))
	return Role(max(i, 0)), i > 0
}

// MarshalText is the role's name: what is kept and printed for programs must not change its meaning when a role is
// added.
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

// IsBy reports whether an entry is by a user whose name or id holds that; "" is in every name.
func (e AuditEntry) IsBy(who string) bool {
	return strings.Contains(strings.ToLower(e.Actor.Name+" "+e.Actor.ID), who)
}

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	N       int64     `json:"n"` // counts up in each account; 0: Redis was away and has no such entry
	At      time.Time `json:"at"`
	Account string    `json:"account"`
	Actor   Actor     `json:"actor"`
	Line    string    `json:"line"`
	// done, half, failed, unknown, refused, nothing, dry_run, asked; of an approval request waiting, approved, overridden,
	// rejected, closed, expired
	Outcome string `json:"outcome"`
	Change  string `json:"change,omitempty"`
	Request string `json:"request,omitempty"`
	// RequestID is what the log calls the request that this came of; "": an older version wrote the entry.
	RequestID string   `json:"request_id,omitempty"`
	Approved  *Actor   `json:"approved,omitempty"` // who approved the change
	Attack    string   `json:"attack,omitempty"`
	Before    []string `json:"before,omitempty"` // what stood there
	After     []string `json:"after,omitempty"`  // what was sent, or written down
	Why       string   `json:"why,omitempty"`    // the reason given, or why it was refused
}

// ErrBadEntry says that an audit entry is kept in a form that can't be read.
var ErrBadEntry = errors.New("the audit entry can't be read")
