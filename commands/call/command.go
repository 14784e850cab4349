package call

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

// Command is one verb. It reads, plans or writes: what plans, the Runner carries out, so that nothing else ever changes
// the service; what writes changes the store only, as the owner of an attack.
type Command struct {
	Name    string
	Aliases []string
	Summary string // one line for help
	Example string // a line for help that says more than its usage; "" where it would not
	Args    []Arg
	Flags   []string
	Role    record.Role // the least role
	Parts   int         // how many changes one line makes at most; 0: one
	// Past lets the command be about an attack that has only its evidence left, named by its whole id.
	Past bool
	// AnyAccount lets the command work without an account, or over all of them.
	AnyAccount bool
	Needs      Rounds
	Read       func(c *Call) (Result, error)
	Plan       func(c *Call) ([]Plan, error)
	Write      func(c *Call) (Result, error)
	// ReadTrail reads the whole audit log, for a line with an object; nil: no line does.
	ReadTrail func(ctx context.Context, c *Call, log *store.Audit) (Result, error)
	// Typed is a line, with the name or alias that was typed, as it is meant; nil: as it stands.
	Typed func(l record.Line) (record.Line, error)
	// Missing says whether a line leaves out what it must have, beside the arguments that are required; nil: nothing else.
	Missing func(l record.Line) bool
	// Form changes the form that the description of the arguments makes; nil: that one is good.
	Form func(c *Call, f *Form)
	// Changes says whether a line of a command with both Read and Plan changes something; nil: it does if it has Plan or
	// Write.
	Changes func(l record.Line) bool
	// Decide decides an approval request; the Runner carries out what was approved.
	Decide func(c *Call) (Decision, error)
}

// CanChange reports whether a line of the command can ask for a change, at the service or in the store.
func (c *Command) CanChange() bool { return c.Plan != nil || c.Write != nil || c.Decide != nil }

// DoesChange reports whether this line of the command asks for a change.
func (c *Command) DoesChange(l record.Line) bool {
	if c.Changes != nil {
		return c.Changes(l)
	}
	return c.CanChange()
}

// LookUp finds a command by its name or an alias. With an error it gives one that does nothing.
func LookUp(commands []*Command, name string) (*Command, error) {
	var known []string
	for _, c := range commands {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c, nil
		}
		known = append(append(known, c.Name), c.Aliases...)
	}
	words := text.Newf("Unknown command: %v%v. `help` lists them", refusal.Typed(name), grammar.Hint(name, known))
	if name == "snooze" || name == "resolve" {
		words = text.Newf("Unknown command: `%v`. Nothing was changed. `mute` suppresses notifications for a while, "+
			"`ack` says that you are on it, `verdict` says what it was", name)
	}
	return &Command{}, &refusal.Refusal{Kind: refusal.ErrUnknown, Text: words}
}

// Brief is the usage without what is rarely typed, so that the list is readable on a phone.
func (c *Command) Brief() string {
	rare := func(arg Arg) bool { return !arg.Object && !arg.Required }
	short := Command{Name: c.Name, Args: slices.DeleteFunc(slices.Clone(c.Args), rare)}
	return short.Usage()
}

// Plan is one change as it would be made, by what the service listed just now.
type Plan struct {
	Line     record.Line   // canonical, of this change alone
	Does     string        // "Deny 203.0.113.7 everywhere for 4 h"
	When     string        // "in about 1 min"
	Steps    []record.Step // none: Nothing says why, or only the store changes
	Until    time.Time
	Nothing  text.Text   // why there is nothing to do
	Role     record.Role // the least role, where that depends on what stands there
	Warnings refusal.Warnings
	Notes    text.Lines // what else the person should know afterwards
	Undoes   string     // the change that this one undoes
	Extends  string     // the change whose end this one moves
	Renews   time.Time  // to when wafbot prolongs it while its source still tries; zero: it doesn't
	Part     string     // tells it from the line's other plans, if their number varies; "": its place does
	Later    bool       // the undo is planned when its turn comes: the ones before it decide about it
}

// Effect is what makes the plan the same as another.
func (p Plan) Effect() string { return Effect(p.Line) }

// Effect is what makes two requests the same: the line without why and what for.
func Effect(l record.Line) string { return l.With("reason", "").With("attack", "").String() }

// Decision is what a person decided about an approval request.
type Decision struct {
	Request record.ApprovalRequest
	As      record.RequestState
	Why     string
	Line    record.Line // to carry out as the asker's; none of a rejection
	Begun   bool        // decided by this very delivery before, or cut short
}
