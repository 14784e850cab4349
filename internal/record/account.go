package record

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// AccountContext is what guards and cards need to know of an account beside its attacks.
type AccountContext struct {
	Protected     []Protected
	RulesLockedAt time.Time                     // when the service last said that its rules are locked; zero: not lately
	Sources       map[netip.Addr]SourceActivity // the busiest of the sources that are in several attacks
	Mutes         []Mute                        // some may be over
	Damaged       []string                      // what couldn't be read in Redis and was set aside, as KEY or KEY FIELD
}

// Guarded are the protected ranges. Where these were damaged, any denial may hit one: until they are protected again
// each needs approval.
func (c AccountContext) Guarded() []Protected {
	all := slices.Clip(c.Protected)
	if slices.ContainsFunc(c.Damaged, func(name string) bool { return strings.HasSuffix(name, ":protected") }) {
		for _, whole := range []string{"0.0.0.0/0", "::/0"} {
			all = append(all, Protected{Range: netip.MustParsePrefix(whole), Name: "what admins protected is damaged",
				Deny: "approval"})
		}
	}
	return all
}

// Basis is what each change of an account goes by, as it was stored at one moment.
type Basis struct {
	Changes  []Change // the newest first
	Context  AccountContext
	Loss     PermissionLoss
	Attack   string           // the one that the change is about; "": none
	Known    apiclient.Attack // that attack as it is stored; zero: it isn't
	Triage   Triage           // of that attack
	Observed Observation      // of that attack, as the poller last decided about it; zero: it isn't known
}

// SourceActivity is in how many attacks of an account within its lookback a source is, and how far these spread.
type SourceActivity struct {
	Attacks int `json:"n"`
	Apps    int `json:"a"` // on how many applications
	Types   int `json:"t"` // of how many types
	Hours   int `json:"h"` // in how many different hours they began
}

// OtherAttacks is in how many attacks the source is, this one not counted.
func (s SourceActivity) OtherAttacks(a *apiclient.Attack, source netip.Addr) int {
	if a == nil || a.Result() || a.FalsePositive() { // which aren't counted
		return s.Attacks
	}
	for _, listed := range a.Sources {
		if listed.IP == source {
			return max(0, s.Attacks-1)
		}
	}
	return s.Attacks
}

// Outage is a time in which an account could not be polled.
type Outage struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"` // zero: it goes on
	Why   string    `json:"why,omitempty"`  // for people; "": wafbot was not running, as far as it knows
}

// Cap is what an account has more of than wafbot watches: then only the newest attacks and all incidents are watched.
type Cap struct {
	Over    string    `json:"over,omitempty"`     // what there is too much of, for people; "": all attacks are watched
	Edge    time.Time `json:"edge,omitzero"`      // unknown attacks last hit by then were dropped: they are no events, also later
	TooLong string    `json:"too_long,omitempty"` // records of any listing that are skipped, by their places; "": none are
}

// Says tells people what a cap means; "" if there is none.
func (c Cap) Says() string {
	if c.Over == "" {
		return ""
	}
	return c.Over + ": only the newest and all incidents are watched"
}

// Permission is a kind of change that the service allows or refuses.
type Permission string

// The permissions. A refused token has none of them.
const (
	PermissionAll   Permission = "change anything"
	PermissionLists Permission = "change IP lists"
	PermissionModes Permission = "switch modes"
	PermissionRules Permission = "change patches and other rules"
)

// PermissionLoss is a time in which the service refuses changes to an account, because of wafbot's token or of its
// role.
type PermissionLoss struct {
	Account  string          `json:"account"`
	Since    time.Time       `json:"since"`          // of the first refusal; zero: there was none yet
	Until    time.Time       `json:"until,omitzero"` // when the service took such a change again; zero: it goes on
	Revision int             `json:"revision"`       // counts how often it was stored
	Status   int             `json:"status"`         // HTTP status of the last refusal
	Lacks    []Permission    `json:"lacks"`
	Refused  []RefusedChange `json:"refused"` // what is not done, the oldest first
	More     int             `json:"more,omitempty"`
}

// RefusedChange is a change that the service refused.
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
func (t PermissionLoss) ID() string { return fmt.Sprintf("permission-%d", t.Since.UnixMilli()) }

// GoesOn reports whether the service still refuses, as far as is known.
func (t PermissionLoss) GoesOn() bool { return !t.Since.IsZero() && t.Until.IsZero() }

// LacksPermission reports whether changes of that kind are refused.
func (t PermissionLoss) LacksPermission(p Permission) bool {
	return slices.Contains(t.Lacks, PermissionAll) || slices.Contains(t.Lacks, p)
}

// Cannot is what wafbot can't do, in words.
func (t PermissionLoss) Cannot() string {
	if slices.Contains(t.Lacks, PermissionAll) || len(t.Lacks) == 0 {
		return string(PermissionAll)
	}
	if lists, rules := t.LacksPermission(PermissionLists), t.LacksPermission(PermissionRules); lists && rules &&
		t.LacksPermission(PermissionModes) {
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
