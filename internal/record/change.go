package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// State is how far a change has come.
type State string

// The states of a change.
const (
	StateBegun  State = "begun"  // stored, perhaps sent: it is verified before anything is sent again
	StateDone   State = "done"   // accepted by the service
	StateHalf   State = "half"   // some steps were done, then one failed
	StateFailed State = "failed" // nothing of it was done
	StateUndone State = "undone"

	StateUnreadable State = "unreadable" // its record is damaged: nothing but its id is known, perhaps it is in force
)

// Change is one thing that wafbot was asked to do to the service and what became of it.
type Change struct {
	ID           string       `json:"id"`
	Account      string       `json:"account"`
	Line         Line         `json:"line"`              // canonical
	Effect       string       `json:"effect"`            // the line without reason and attack: equal effects are one
	AttackID     string       `json:"attack,omitempty"`  // what it is for, as AttackID makes it
	Does         string       `json:"does"`              // in words: "Deny 203.0.113.7 everywhere"
	When         string       `json:"when,omitempty"`    // when it works: "in about 1 min"
	Role         Role         `json:"role,omitempty"`    // the least role that may ask for it
	Undoes       string       `json:"undoes,omitempty"`  // the change that this one undoes
	Extends      string       `json:"extends,omitempty"` // the change whose end this one moves
	With         string       `json:"with,omitempty"`    // the first of the changes that were claimed together; "": it is alone, or the first
	Actor        Actor        `json:"actor"`
	Approved     *Actor       `json:"approved,omitempty"`   // who approved it; nil: no approval was needed, or it was overridden
	Overridden   bool         `json:"overridden,omitempty"` // it needed approval, and the asker did it without
	Request      string       `json:"request,omitempty"`    // by which it was made
	Reason       string       `json:"reason,omitempty"`
	At           time.Time    `json:"at"`
	Observed     *Observation `json:"observed,omitempty"` // the attack as the poller last saw it then; nil: not known
	Until        time.Time    `json:"until,omitzero"`     // zero: no end
	Renew        time.Time    `json:"renew,omitzero"`     // wafbot prolongs it to then at most, while one of its addresses still tries; zero: it doesn't
	State        State        `json:"state"`
	Steps        []Step       `json:"steps"`
	Fault        string       `json:"fault,omitempty"` // for people: why it failed
	EndedBy      *Actor       `json:"ended_by,omitempty"`
	EndedAt      time.Time    `json:"ended_at,omitzero"`
	ModeVerified bool         `json:"mode_verified,omitempty"` // the listing was read after it set a mode, and what was wrong is its Fault
	Gone         bool         `json:"gone,omitempty"`          // nothing of it was left when it was undone
	Asked        time.Time    `json:"asked,omitzero"`          // the end that people were asked about
	CheckAt      time.Time    `json:"check_at,omitzero"`       // when it is to be looked at next; zero: never
	Late         *Late        `json:"late,omitempty"`          // its end is overdue; of an undo, the end that it brought about was
}

// StepKind is what a step does.
type StepKind string

// The kinds of steps: everything that wafbot can change.
const (
	AddEntry    StepKind = "add_entry"
	DeleteEntry StepKind = "delete_entry"
	CreateRule  StepKind = "create_rule"
	DeleteRule  StepKind = "delete_rule"
)

// Step is one call that changes the service, written down before it is sent and again when its outcome is known.
type Step struct {
	Kind  StepKind          `json:"kind"`
	Entry *apiclient.IPRule `json:"entry,omitempty"` // to add; or to delete, whole, so that it can be put back
	Force bool              `json:"force,omitempty"` // overwrite the entries in Before
	Rule  *apiclient.Rule   `json:"rule,omitempty"`  // to create; or to delete, whole

	Before []apiclient.IPRule `json:"before,omitempty"` // what the entry takes the place of
	Equal  []int64            `json:"equal,omitempty"`  // rules that were equal before: none of them is ours
	Sent   bool               `json:"sent,omitempty"`
	SentAt time.Time          `json:"sent_at,omitzero"` // when it was sent last, as far as is known; of one that is done, when its answer came
	Again  bool               `json:"again,omitempty"`  // sent a second time, because the first could not be seen: both may have been done
	Done   bool               `json:"done,omitempty"`
	ID     int64              `json:"id,omitempty"` // of the entry or rule that was made
}

// IndexChange is where the change with that id is; -1 if it is not among them.
func IndexChange(all []Change, id string) int {
	return slices.IndexFunc(all, func(c Change) bool { return c.ID == id })
}

// InForce reports whether the change still does something at the given time.
func (c Change) InForce(at time.Time) bool {
	return (c.State == StateDone || c.State == StateHalf) && (c.Until.IsZero() || at.Before(c.Until))
}

// Parent is the change that this one undoes or extends, whose line names both; "" for one of its own.
func (c Change) Parent() string { return cmp.Or(c.Undoes, c.Extends) }

// ClaimedAs is the change under whose id this one was claimed.
func (c Change) ClaimedAs() string { return cmp.Or(c.With, c.ID) }

// MustBeEnded reports whether wafbot itself has to end the change: the service lets entries expire, but never rules.
func (c Change) MustBeEnded() bool {
	for _, s := range c.Steps {
		if s.Sent && s.Rule != nil {
			return !c.Until.IsZero()
		}
	}
	return false
}

// Did are the change's steps of a kind that were done.
func (c Change) Did(kind StepKind) (steps []Step) {
	for _, s := range c.Steps {
		if s.Kind == kind && s.Done {
			steps = append(steps, s)
		}
	}
	return steps
}

// Partly reports whether something of the change was done.
func (c Change) Partly() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Done })
}

// DueAt is when wafbot itself has to end the change; zero for never.
func (c Change) DueAt() time.Time {
	if (c.State == StateDone || c.State == StateHalf || c.State == StateBegun) && c.MustBeEnded() {
		return c.Until
	}
	return time.Time{}
}

// Unseeable says why it can't be seen whether the change works; "" where one can.
func (c Change) Unseeable() string {
	for _, s := range c.Steps {
		switch {
		case s.Kind == AddEntry && s.Entry.List == apiclient.ListAllow:
			return "an allowed source looks as any that gets through"
		case s.Kind == AddEntry && s.Entry.List == apiclient.ListGray:
			return "gray sources are blocked in safe_blocking mode only, and which hits those are isn't listed"
		case s.Kind == AddEntry && s.Entry.Kind != apiclient.KindRange && s.Entry.Kind != apiclient.KindCountry:
			return "the service doesn't list which sources are of that kind"
		case s.Kind == CreateRule && s.Rule.Type == apiclient.RuleRegex:
			return "the service doesn't list which requests match"
		case s.Kind == CreateRule && s.Rule.Type == apiclient.RuleMode && len(s.Rule.Conditions) == 0:
			return "it depends on which applications have a mode of their own"
		case s.Kind == CreateRule && s.Rule.Type == apiclient.RuleMode && s.Rule.Mode != apiclient.ModeBlock:
			return "no record shows by which mode it was let through"
		}
	}
	return ""
}

// Expired reports whether the change had ended by itself at a time.
func (c Change) Expired(at time.Time) bool { return !c.Until.IsZero() && !at.Before(c.Until) }

// CreatesRules reports whether the change made a rule, of whose end the service knows nothing.
func (c Change) CreatesRules() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Kind == CreateRule })
}

// Prolong moves the change's end, never to an earlier one.
func (c *Change) Prolong(until time.Time) {
	if !c.Until.IsZero() && (until.IsZero() || until.After(c.Until)) {
		c.Until = until
	}
}

// Late is an end that wafbot could not bring about when it was due.
type Late struct {
	Due time.Time `json:"due"`
	Why string    `json:"why"` // for people: why the first try failed
}

// Overdue reports whether wafbot should have ended the change and has not: it still does what it does.
func (c Change) Overdue(now time.Time) bool {
	return (c.State == StateDone || c.State == StateHalf) && !c.DueAt().IsZero() && !now.Before(c.DueAt())
}

// SwitchesMode reports whether the change set a filtration mode.
func (c Change) SwitchesMode() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool {
		return s.Kind == CreateRule && s.Rule.Type == apiclient.RuleMode
	})
}

// Denies reports whether a change put an attack's source on the denylist.
func (c Change) Denies(source apiclient.Source) bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool {
		return s.Kind == AddEntry && s.Done && s.Entry.List == apiclient.ListDeny && s.Entry.Kind == apiclient.KindRange &&
			source.In(s.Entry.Subnet)
	})
}

// Refused is what became of a change whose step the service refused.
func (c Change) Refused() RefusedChange {
	left := slices.DeleteFunc(slices.Clone(c.Steps), func(s Step) bool { return s.Done })
	return RefusedChange{Line: c.Line, Does: c.Does, Ends: c.Undoes, Half: c.Partly(), By: c.Actor, At: c.At, Steps: left}
}

// maxOpen is how many open changes are named.
const maxOpen = 20

// SayOpen names open changes, each with its end.
func SayOpen(open []Change) string {
	var all []string
	for _, c := range open[:min(len(open), maxOpen)] {
		until := "without an end"
		if !c.Until.IsZero() {
			until = "until " + c.Until.UTC().Format("2006-01-02 15:04 UTC")
		}
		all = append(all, fmt.Sprintf("%s (%s, %s)", c.ID, c.Does, until))
	}
	if more := len(open) - maxOpen; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}
