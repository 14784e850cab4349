package call

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// AuditTrail gives the audit log entry by entry, for those who read all of it.
type AuditTrail interface {
	// Trail are the account's entries since then, the oldest first. One that can't be read comes with its number, if that can be, and
	// record.ErrBadEntry; after another error there are no more.
	Trail(ctx context.Context, account string, since time.Time) iter.Seq2[record.AuditEntry, error]
	// Audited is the number of the account's last entry; 0 if there never was one.
	Audited(ctx context.Context, account string) (int64, error)
}

// Command is one verb. It reads, plans or writes: what plans, the Runner carries out, so that nothing else ever changes the service;
// what writes changes the store only, as the owner of an attack.
type Command struct {
	Name    string
	Aliases []string
	Summary string // one line for help
	Example string // a line for help that says more than its usage; "" where it would not
	Args    []Arg
	Flags   []string
	Role    record.Role // the least role
	Parts   int         // how many changes one line makes; 0: one
	// Past lets the command be about an attack of which only the evidence is left, named by its whole id.
	Past bool
	// AnyAccount lets the command work without an account, or over all of them.
	AnyAccount bool
	// Needs are facts without argument that the command always works on. It may ask for others as it goes, in one more round.
	Needs []Fact
	Read  func(c *Call) (Result, error)
	Plan  func(c *Call) ([]Plan, error)
	Write func(c *Call) (Result, error)
	// ReadTrail reads the whole audit log, for a line with an object; nil: no line does.
	ReadTrail func(ctx context.Context, c *Call, log AuditTrail) (Result, error)
	// Missing tells whether a line leaves out what it must have, beside the arguments that are required; nil: nothing else.
	Missing func(l record.Line) bool
	// Form changes the form that the description of the arguments makes; nil: that one is good.
	Form func(c *Call, f *Form)
	// Changes tells whether a line of a command with both Read and Plan changes something; nil: it does if it has Plan or Write.
	Changes func(l record.Line) bool
	// Decide decides an approval request; the Runner carries out what was approved.
	Decide func(c *Call) (Decision, error)
}

// DoesChange reports whether a line of the command asks for a change, at the service or in the store.
func (c *Command) DoesChange(l record.Line) bool {
	if c.Changes != nil {
		return c.Changes(l)
	}
	return c.Plan != nil || c.Write != nil || c.Decide != nil
}

// LookUp finds a command by its name or an alias.
func LookUp(commands []*Command, name string) (*Command, error) {
	var known []string
	for _, c := range commands {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c, nil
		}
		known = append(append(known, c.Name), c.Aliases...)
	}
	text := text.New(refusal.Typed(name), " is no command", grammar.Hint(name, known), ". ", text.Code("help"), " lists them")
	return nil, &refusal.Refusal{Kind: refusal.ErrUnknown, Text: text}
}

// Brief is the usage without what is rarely typed, so that the list is readable on a phone.
func (c *Command) Brief() string {
	rare := func(arg Arg) bool { return !arg.Object && !arg.Required }
	short := Command{Name: c.Name, Args: slices.DeleteFunc(slices.Clone(c.Args), rare)}
	return short.Usage()
}
