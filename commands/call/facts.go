package call

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Facts are what is known of one account, as far as it was needed.
type Facts struct {
	// Of the service.
	Attacks         List[apiclient.Attack] // each record once
	Entries         Listing[apiclient.IPRule]
	Rules           Listing[apiclient.Rule] // the last changed first
	Conditions      List[apiclient.ConditionSet]
	Vulnerabilities List[apiclient.Vulnerability]
	AttackDays      Fact[apiclient.AttackDays]

	// Of the store.
	Stored         Fact[map[string]apiclient.Attack] // attacks and storms, by their ids
	Changes        List[record.Change]               // the newest first, as are the next but one
	Efficacy       Fact[map[string]record.Efficacy]  // what was seen of changes, by their ids
	Approvals      List[record.ApprovalRequest]
	Triages        Fact[map[string]record.Triage] // by attack
	Mutes          List[record.Mute]              // some may be over
	Context        Fact[record.AccountContext]
	Storms         List[record.StormSeen]
	InStorms       Fact[map[string]bool]               // attacks of active storms, by id; false: it has its own card
	Grouped        Fact[map[string][]record.StormSeen] // what storms grouped, by their ids; the latest hit first
	Outages        List[record.Outage]                 // the oldest first
	Audit          List[record.AuditEntry]             // the newest first
	PermissionLoss Fact[record.PermissionLoss]         // the last one; zero when there was none
	Drill          Fact[record.Drill]                  // the last one
	Replicas       Fact[int]                           // how many serve

	// Of one attack.
	Known       Fact[Found[apiclient.Attack]] // as it is stored
	Triage      Fact[record.Triage]           // zero when people said nothing about it
	Evidence    Fact[Found[record.Evidence]]
	Observation Fact[Found[record.Observation]] // as the poller last decided about it
	Routing     Fact[Routing]

	// Of Slack and of this process.
	Rights    Fact[Rights]
	Health    Fact[Found[record.PollHealth]]
	CardLinks Fact[map[string]string]             // where cards can be opened, by attack, as far as that is known
	States    Fact[map[string]record.AttackState] // attacks as the poller last decided about them, by their ids
}

// Needs are the facts of an account that somebody works on. The zero value of each is: not needed.
type Needs struct {
	Attacks         apiclient.AttackFilter
	Entries         string // the list, or AllLists
	Rules           int64  // for which set of conditions, or AllRules
	Conditions      bool
	Vulnerabilities Vulnerabilities
	AttackDays      AttackDays

	Stored, Changes, Efficacy, Approvals, Triages, Mutes, Context, Storms, InStorms bool

	Grouped                         []string // of these storms
	Outages, Audit                  time.Time
	PermissionLoss, Drill, Replicas bool

	Known, Triage, Evidence, Observation string // of this attack
	Routing                              *apiclient.Attack

	Rights            record.Actor
	Health            bool
	CardLinks, States []string // of these attacks
}

// All of the service's lists, and all of its rules.
const (
	AllLists       = "all"
	AllRules int64 = -1
)

// Vulnerabilities says which ones are needed.
type Vulnerabilities string

// The vulnerabilities that can be needed.
const (
	OpenVulnerabilities Vulnerabilities = "open"
	AllVulnerabilities  Vulnerabilities = "all"
)

// AttackDays asks for the attacks of the last hours, by day.
type AttackDays struct {
	Hours int
	Brief bool // an answer only mentions them: it hardly waits for them
}

// Rounds are the needs of a command: of each round all are read side by side. The second, which is the last, follows
// from what the first has read.
type Rounds []func(c *Call) Needs

// Of are the needs of every call.
func (n Needs) Of(*Call) Needs { return n }

// Always are the needs as the only round.
func (n Needs) Always() Rounds { return Rounds{n.Of} }

// Ever is since when a log is needed from its beginning.
var Ever = time.Unix(0, 0)

// Fact is a fact, or why it is unknown.
type Fact[T any] struct {
	Value T // not to be altered
	Err   error
	asked string // for what it was read; "": it wasn't
}

// ErrUnread is the error of a fact that wasn't read: it must not be taken for there being nothing.
var ErrUnread = errors.New("read a fact that its command doesn't need")

// Known is a fact that somebody has at hand.
func Known[T any](value T) Fact[T] { return KnownFor(true, value) }

// KnownFor is a fact at hand, and the need that it meets: a list is needed of one kind, for example.
func KnownFor[A, T any](need A, value T) Fact[T] {
	return Fact[T]{Value: value, asked: fmt.Sprint(need)}
}

// Ask reports whether the fact has to be read, and notes for what: the same isn't read twice.
func Ask[A, T any](f *Fact[T], need A) bool {
	var none A
	asked := fmt.Sprint(need)
	if asked == fmt.Sprint(none) || asked == f.asked {
		return false
	}
	*f = Fact[T]{asked: asked}
	return true
}

// Get is the fact, or why it is unknown.
func (f Fact[T]) Get() (T, error) {
	if f.asked == "" {
		return f.Value, ErrUnread
	}
	return f.Value, f.Err
}

// Asked is for what the fact was read; "": it wasn't.
func (f Fact[T]) Asked() string { return f.asked }

// List is a fact that is a list.
type List[T any] struct{ Fact[[]T] }

// Get is a list that its caller may alter, or why it is unknown.
func (l List[T]) Get() ([]T, error) {
	all, err := l.Fact.Get()
	return slices.Clone(all), err
}

// Listing is a list of the service's that lags behind its writes: over its answer lies what wafbot itself did lately.
type Listing[T any] struct {
	List[T]
	Answer []T
	At     time.Time // when the service was asked; zero: it wasn't
}

// Found is a fact that may not be there.
type Found[T any] struct {
	Value T
	Ok    bool
}

// FactsOf are the facts of one of the accounts that the call is about.
func (c *Call) FactsOf(account string) *Facts {
	if c.factsOn == nil {
		c.factsOn = map[string]*Facts{}
	}
	if c.factsOn[account] == nil {
		c.factsOn[account] = &Facts{}
	}
	return c.factsOn[account]
}

// Have puts facts in the place of those of the call's account.
func (c *Call) Have(f *Facts) { c.Facts, c.factsOn = f, map[string]*Facts{c.Account.Name: f} }

// App reads an application as typed: its id, its configured name, or app:default.
func App(a *config.Account, typed string) (int, error) {
	if strings.EqualFold(typed, "app:default") {
		return apiclient.DefaultApp, nil
	}
	var names []string
	for _, id := range slices.Sorted(maps.Keys(a.Applications)) {
		name := a.Applications[id].Name
		if strings.EqualFold(name, typed) {
			return id, nil
		}
		names = append(names, fmt.Sprintf("%s (%d)", name, id))
	}
	id, err := strconv.Atoi(typed)
	if err != nil || id == 0 || id < apiclient.DefaultApp {
		return 0, refusal.Invalid("application", typed, "app:default", "Its number, or one of: ",
			strings.Join(append(names, "app:default"), ", "))
	}
	return id, nil
}

// AppsText names the applications of a list entry.
func AppsText(a *config.Account, apps []int) string {
	if Everywhere(apps) {
		return "everywhere"
	}
	var names []string
	for _, id := range apps {
		names = append(names, a.AppName(apiclient.Known(int64(id))))
	}
	return "on " + strings.Join(names, ", ")
}

// Everywhere reports whether a list entry holds for all applications.
func Everywhere(apps []int) bool { return len(apps) == 0 || slices.Contains(apps, apiclient.AllApps) }

// HoldsFor reports whether an entry of the applications have holds for all of want.
func HoldsFor(have, want []int) bool {
	if Everywhere(have) {
		return true
	}
	return !Everywhere(want) && !slices.ContainsFunc(want, func(id int) bool { return !slices.Contains(have, id) })
}

// Overlap reports whether there is an application that both entries hold for.
func Overlap(a, b []int) bool {
	return Everywhere(a) || Everywhere(b) || slices.ContainsFunc(a, func(id int) bool { return slices.Contains(b, id) })
}

// AccountNames are the names of accounts, for people: of many the first ones.
func AccountNames(accounts []*config.Account) text.Text {
	return text.Enumerate(accounts, ShortList, func(a *config.Account) text.Text { return text.New(a.Name) })
}
