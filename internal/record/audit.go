package record

import (
	"errors"
	"strings"
	"time"
)

// IsBy reports whether an entry is by somebody whose name or id holds that; "" is in everybody's.
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
	// done, half, failed, unknown, refused, nothing, dry_run, asked; of an approval request waiting, approved, overridden, rejected, closed, expired
	Outcome  string   `json:"outcome"`
	Change   string   `json:"change,omitempty"`
	Request  string   `json:"request,omitempty"`
	Approved *Actor   `json:"approved,omitempty"` // who approved the change
	Attack   string   `json:"attack,omitempty"`
	Before   []string `json:"before,omitempty"` // what stood there
	After    []string `json:"after,omitempty"`  // what was sent, or written down
	Why      string   `json:"why,omitempty"`    // the reason given, or why it was refused
}

// ErrBadEntry says that an audit entry is kept in a form that can't be read.
var ErrBadEntry = errors.New("the audit entry can't be read")
