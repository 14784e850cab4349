// Package commands is what wafbot can do, whoever asks: one file a command, and one door, Runner.Do.
package commands

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Command is one verb. It reads, plans or writes: what plans, the Runner carries out, so that nothing else ever changes the service;
// what writes changes wafbot's own memory only, as who is on an attack.
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
	// Decide settles a change that waits for a second person, which it may carry out.
	Decide func(c *Call) (Decision, error)
}

func (c *Command) changes(l record.Line) bool {
	if c.Changes != nil {
		return c.Changes(l)
	}
	return c.Plan != nil || c.Write != nil || c.Decide != nil
}

// list is all the verbs, in the order of help. A new command is one file and one line here.
func list() []*Command {
	return []*Command{
		status(), incidents(), attacks(), attack(), vulns(), summary(),
		contain(), deny(), allow(), gray(), lists(), remove(),
		patch(), closePath(), indicator(), mode(), rules(), conditions(), unrule(),
		undo(), extend(), approve(), reject(), alone(),
		claim(), release(), handover(), note(), verdict(), mute(), unmute(), explain(), report(), cards(),
		protect(), unprotect(), sources(),
		audit(), drill(), whoami(), help(),
	}
}

// Invocation is a request, however it came.
type Invocation struct {
	Line    record.Line  `json:"line"`
	Actor   record.Actor `json:"actor"`
	ID      string       `json:"id"`                // of the delivery: the same request again has the same
	At      time.Time    `json:"at"`                // when it was asked
	Account string       `json:"account,omitempty"` // the account of the place where it was asked, if the place has one
	Attack  string       `json:"attack,omitempty"`  // the attack in whose thread it was asked, as AttackID makes it
	Log     io.Reader    `json:"-"`                 // of audit verify at a terminal: what wafbot printed, to be held against its memory; nil: nothing
	Clicked time.Time    `json:"clicked,omitzero"`  // by Slack's clock; zero: it was no click
	Warned  bool         `json:"warned,omitempty"`  // the warnings that the line alone tells were shown, in a button's dialog
	Anyway  bool         `json:"anyway,omitempty"`  // all warnings were shown and accepted
	Ask     bool         `json:"ask,omitempty"`     // do nothing but say what would be done
}

// Result is what came of an invocation.
type Result struct {
	// Outcome is done, rehearsed, nothing, waiting (for a second person), rejected or closed; "" of a command that reads; failed of a check that
	// found something wrong.
	Outcome  string          `json:"outcome"`
	Lines    []text.Text     `json:"lines"`
	Changes  []record.Change `json:"changes,omitempty"`
	AttackID string          `json:"attack,omitempty"`
	Account  string          `json:"account,omitempty"`
	Data     any             `json:"data,omitempty"` // the same for programs
	Next     *record.Line    `json:"-"`              // shows what of a listing did not fit; nil: nothing is left
	// Document is Markdown to be copied, as it is: in a chat a page of it, under the lines; at a terminal all of it, in their place. "": there is none.
	Document string `json:"-"`
	// Stream is printed at a terminal in the place of the lines, each item as a line of JSON; nil: there is none.
	Stream iter.Seq2[any, error] `json:"-"`
	Parts  []Part                `json:"-"` // the same as Lines, with what can be done about each; none: Lines are all there is
	Saves  Saves                 `json:"-"` // of a command that writes
	Home   any                   `json:"-"` // of status: for a Home tab
}

// Setup is what the configuration says, as commands need it.
type Setup struct {
	Policy    Policy
	Roles     Roles
	Zone      *time.Location // of the times in a report
	AuditKeep time.Duration  // how long audit entries are kept; 0: not known
	Accounts  []*Account
	Commands  []*Command // all the verbs, in the order of help
}

// Call is an invocation on its way through the Runner: looked up, checked and allowed.
type Call struct {
	Setup
	loaded *facts
	Invocation
	Cmd     *Command
	Line    record.Line // canonical
	Account *Account    // nil if the command needs none and none was named
	All     []*Account  // the accounts it is about
	Role    record.Role
	Group   string // the id of the user group that gives the role; "": none does
	Now     time.Time
	Attack  *KnownAttack            // of attack=ID
	Implied bool                    // attack= was not typed: it is the attack in whose thread the line was
	Known   []record.Change         // of a change: the account's changes, the newest first
	scene   record.AccountContext   // of a call that changes the service; of others as far as they looked
	could   record.Role             // the highest role that a user group may give, when these can't be looked up
	needs   []record.ApprovalReason // why one person alone may not, as far as it was planned
	granted *record.ApprovalRequest // by which it is carried out; nil: by none
}

// Config is what a Runner works with. Accounts, Members, Ledger, Facts, Scenes, Records, Desk, Storms, Ties, Requests, Audit, Drills and Explain must be set.
type Config struct {
	Accounts []*Account
	Services map[string]Service // of the accounts, by name
	Policy   Policy
	Roles    Roles
	Members  Members
	Ledger   Ledger
	Facts    Facts
	Scenes   Scenes
	Records  Records
	Desk     Desk
	Storms   Storms
	Ties     Ties
	Requests Requests
	Watch    Watch // nil: nothing is known of what goes on
	Audit    AuditLog
	Drills   Drills
	// AuditKeep is how long audit entries are kept, for their check; 0: not known.
	AuditKeep time.Duration
	AuditOut  io.Writer                                           // each audit entry as a JSON line; nil: nowhere
	Log       *slog.Logger                                        // nil: discarded
	Now       func() time.Time                                    // nil: time.Now
	Zone      *time.Location                                      // of the times in a report; nil: UTC
	ReadBack  [2]time.Duration                                    // how long after a create of unknown outcome the rules are read back, twice; zero: 5 s and 30 s
	Changed   func(ctx context.Context, ch record.Change)         // told of each change when its outcome is written down, so that cards follow; nil: nobody
	Asked     func(ctx context.Context, q record.ApprovalRequest) // told of each request for a second person when it is written down, likewise
	Touched   func(ctx context.Context, t Touch)                  // told of each attack about which something was written down, likewise
	TookOver  func(ctx context.Context, t TakeOver)               // told of each take-over of attacks that others were on; nil: nobody
	Drilled   func(ctx context.Context, d record.Drill)           // told of each drill when it has begun or ended, so that its card follows; nil: nobody
	Health    func(account string) (HealthNow, bool)              // how polling goes, where it goes on in this process; nil: not known
	// CardLinks are where the cards of attacks can be opened, by attack, as far as they have one and that is known. It may be nil.
	CardLinks func(ctx context.Context, account string, attacks []string) map[string]string
	// Explain tells where an attack goes. After an error only what the configuration tells is known.
	Explain func(ctx context.Context, account string, a apiclient.Attack) (Routing, error)
}

// HealthNow is how watching an account goes.
type HealthNow struct {
	LastGood time.Time `json:"last_good,omitzero"`
	Failing  string    `json:"failing,omitempty"` // for people; "" when well
	Since    time.Time `json:"since,omitzero"`    // when it began to fail; zero: it does not, or that is not known
}

// Runner is the one door: every line, button and command of the terminal goes through Do.
type Runner struct {
	cfg   Config
	setup Setup
}

// New makes a Runner.
func New(cfg Config) *Runner {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if cfg.AuditOut == nil {
		cfg.AuditOut = io.Discard
	}
	if cfg.ReadBack == [2]time.Duration{} {
		cfg.ReadBack = [2]time.Duration{5 * time.Second, 30 * time.Second}
	}
	if cfg.Changed == nil {
		cfg.Changed = func(context.Context, record.Change) {}
	}
	if cfg.Asked == nil {
		cfg.Asked = func(context.Context, record.ApprovalRequest) {}
	}
	if cfg.Watch == nil {
		cfg.Watch = unwatched{}
	}
	if cfg.Touched == nil {
		cfg.Touched = func(context.Context, Touch) {}
	}
	if cfg.TookOver == nil {
		cfg.TookOver = func(context.Context, TakeOver) {}
	}
	if cfg.Drilled == nil {
		cfg.Drilled = func(context.Context, record.Drill) {}
	}
	return &Runner{cfg: cfg, setup: Setup{
		Policy: cfg.Policy, Roles: cfg.Roles, Zone: cfg.Zone, AuditKeep: cfg.AuditKeep, Accounts: cfg.Accounts, Commands: list(),
	}}
}
