package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
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
	FactKnownAttacks    Fact = "known attacks" // arg: the beginning of their ids
	FactChanges         Fact = "changes"
	FactEfficacy        Fact = "efficacy"
	FactTriage          Fact = "triage" // arg: the attack's id
	FactTriages         Fact = "triage of all attacks"
	FactMutes           Fact = "mutes"
	FactContext         Fact = "account context"
	FactApprovals       Fact = "approval requests"
	FactStorms          Fact = "storms"
	FactGrouped         Fact = "grouped attacks"  // arg: the storm's id
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
	FactRouting         Fact = "routing"    // arg: attackNow
)

// Need is one fact of one account that a command works on.
type Need struct {
	Account string
	Fact    Fact
	Arg     any // comparable; nil where the fact takes none
}

// errMissing is the error of a fact that was not loaded yet. The Runner loads what is missing and runs the command again.
var errMissing = errors.New("fact is not loaded yet")

// maxRounds is how often facts are loaded for one command: what it declares or asks for at first, and what follows from that.
const maxRounds = 2

// facts are what was loaded for one call.
type facts struct {
	known    map[Need]loaded
	missing  []Need
	patience time.Duration                  // how long a fact of the service is waited for; 0: as long as the call lasts
	empty    bool                           // everything is known to be empty
	attacks  map[attackNow]apiclient.Attack // of FactRouting
}

// loaded is a fact, or why it is unknown.
type loaded struct {
	value any
	err   error
}

func newFacts() *facts {
	return &facts{known: map[Need]loaded{}, attacks: map[attackNow]apiclient.Attack{}}
}

// AccountFacts are the facts of one account. Each method fails where its fact could not be read; the fact is unknown then.
type AccountFacts struct {
	account string
	of      *facts
}

func fact[T any](f AccountFacts, name Fact, arg any) (value T, err error) {
	n := Need{f.account, name, arg}
	got, ok := f.of.known[n]
	switch {
	case ok:
	case f.of.empty:
		return value, nil
	default:
		if !slices.Contains(f.of.missing, n) {
			f.of.missing = append(f.of.missing, n)
		}
		return value, errMissing
	}
	if v, ok := got.value.(T); ok {
		value = v
	}
	return value, got.err
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

// timed is a fact whose reading was timed.
type timed[T any] struct {
	value T
	took  time.Duration
}

// found is a fact that may not be there.
type found[T any] struct {
	value T
	ok    bool
}

func optional[T any](f AccountFacts, name Fact, arg any) (value T, ok bool, err error) {
	got, err := fact[found[T]](f, name, arg)
	return got.value, got.ok, err
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
func (f AccountFacts) Storms() ([]StormSeen, error) { return listOf[StormSeen](f, FactStorms, nil) }

// Grouped are the attacks that a storm grouped.
func (f AccountFacts) Grouped(storm string) ([]GatheredAttack, error) {
	return listOf[GatheredAttack](f, FactGrouped, storm)
}

// Evidence is what is kept of an attack; ok tells whether anything is.
func (f AccountFacts) Evidence(attack string) (e record.Evidence, ok bool, err error) {
	return optional[record.Evidence](f, FactEvidence, attack)
}

// Observation is an attack as the poller last decided about it; ok tells whether that is known.
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

// Drill is the account's last one, and how long it took to read it.
func (f AccountFacts) Drill() (d record.Drill, took time.Duration, err error) {
	got, err := fact[timed[record.Drill]](f, FactDrill, nil)
	return got.value, got.took, err
}

// Rights are what a person may do.
func (f AccountFacts) Rights(who record.Actor) rights {
	s, _ := fact[rights](f, FactRights, who)
	return s
}

// Replicas is how many replicas serve.
func (f AccountFacts) Replicas() (int, error) { return fact[int](f, FactReplicas, nil) }

// Health is how polling the account goes; ok tells whether that is known.
func (f AccountFacts) Health() (h HealthNow, ok bool) {
	h, ok, _ = optional[HealthNow](f, FactHealth, nil)
	return h, ok
}

// CardLinks are where cards can be opened, by attack, as far as that is known.
func (f AccountFacts) CardLinks(attacks []string) map[string]string {
	links, _ := tableOf[string](f, FactCardLinks, strings.Join(attacks, " "))
	return links
}

// attackNow tells apart what was read of an attack at different times.
type attackNow struct {
	id   string
	hits apiclient.Figure
	last time.Time
}

// Routing is where an attack goes.
func (f AccountFacts) Routing(a apiclient.Attack) (Routing, error) {
	asked := attackNow{a.ID, a.Hits, a.Last}
	f.of.attacks[asked] = a
	return fact[Routing](f, FactRouting, asked)
}

// loadsAtOnce is how many facts are loaded at the same time.
const loadsAtOnce = 32

// load loads facts side by side. A fact that can't be read is unknown, which is logged.
func (r *Runner) load(ctx context.Context, f *facts, needs []Need) {
	needs = slices.DeleteFunc(needs, func(n Need) bool { _, ok := f.known[n]; return ok })
	got := make([]loaded, len(needs))
	var g errgroup.Group
	g.SetLimit(loadsAtOnce)
	for i, n := range needs {
		g.Go(func() error {
			got[i] = r.loadOne(ctx, f, n)
			return nil
		})
	}
	_ = g.Wait() // each fact has its own error
	for i, n := range needs {
		f.known[n] = got[i]
	}
}

// loadOne loads one fact.
func (r *Runner) loadOne(ctx context.Context, f *facts, n Need) (got loaded) {
	i := slices.IndexFunc(r.cfg.Accounts, func(a *Account) bool { return a.Name == n.Account })
	if i < 0 {
		return loaded{err: fmt.Errorf("load %s: no account %q", n.Fact, n.Account)}
	}
	if f.patience > 0 && ofService(n.Fact) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.patience)
		defer cancel()
	}
	got.value, got.err = r.readFact(ctx, r.cfg.Accounts[i], f, n)
	if got.err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("read fact", "fact", string(n.Fact), "account", n.Account, "err", got.err)
	}
	return got
}

// How long a fact of the service is waited for, where nothing is changed: one account whose service hangs must not keep the others' from people,
// and a form opens without what it only shows.
const (
	accountPatience = 10 * time.Second
	formPatience    = 3 * time.Second
)

// ofService reports whether a fact is read from the service.
func ofService(f Fact) bool {
	return slices.Contains([]Fact{FactAttacks, FactEntries, FactRules, FactConditions, FactVulnerabilities}, f)
}

// readFact is the one place that reads facts, from the service, the store and this process.
func (r *Runner) readFact(ctx context.Context, a *Account, f *facts, n Need) (any, error) {
	switch arg := n.Arg.(type) {
	case apiclient.AttackFilter:
		return r.listAttacks(ctx, a, arg)
	case apiclient.IPRuleFilter:
		return collect(r.cfg.Services[a.Name].IPRules(ctx, arg))
	case apiclient.RuleFilter:
		return collect(r.cfg.Services[a.Name].Rules(ctx, arg))
	case apiclient.VulnFilter:
		return collect(r.cfg.Services[a.Name].Vulnerabilities(ctx, arg))
	case time.Time:
		if n.Fact == FactAudit {
			return r.cfg.Audit.Entries(ctx, a.Name, arg)
		}
		return r.cfg.Records.Blinds(ctx, a.Name, arg)
	case attackNow:
		return r.cfg.Explain(ctx, a.Name, f.attacks[arg])
	case record.Actor:
		return r.rights(ctx, arg), nil
	case string:
		return r.readNamed(ctx, a, n.Fact, arg)
	}
	switch n.Fact {
	case FactConditions:
		return collect(r.cfg.Services[a.Name].ConditionSets(ctx))
	case FactChanges:
		return r.cfg.Ledger.Changes(ctx, a.Name)
	case FactEfficacy:
		return r.cfg.Ledger.Effects(ctx, a.Name)
	case FactTriages:
		return r.cfg.Desk.Cases(ctx, a.Name)
	case FactMutes:
		return r.cfg.Desk.Mutes(ctx, a.Name)
	case FactContext:
		return r.cfg.Scenes.Scene(ctx, a.Name)
	case FactApprovals:
		return r.cfg.Requests.Requests(ctx, a.Name)
	case FactStorms:
		return r.cfg.Storms.Storms(ctx, a.Name)
	case FactPermissionLoss:
		return r.cfg.Ties.Tied(ctx, a.Name)
	case FactDrill:
		asked := time.Now()
		d, err := r.cfg.Drills.Drill(ctx, a.Name)
		return timed[record.Drill]{d, time.Since(asked)}, err
	case FactReplicas:
		return r.cfg.Drills.Serving(ctx)
	case FactHealth:
		if r.cfg.Health == nil {
			return found[HealthNow]{}, nil
		}
		h, ok := r.cfg.Health(a.Name)
		return found[HealthNow]{h, ok}, nil
	}
	return nil, fmt.Errorf("read fact %q: unknown", n.Fact)
}

// readNamed reads facts about one attack, storm or beginning of ids.
func (r *Runner) readNamed(ctx context.Context, a *Account, name Fact, id string) (any, error) {
	switch name {
	case FactKnownAttacks:
		return r.cfg.Facts.FindAttacks(ctx, a.Name, id)
	case FactTriage:
		return r.cfg.Desk.Case(ctx, a.Name, id)
	case FactGrouped:
		return r.cfg.Storms.Gathered(ctx, a.Name, id)
	case FactEvidence:
		e, ok, err := r.cfg.Records.Evidence(ctx, a.Name, id)
		return found[record.Evidence]{e, ok}, err
	case FactObservation:
		o, ok, err := r.cfg.Records.Seen(ctx, a.Name, id)
		return found[record.Observation]{o, ok}, err
	case FactCardLinks:
		if r.cfg.CardLinks == nil || id == "" {
			return map[string]string(nil), nil
		}
		return r.cfg.CardLinks(ctx, a.Name, strings.Fields(id)), nil
	}
	return nil, fmt.Errorf("read fact %q: unknown", name)
}

// withFacts runs a pure function on a call, loads the facts that it lacks beside those that its command declares, and runs it again until it
// lacks none. What the function notes on the call is kept of the last run alone.
func withFacts[T any](ctx context.Context, r *Runner, c *Call, run func(c *Call) (T, error)) (value T, err error) {
	for round := 0; ; round++ {
		attempt := *c
		value, err = run(&attempt)
		missing := c.loaded.missing
		if len(missing) == 0 {
			*c = attempt
			return value, err
		}
		if round == maxRounds {
			var none T
			return none, fmt.Errorf("run %s: it still lacks %v after %d rounds of loading", c.Cmd.Name, missing, maxRounds)
		}
		if round == 0 {
			missing = append(missing, c.declared()...)
		}
		c.loaded.missing = nil
		r.load(ctx, c.loaded, missing)
	}
}

// declared are the facts that the call's command declares, of each account that it is about.
func (c *Call) declared() (needs []Need) {
	for _, a := range c.All {
		for _, name := range c.Cmd.Needs {
			needs = append(needs, Need{Account: a.Name, Fact: name})
		}
	}
	return needs
}

// facts are the facts of an account.
func (c *Call) facts(account string) AccountFacts { return AccountFacts{account, c.loaded} }

// given are the facts of the call's account.
func (c *Call) given() AccountFacts { return c.facts(c.Account.Name) }

// away is the refusal of a change because a fact of the store is unknown. What is only not loaded yet is no such error.
func away(err error) error {
	if errors.Is(err, errMissing) {
		return err
	}
	var refused *refusal.Refusal
	if errors.As(err, &refused) {
		return err
	}
	return Away(err)
}
