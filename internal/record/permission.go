package record

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Power is a kind of change that the service allows or refuses.
type Permission string

// The powers. A refused token has none of them.
const (
	PermissionAll   Permission = "change anything"
	PermissionLists Permission = "change IP lists"
	PermissionModes Permission = "switch modes"
	PermissionRules Permission = "change patches and other rules"
)

// Tied is a spell in which the service refuses changes to an account: because of wafbot's token, or of what it may do.
type PermissionLoss struct {
	Account  string          `json:"account"`
	Since    time.Time       `json:"since"`          // of the first refusal; zero: there was no spell yet
	Until    time.Time       `json:"until,omitzero"` // when the service took such a change again; zero: it goes on
	Revision int             `json:"revision"`       // counts what was written down of it
	Status   int             `json:"status"`         // HTTP status of the last refusal
	Lacks    []Permission    `json:"lacks"`
	Refused  []RefusedChange `json:"refused"` // what is not done, the oldest first
	More     int             `json:"more,omitempty"`
}

// Refused is a change that the service refused.
type RefusedChange struct {
	Line  Line      `json:"line"` // canonical, without the account
	Does  string    `json:"does"`
	Ends  string    `json:"ends,omitempty"` // the change that it would have ended
	Half  bool      `json:"half,omitempty"` // some of it was done
	By    Actor     `json:"by"`
	At    time.Time `json:"at"`
	Steps []Step    `json:"steps,omitempty"` // what would have to be done by hand; none: not known
}

// ID names the permission loss.
func (t PermissionLoss) ID() string { return fmt.Sprintf("tied-%d", t.Since.UnixMilli()) }

// GoesOn reports whether the service still refuses, as far as is known.
func (t PermissionLoss) GoesOn() bool { return !t.Since.IsZero() && t.Until.IsZero() }

// lacks reports whether changes of that kind are refused.
func (t PermissionLoss) LacksPermission(p Permission) bool {
	return slices.Contains(t.Lacks, PermissionAll) || slices.Contains(t.Lacks, p)
}

// Cannot is what wafbot can't do, in words.
func (t PermissionLoss) Cannot() string {
	if slices.Contains(t.Lacks, PermissionAll) || len(t.Lacks) == 0 {
		return string(PermissionAll)
	}
	if lists, rules := t.LacksPermission(PermissionLists), t.LacksPermission(PermissionRules); lists && rules && t.LacksPermission(PermissionModes) {
		return string(PermissionAll)
	} else if lists && rules {
		return "change IP lists, patches and other rules"
	}
	var words []string
	for _, p := range t.Lacks {
		words = append(words, string(p))
	}
	return strings.Join(words, " or ")
}
