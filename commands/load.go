package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// loadsAtOnce is how many facts are loaded at the same time.
const loadsAtOnce = 32

// load loads facts side by side. A fact that can't be read is unknown, which is logged.
func (r *Runner) load(ctx context.Context, f *call.Facts, needs []call.Need) {
	needs = slices.DeleteFunc(needs, func(n call.Need) bool { _, ok := f.Known[n]; return ok })
	got := make([]call.Loaded, len(needs))
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
		f.Known[n] = got[i]
	}
}

// loadOne loads one fact.
func (r *Runner) loadOne(ctx context.Context, f *call.Facts, n call.Need) (got call.Loaded) {
	i := slices.IndexFunc(r.cfg.Accounts, func(a *call.Account) bool { return a.Name == n.Account })
	if i < 0 {
		return call.Loaded{Err: fmt.Errorf("load %s: no account %q", n.Fact, n.Account)}
	}
	if f.Patience > 0 && ofService(n.Fact) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.Patience)
		defer cancel()
	}
	got.Value, got.Err = r.readFact(ctx, r.cfg.Accounts[i], f, n)
	if got.Err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("read fact", "fact", string(n.Fact), "account", n.Account, "err", got.Err)
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
func ofService(f call.Fact) bool {
	return slices.Contains([]call.Fact{call.FactAttacks, call.FactEntries, call.FactRules, call.FactConditions, call.FactVulnerabilities}, f)
}

// readFact is the one place that reads facts, from the service, the store and this process.
func (r *Runner) readFact(ctx context.Context, a *call.Account, f *call.Facts, n call.Need) (any, error) {
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
		if n.Fact == call.FactAudit {
			return r.cfg.Audit.Entries(ctx, a.Name, arg)
		}
		return r.cfg.History.Outages(ctx, a.Name, arg)
	case call.AttackNow:
		return r.cfg.Explain(ctx, a.Name, f.Attacks[arg])
	case record.Actor:
		return r.rights(ctx, arg), nil
	case string:
		return r.readNamed(ctx, a, n.Fact, arg)
	}
	switch n.Fact {
	case call.FactConditions:
		return collect(r.cfg.Services[a.Name].ConditionSets(ctx))
	case call.FactChanges:
		return r.cfg.Ledger.Changes(ctx, a.Name)
	case call.FactEfficacy:
		return r.cfg.Ledger.Efficacy(ctx, a.Name)
	case call.FactTriages:
		return r.cfg.Triage.AllTriage(ctx, a.Name)
	case call.FactMutes:
		return r.cfg.Triage.Mutes(ctx, a.Name)
	case call.FactContext:
		return r.cfg.Contexts.AccountContext(ctx, a.Name)
	case call.FactApprovals:
		return r.cfg.Approvals.Requests(ctx, a.Name)
	case call.FactStorms:
		return r.cfg.Storms.Storms(ctx, a.Name)
	case call.FactPermissionLoss:
		return r.cfg.Permissions.PermissionLoss(ctx, a.Name)
	case call.FactDrill:
		asked := time.Now()
		d, err := r.cfg.Drills.Drill(ctx, a.Name)
		return call.Timed[record.Drill]{Value: d, Took: time.Since(asked)}, err
	case call.FactReplicas:
		return r.cfg.Drills.Serving(ctx)
	case call.FactHealth:
		if r.cfg.Health == nil {
			return call.Found[call.PollHealth]{}, nil
		}
		h, ok := r.cfg.Health(a.Name)
		return call.Found[call.PollHealth]{Value: h, Ok: ok}, nil
	}
	return nil, fmt.Errorf("read fact %q: unknown", n.Fact)
}

// readNamed reads facts about one attack, storm or beginning of ids.
func (r *Runner) readNamed(ctx context.Context, a *call.Account, name call.Fact, id string) (any, error) {
	switch name {
	case call.FactKnownAttacks:
		return r.cfg.Attacks.FindAttacks(ctx, a.Name, id)
	case call.FactTriage:
		return r.cfg.Triage.TriageOf(ctx, a.Name, id)
	case call.FactGrouped:
		return r.cfg.Storms.Grouped(ctx, a.Name, id)
	case call.FactEvidence:
		e, ok, err := r.cfg.History.Evidence(ctx, a.Name, id)
		return call.Found[record.Evidence]{Value: e, Ok: ok}, err
	case call.FactObservation:
		o, ok, err := r.cfg.History.LastObservation(ctx, a.Name, id)
		return call.Found[record.Observation]{Value: o, Ok: ok}, err
	case call.FactCardLinks:
		if r.cfg.CardLinks == nil || id == "" {
			return map[string]string(nil), nil
		}
		return r.cfg.CardLinks(ctx, a.Name, strings.Fields(id)), nil
	}
	return nil, fmt.Errorf("read fact %q: unknown", name)
}

// withFacts runs a pure function on a call, loads the facts that it lacks beside those that its command declares, and runs it again until it
// lacks none. What the function notes on the call is kept of the last run alone.
func withFacts[T any](ctx context.Context, r *Runner, c *call.Call, run func(c *call.Call) (T, error)) (value T, err error) {
	for round := 0; ; round++ {
		attempt := *c
		value, err = run(&attempt)
		missing := c.Loaded.Missing
		if len(missing) == 0 {
			*c = attempt
			return value, err
		}
		if round == call.MaxRounds {
			var none T
			return none, fmt.Errorf("run %s: it still lacks %v after %d rounds of loading", c.Cmd.Name, missing, call.MaxRounds)
		}
		if round == 0 {
			missing = append(missing, c.Declared()...)
		}
		c.Loaded.Missing = nil
		r.load(ctx, c.Loaded, missing)
	}
}

// away is the refusal of a change because a fact of the store is unknown. What is only not loaded yet is no such error.
func away(err error) error {
	if errors.Is(err, call.ErrMissing) {
		return err
	}
	var refused *refusal.Refusal
	if errors.As(err, &refused) {
		return err
	}
	return refusal.Away(err)
}
