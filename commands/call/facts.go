package call

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Fact names something that a command is given to work on. Commands never read it themselves: the Runner does.
type Fact string

// The facts. Those of the service come first, then those of the store, then those of this process.
const (
	FactAttacks         Fact = "attacks"    // arg: apiclient.AttackFilter
	FactEntries         Fact = "IP lists"   // arg: apiclient.IPRuleFilter
	FactRules           Fact = "rules"      // arg: apiclient.RuleFilter
	FactConditions      Fact = "conditions" // no arg
	FactVulnerabilities Fact = "vulnerabilities"
	FactAttackDays      Fact = "attacks by day" // arg: AttackDaysAsked
	FactKnownAttacks    Fact = "known attacks"  // arg: the beginning of their ids
	FactChanges         Fact = "changes"
	FactEfficacy        Fact = "efficacy"
	FactTriage          Fact = "triage" // arg: the attack's id
	FactTriages         Fact = "triage of all attacks"
	FactMutes           Fact = "mutes"
	FactContext         Fact = "account context"
	FactApprovals       Fact = "approval requests"
	FactStorms          Fact = "storms"
	FactGrouped         Fact = "grouped attacks" // arg: the storm's id
	FactInStorms        Fact = "attacks in storms"
	FactEvidence        Fact = "evidence"         // arg: the attack's id
	FactObservation     Fact = "last observation" // arg: the attack's id
	FactOutages         Fact = "outages"          // arg: since when
	FactAudit           Fact = "audit log"        // arg: since when
	FactPermissionLoss  Fact = "permission loss"
	FactDrill           Fact = "drill"
	FactRights          Fact = "rights" // arg: the record.Actor
	FactReplicas        Fact = "replicas"
	FactHealth          Fact = "health"
	FactCardLinks       Fact = "card links" // arg: the attacks' ids, separated by spaces
	FactStates          Fact = "states"     // likewise
	FactRouting         Fact = "routing"    // arg: attackNow
)

// Need is one fact of one account that a command works on.
type Need struct {
	Account string
	Fact    Fact
	Arg     any // comparable; nil where the fact takes none
}

// ErrMissing is the error of a fact that was not loaded yet. The Runner loads what is missing and runs the command again.
var ErrMissing = errors.New("fact is not loaded yet")

// MaxRounds is how often facts are loaded for one command: what it declares or asks for at first, and what follows from that.
const MaxRounds = 2

// Facts are what was loaded for one call.
type Facts struct {
	Known    map[Need]Loaded
	Coming   map[Need]<-chan Loaded // are read already
	Missing  []Need
	Patience time.Duration                  // how long a fact of the service is waited for; 0: as long as the call lasts
	Empty    bool                           // everything is known to be empty
	Attacks  map[AttackNow]apiclient.Attack // of FactRouting
}

// Loaded is a fact, or why it is unknown.
type Loaded struct {
	Value  any
	Err    error
	Answer any       // of the service, before what wafbot did lately was laid over it
	At     time.Time // when the service was asked; zero: it wasn't
}

// NewFacts are no facts yet.
func NewFacts() *Facts {
	return &Facts{Known: map[Need]Loaded{}, Coming: map[Need]<-chan Loaded{}, Attacks: map[AttackNow]apiclient.Attack{}}
}

// AccountFacts are the facts of one account. Each method fails where its fact could not be read; the fact is unknown then.
type AccountFacts struct {
	account string
	of      *Facts
}

func fact[T any](f AccountFacts, name Fact, arg any) (value T, err error) {
	n := Need{f.account, name, arg}
	got, ok := f.of.Known[n]
	switch {
	case ok:
	case f.of.Empty:
		return value, nil
	default:
		if !slices.Contains(f.of.Missing, n) {
			f.of.Missing = append(f.of.Missing, n)
		}
		return value, ErrMissing
	}
	if v, ok := got.Value.(T); ok {
		value = v
	}
	return value, got.Err
}

// listOf is a fact that is a list; its caller may alter it.
func listOf[T any](f AccountFacts, name Fact, arg any) ([]T, error) {
	all, err := fact[[]T](f, name, arg)
	return slices.Clone(all), err
}

// tableOf is a fact that is a map; its caller may alter it.
func tableOf[T any](f AccountFacts, name Fact, arg any) (map[string]T, error) {
	all, err := fact[map[string]T](f, name, arg)
	return maps.Clone(all), err
}

// Found is a fact that may not be there.
type Found[T any] struct {
	Value T
	Ok    bool
}

func optional[T any](f AccountFacts, name Fact, arg any) (value T, ok bool, err error) {
	got, err := fact[Found[T]](f, name, arg)
	return got.Value, got.Ok, err
}

// Attacks are the service's records, each once.
func (f AccountFacts) Attacks(filter apiclient.AttackFilter) ([]apiclient.Attack, error) {
	return listOf[apiclient.Attack](f, FactAttacks, filter)
}

// Entries are the entries of the service's IP lists.
func (f AccountFacts) Entries(filter apiclient.IPRuleFilter) ([]apiclient.IPRule, error) {
	return listOf[apiclient.IPRule](f, FactEntries, filter)
}

// Rules are the service's rules, the last changed first.
func (f AccountFacts) Rules(filter apiclient.RuleFilter) ([]apiclient.Rule, error) {
	return listOf[apiclient.Rule](f, FactRules, filter)
}

// Conditions are the service's condition sets.
func (f AccountFacts) Conditions() ([]apiclient.ConditionSet, error) {
	return listOf[apiclient.ConditionSet](f, FactConditions, nil)
}

// Vulnerabilities are the service's.
func (f AccountFacts) Vulnerabilities(filter apiclient.VulnFilter) ([]apiclient.Vulnerability, error) {
	return listOf[apiclient.Vulnerability](f, FactVulnerabilities, filter)
}

// AttackDaysAsked is which attacks by day are asked for.
type AttackDaysAsked struct {
	Hours int
	Brief bool // an answer only mentions them: it hardly waits for them
}

// AttackDays are the service's attacks of the last hours, by day.
func (f AccountFacts) AttackDays(asked AttackDaysAsked) (apiclient.AttackDays, error) {
	return fact[apiclient.AttackDays](f, FactAttackDays, asked)
}

// KnownAttacks are the stored attacks whose id begins so, by that id.
func (f AccountFacts) KnownAttacks(prefix string) (map[string]apiclient.Attack, error) {
	return tableOf[apiclient.Attack](f, FactKnownAttacks, prefix)
}

// Changes are the account's changes, the newest first.
func (f AccountFacts) Changes() ([]record.Change, error) {
	return listOf[record.Change](f, FactChanges, nil)
}

// Efficacy is what was seen of changes, by their ids.
func (f AccountFacts) Efficacy() (map[string]record.Efficacy, error) {
	return tableOf[record.Efficacy](f, FactEfficacy, nil)
}

// Triage is an attack's; zero when people said nothing about it.
func (f AccountFacts) Triage(attack string) (record.Triage, error) {
	return fact[record.Triage](f, FactTriage, attack)
}

// Triages are all of the account, by attack.
func (f AccountFacts) Triages() (map[string]record.Triage, error) {
	return tableOf[record.Triage](f, FactTriages, nil)
}

// Mutes are the account's; some may be over.
func (f AccountFacts) Mutes() ([]record.Mute, error) { return listOf[record.Mute](f, FactMutes, nil) }

// Context is what is known of the account beside its attacks.
func (f AccountFacts) Context() (record.AccountContext, error) {
	return fact[record.AccountContext](f, FactContext, nil)
}

// Approvals are the account's approval requests, the newest first.
func (f AccountFacts) Approvals() ([]record.ApprovalRequest, error) {
	return listOf[record.ApprovalRequest](f, FactApprovals, nil)
}

// Storms are the account's.
func (f AccountFacts) Storms() ([]record.StormSeen, error) {
	return listOf[record.StormSeen](f, FactStorms, nil)
}

// InStorms are the ids of the attacks for which the card of a storm stands that goes on, or whose attacks do.
func (f AccountFacts) InStorms() (map[string]bool, error) {
	return fact[map[string]bool](f, FactInStorms, nil)
}

// Grouped are the attacks that a storm grouped.
func (f AccountFacts) Grouped(storm string) ([]record.GroupedAttack, error) {
	return listOf[record.GroupedAttack](f, FactGrouped, storm)
}

// Evidence is what is kept of an attack; ok reports whether anything is.
func (f AccountFacts) Evidence(attack string) (e record.Evidence, ok bool, err error) {
	return optional[record.Evidence](f, FactEvidence, attack)
}

// Observation is an attack as the poller last decided about it; ok reports whether that is known.
func (f AccountFacts) Observation(attack string) (o record.Observation, ok bool, err error) {
	return optional[record.Observation](f, FactObservation, attack)
}

// Outages are the account's that ended since then, the oldest first, and the one that goes on.
func (f AccountFacts) Outages(since time.Time) ([]record.Outage, error) {
	return listOf[record.Outage](f, FactOutages, since)
}

// Audit are the account's audit entries since then, the newest first.
func (f AccountFacts) Audit(since time.Time) ([]record.AuditEntry, error) {
	return listOf[record.AuditEntry](f, FactAudit, since)
}

// PermissionLoss is the account's last one; zero when there was none.
func (f AccountFacts) PermissionLoss() (record.PermissionLoss, error) {
	return fact[record.PermissionLoss](f, FactPermissionLoss, nil)
}

// Drill is the account's last one.
func (f AccountFacts) Drill() (record.Drill, error) { return fact[record.Drill](f, FactDrill, nil) }

// Rights are what a person may do.
func (f AccountFacts) Rights(who record.Actor) Rights {
	s, _ := fact[Rights](f, FactRights, who)
	return s
}

// Replicas is how many replicas serve.
func (f AccountFacts) Replicas() (int, error) { return fact[int](f, FactReplicas, nil) }

// Health is how polling the account goes; ok reports whether that is known.
func (f AccountFacts) Health() (h PollHealth, ok bool) {
	h, ok, _ = optional[PollHealth](f, FactHealth, nil)
	return h, ok
}

// CardLinks are where cards can be opened, by attack, as far as that is known.
func (f AccountFacts) CardLinks(attacks []string) map[string]string {
	if len(attacks) == 0 {
		return nil
	}
	links, _ := tableOf[string](f, FactCardLinks, strings.Join(attacks, " "))
	return links
}

// States are attacks as the poller last decided about them, by their ids.
func (f AccountFacts) States(attacks []string) (map[string]record.AttackState, error) {
	if len(attacks) == 0 {
		return nil, nil
	}
	return tableOf[record.AttackState](f, FactStates, strings.Join(attacks, " "))
}

// AttackNow distinguishes what was read of an attack at different times.
type AttackNow struct {
	id   string
	hits apiclient.Figure
	last time.Time
}

// Routing is where an attack goes.
func (f AccountFacts) Routing(a apiclient.Attack) (Routing, error) {
	asked := AttackNow{a.ID, a.Hits, a.Last}
	f.of.Attacks[asked] = a
	return fact[Routing](f, FactRouting, asked)
}

// Declared are the facts that the call's command declares, of each account that it is about.
func (c *Call) Declared() (needs []Need) {
	for _, a := range c.InScope {
		needs = append(needs, c.Cmd.Declares(a.Name)...)
	}
	return needs
}

// Declares are the facts of an account that the command declares: of a listing all.
func (c *Command) Declares(account string) (needs []Need) {
	for _, name := range c.Needs {
		n := Need{Account: account, Fact: name}
		switch name {
		case FactEntries:
			n.Arg = apiclient.IPRuleFilter{}
		case FactRules:
			n.Arg = apiclient.RuleFilter{}
		}
		needs = append(needs, n)
	}
	return needs
}

// Facts are the facts of an account.
func (c *Call) Facts(account string) AccountFacts { return AccountFacts{account, c.Loaded} }

// Given are the facts of the call's account.
func (c *Call) Given() AccountFacts { return c.Facts(c.Account.Name) }
