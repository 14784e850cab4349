package commands

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// State is how far a change has come.
type State string

// The states of a change.
const (
	StateBegun  State = "begun"  // recorded, perhaps sent: whoever finds it looks before sending again
	StateDone   State = "done"   // accepted by the service
	StateHalf   State = "half"   // some steps were done, then one failed
	StateFailed State = "failed" // nothing of it was done
	StateUndone State = "undone"
)

// Change is one thing that wafbot was asked to do to the service and what became of it.
type Change struct {
	ID       string    `json:"id"`
	Account  string    `json:"account"`
	Line     Line      `json:"line"`              // canonical
	Effect   string    `json:"effect"`            // the line without reason and attack: equal effects are one
	AttackID string    `json:"attack,omitempty"`  // what it is for, as AttackID makes it
	Does     string    `json:"does"`              // in words: "Deny 203.0.113.7 everywhere"
	When     string    `json:"when,omitempty"`    // when it works: "in about 1 min"
	Role     Role      `json:"role,omitempty"`    // the least role that may ask for it
	Undoes   string    `json:"undoes,omitempty"`  // the change that this one takes back
	Extends  string    `json:"extends,omitempty"` // the change whose end this one moves
	Actor    Actor     `json:"actor"`
	Approved *Actor    `json:"approved,omitempty"` // the second person; nil: none was needed, or none answered
	Alone    bool      `json:"alone,omitempty"`    // it needed a second person, and none answered
	Request  string    `json:"request,omitempty"`  // by which it was made
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
	Seen     *Sight    `json:"seen,omitempty"` // the attack as wafbot last saw it then; nil: not known
	Until    time.Time `json:"until,omitzero"` // zero: no end
	Renew    time.Time `json:"renew,omitzero"` // wafbot prolongs it to then at most, while one of its addresses knocks; zero: it doesn't
	State    State     `json:"state"`
	Steps    []Step    `json:"steps"`
	Fault    string    `json:"fault,omitempty"` // for people: why it failed
	EndedBy  *Actor    `json:"ended_by,omitempty"`
	EndedAt  time.Time `json:"ended_at,omitzero"`
	Gone     bool      `json:"gone,omitempty"` // nothing of it was left when it was taken back
	Asked    time.Time `json:"asked,omitzero"` // the end of which people were asked whether it is to come
	Late     *Late     `json:"late,omitempty"` // its end is overdue; of an undo, the end that it brought about was
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
	Again  bool               `json:"again,omitempty"` // sent a second time, because the first could not be seen: both may have taken place
	Done   bool               `json:"done,omitempty"`
	ID     int64              `json:"id,omitempty"` // of the entry or rule that was made
}

// InForce reports whether the change still does something at the given time.
func (c Change) InForce(at time.Time) bool {
	return (c.State == StateDone || c.State == StateHalf) && (c.Until.IsZero() || at.Before(c.Until))
}

// Amends is the change that this one takes back or prolongs, whose line tells of both; "" for one of its own.
func (c Change) Amends() string { return cmp.Or(c.Undoes, c.Extends) }

// accepted says how far a finished change has come: of the end of a rule only wafbot knows.
func (c Change) accepted() Text {
	switch {
	case c.Extends != "" && len(c.Steps) == 0:
		return Say("done; the service need not know")
	case c.When == "":
		return Say("accepted by the service")
	}
	return Say("accepted by the service, works ", c.When)
}

// mustBeEnded reports whether wafbot itself has to end the change: the service lets entries expire, but never rules.
func (c Change) mustBeEnded() bool {
	for _, s := range c.Steps {
		if s.Sent && s.Rule != nil {
			return !c.Until.IsZero()
		}
	}
	return false
}

// partly reports whether something of the change was done.
func (c Change) partly() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Done })
}

// superseded reports whether a change made since has taken away what this one made.
func (c Change) superseded(all []Change) bool {
	takes := func(made Step) bool {
		return slices.ContainsFunc(all, func(later Change) bool {
			return later.State != StateUndone && slices.ContainsFunc(later.Steps, func(s Step) bool { return s.Done && c.deletedBy(all, s, made) })
		})
	}
	return slices.ContainsFunc(c.Steps, takes)
}

func (c Change) deletedBy(all []Change, s, made Step) bool {
	switch {
	case !made.Done:
		return false
	case s.Kind == DeleteRule && made.Kind == CreateRule:
		return s.Rule.ID == ruleNow(all, made.ID)
	case s.Kind == DeleteEntry && made.Kind == AddEntry:
		return ours(*s.Entry, c, made)
	}
	return false
}

// DueAt is when wafbot itself has to end the change; zero for never.
func (c Change) DueAt() time.Time {
	if (c.State == StateDone || c.State == StateHalf || c.State == StateBegun) && c.mustBeEnded() {
		return c.Until
	}
	return time.Time{}
}

// Ledger remembers changes. An error of any of its methods means that nothing may be changed now.
type Ledger interface {
	// Lock makes changes to one account run one after another, over all processes. It fails with ErrEmptied while what Redis lost is being
	// read back. The context it returns ends when the lock is lost.
	Lock(ctx context.Context, account string) (held context.Context, lock Lock, err error)
	// Changes are the account's changes, the newest first: all that are in force and those that ended lately.
	Changes(ctx context.Context, account string) ([]Change, error)
	// Effects are what was seen of the account's changes, by their ids.
	Effects(ctx context.Context, account string) (map[string]Effect, error)
}

// Lock is the right to change one account. Its methods fail with ErrLost when somebody else has it by now.
type Lock interface {
	// SaveChanges writes changes down, new or again, with the times at which they are to be looked at, and an audit entry if there is one, whose
	// number it gives: all in one step. The first is told to people.
	SaveChanges(ctx context.Context, entry *AuditEntry, all ...Change) (n int64, err error)
	// SaveLooks writes down what came of looking at changes, and has people told what they are to be told, in one step.
	SaveLooks(ctx context.Context, all ...Look) error
	SaveCase(ctx context.Context, attack string, c Case) error
	// SaveMutes puts these in the place of all of the account's, and has the cards of attacks be drawn again that they are or were about.
	SaveMutes(ctx context.Context, all []Mute, attacks ...string) error
	// SaveProtected puts these in the place of all of the account's, and has the cards of attacks be drawn again that come from there.
	SaveProtected(ctx context.Context, all []Protected, attacks ...string) error
	// SaveLocked keeps for a while when the service said that its rules are locked; zero: they are no longer.
	SaveLocked(ctx context.Context, at time.Time) error
	// SaveTied writes a spell of refused changes down, and has people told of it in the same step.
	SaveTied(ctx context.Context, t Tied) error
	// SaveRequest writes a request for a second person down, new or again, with its audit entry if there is one, whose number it gives, and the time at which it
	// is to be looked at; people are told of it in the same step.
	SaveRequest(ctx context.Context, entry *AuditEntry, q Request) (n int64, err error)
	// SaveDrill puts a drill in the place of the account's last one.
	SaveDrill(ctx context.Context, d Drill) error
	Unlock()
}

// What the Ledger can't do just now.
var (
	ErrLost  = errors.New("the account's lock was lost")
	ErrNewer = errors.New("redis holds the state of a newer wafbot: update this one, or take it out of service")
)

// Due tells which changes have to be looked at.
type Due interface {
	// DueChanges are the ids of the account's changes at which it is time to look, what has waited longest first.
	DueChanges(ctx context.Context, account string, now time.Time) ([]string, error)
}

// Facts are attacks as they were last seen by the poller.
type Facts interface {
	// FindAttacks are the account's remembered attacks whose id, as AttackID makes it, begins so; by that id.
	FindAttacks(ctx context.Context, account, prefix string) (map[string]apiclient.Attack, error)
}

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	N       int64     `json:"n"` // counts up in each account; 0: Redis was away and has no such entry
	At      time.Time `json:"at"`
	Account string    `json:"account"`
	Actor   Actor     `json:"actor"`
	Line    string    `json:"line"`
	// done, half, failed, unknown, refused, nothing, rehearsed, asked; of a request for a second person waiting, approved, alone, rejected, closed, expired
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

// AuditLog keeps the audit entries.
type AuditLog interface {
	// Append numbers and keeps an entry.
	Append(ctx context.Context, e AuditEntry) (n int64, err error)
	// Entries are the account's entries since then, the newest first.
	Entries(ctx context.Context, account string, since time.Time) ([]AuditEntry, error)
	// Trail are the account's entries since then, the oldest first, read as they are wanted. One that can't be read comes with its number, if
	// that can be, and ErrBadEntry; after another error there are no more.
	Trail(ctx context.Context, account string, since time.Time) iter.Seq2[AuditEntry, error]
	// Audited is the number of the account's last entry, also of one that is no longer kept; 0 if there never was one.
	Audited(ctx context.Context, account string) (int64, error)
}
