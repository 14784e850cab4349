package commands

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// loadsAtOnce is how many facts, or accounts, are read at the same time.
const loadsAtOnce = 32

// loader reads all that commands work on: from the service, the store, Slack and this process.
type loader struct {
	cfg      *Config
	accounts map[string]*call.Account // by name
}

// load loads facts side by side. A fact that can't be read is unknown, which is logged.
func (l *loader) load(ctx context.Context, f *call.Facts, needs []call.Need) {
	needs = slices.DeleteFunc(needs, func(n call.Need) bool { _, ok := f.Known[n]; return ok })
	got := make([]call.Loaded, len(needs))
	var g errgroup.Group
	g.SetLimit(loadsAtOnce)
	for i, n := range needs {
		g.Go(func() error {
			got[i] = l.loadOne(ctx, f, n)
			return nil
		})
	}
	_ = g.Wait() // each fact has its own error
	for i, n := range needs {
		f.Known[n] = got[i]
	}
}

// loadOne loads one fact.
func (l *loader) loadOne(ctx context.Context, f *call.Facts, n call.Need) (got call.Loaded) {
	account := l.accounts[n.Account]
	if account == nil {
		return call.Loaded{Err: fmt.Errorf("load %s: no account %q", n.Fact, n.Account)}
	}
	patient := ctx
	if f.Patience > 0 && ofService(n.Fact) {
		var cancel context.CancelFunc
		patient, cancel = context.WithTimeout(ctx, f.Patience)
		defer cancel()
	}
	got.Value, got.Err = l.readFact(patient, account, f, n)
	if got.Err != nil && ctx.Err() == nil {
		l.cfg.Log.Warn("read fact", "fact", string(n.Fact), "account", n.Account, "err", got.Err)
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
func (l *loader) readFact(ctx context.Context, a *call.Account, f *call.Facts, n call.Need) (any, error) {
	switch arg := n.Arg.(type) {
	case apiclient.AttackFilter:
		return l.listAttacks(ctx, a, arg)
	case apiclient.IPRuleFilter:
		return collect(l.cfg.Services[a.Name].IPRules(ctx, arg))
	case apiclient.RuleFilter:
		return collect(l.cfg.Services[a.Name].Rules(ctx, arg))
	case apiclient.VulnFilter:
		return collect(l.cfg.Services[a.Name].Vulnerabilities(ctx, arg))
	case time.Time:
		if n.Fact == call.FactAudit {
			return l.cfg.Audit.Entries(ctx, a.Name, arg)
		}
		return l.cfg.History.Outages(ctx, a.Name, arg)
	case call.AttackNow:
		return l.cfg.Router.Routing(ctx, a.Name, f.Attacks[arg])
	case record.Actor:
		return l.rights(ctx, arg), nil
	case string:
		return l.readNamed(ctx, a, n.Fact, arg)
	}
	switch n.Fact {
	case call.FactConditions:
		return collect(l.cfg.Services[a.Name].ConditionSets(ctx))
	case call.FactChanges:
		return l.cfg.Ledger.Changes(ctx, a.Name)
	case call.FactEfficacy:
		return l.cfg.Ledger.Efficacy(ctx, a.Name)
	case call.FactTriages:
		return l.cfg.Triage.AllTriage(ctx, a.Name)
	case call.FactMutes:
		return l.cfg.Triage.Mutes(ctx, a.Name)
	case call.FactContext:
		return l.cfg.Contexts.AccountContext(ctx, a.Name)
	case call.FactApprovals:
		return l.cfg.Approvals.Requests(ctx, a.Name)
	case call.FactStorms:
		return l.cfg.Storms.Storms(ctx, a.Name)
	case call.FactPermissionLoss:
		return l.cfg.Permissions.PermissionLoss(ctx, a.Name)
	case call.FactDrill:
		asked := time.Now()
		d, err := l.cfg.Drills.Drill(ctx, a.Name)
		return call.Timed[record.Drill]{Value: d, Took: time.Since(asked)}, err
	case call.FactReplicas:
		return l.cfg.Drills.Serving(ctx)
	case call.FactHealth:
		h, ok := l.cfg.Polling.Health(a.Name)
		return call.Found[call.PollHealth]{Value: h, Ok: ok}, nil
	}
	return nil, fmt.Errorf("read fact %q: unknown", n.Fact)
}

// readNamed reads facts about one attack, storm or beginning of ids.
func (l *loader) readNamed(ctx context.Context, a *call.Account, name call.Fact, id string) (any, error) {
	switch name {
	case call.FactKnownAttacks:
		return l.knownAttacks(ctx, a.Name, id)
	case call.FactTriage:
		return l.cfg.Triage.TriageOf(ctx, a.Name, id)
	case call.FactGrouped:
		return l.cfg.Storms.Grouped(ctx, a.Name, id)
	case call.FactEvidence:
		e, ok, err := l.cfg.History.Evidence(ctx, a.Name, id)
		return call.Found[record.Evidence]{Value: e, Ok: ok}, err
	case call.FactObservation:
		o, ok, err := l.cfg.History.LastObservation(ctx, a.Name, id)
		return call.Found[record.Observation]{Value: o, Ok: ok}, err
	case call.FactCardLinks:
		if id == "" {
			return map[string]string(nil), nil
		}
		return l.cfg.Cards.CardLinks(ctx, a.Name, strings.Fields(id)), nil
	}
	return nil, fmt.Errorf("read fact %q: unknown", name)
}

// withFacts runs a pure function on a call, loads the facts that it lacks beside those that its command declares, and runs it again until it
// lacks none. What the function notes on the call is kept of the last run alone.
func withFacts[T any](ctx context.Context, l *loader, c *call.Call, run func(c *call.Call) (T, error)) (value T, err error) {
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
		l.load(ctx, c.Loaded, missing)
	}
}

// answered is what an account gave, or why it gave nothing.
type answered[T any] struct {
	found []T
	err   error
}

// sideBySide asks accounts at the same time, and keeps their order. Of several each gets some seconds: one whose service hangs
// must not keep people from what the others have to say.
func sideBySide[T any](ctx context.Context, accounts []*call.Account, ask func(ctx context.Context, a *call.Account) ([]T, error)) []answered[T] {
	if len(accounts) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, accountPatience)
		defer cancel()
	}
	all := make([]answered[T], len(accounts))
	var g errgroup.Group
	g.SetLimit(loadsAtOnce)
	for i, a := range accounts {
		g.Go(func() error {
			all[i].found, all[i].err = ask(ctx, a)
			return nil
		})
	}
	_ = g.Wait() // what failed is in its account's answer
	return all
}

// collect reads a listing to its end.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// clock is the actor of what wafbot does by itself.
var clock = record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}

// Members knows the people of the Slack workspace.
type Members interface {
	// Member returns the user's name if he is a full member of the workspace (no guest, no stranger, no bot, not deactivated).
	// An error means that it could not be found out.
	Member(ctx context.Context, team, user string) (name string, full bool, err error)
	// Groups are those of the user groups that the user is in. After an error they are what was last known, which may be over.
	Groups(ctx context.Context, user string, of []string) (in []string, err error)
}

// rights looks up what an actor may do.
func (l *loader) rights(ctx context.Context, a record.Actor) call.Rights {
	switch a.Via {
	case record.ViaClock:
		return call.Rights{Role: record.Admin, Name: a.Name}
	case record.ViaCLI:
		if role, ok := l.cfg.Roles.Terminal[strings.TrimPrefix(a.ID, "cli:")]; ok {
			return call.Rights{Role: role, Name: a.Name}
		}
		return call.Rights{Role: record.Viewer, Name: a.Name}
	}
	name, full, err := l.cfg.Members.Member(ctx, a.Team, a.ID)
	if err != nil {
		l.cfg.Log.Warn("look up member", "user", a.ID, "err", err)
		role, _ := l.cfg.Roles.Of(a.ID)
		return call.Rights{Role: min(role, record.Viewer), Name: a.Name, Unsure: true}
	}
	if !full {
		return call.Rights{Name: a.Name}
	}
	if name == "" {
		name = a.Name
	}
	s := call.Rights{Name: name}
	s.Role, _ = l.cfg.Roles.Of(a.ID)
	return l.addGroupRole(ctx, s, a.ID)
}

// addGroupRole raises the role by user groups. They are looked up only where one of them gives more.
func (l *loader) addGroupRole(ctx context.Context, s call.Rights, user string) call.Rights {
	groups := l.cfg.Roles.Groups()
	could, _ := l.cfg.Roles.Of(groups...)
	if could <= s.Role {
		return s
	}
	in, err := l.cfg.Members.Groups(ctx, user, groups)
	role, group := l.cfg.Roles.Of(in...)
	if err != nil {
		l.cfg.Log.Debug("look up user groups", "user", user, "err", err) // the Slack client logs it once
		s.Was, s.Could = role, could
		return s
	}
	if role > s.Role {
		s.Role, s.Group = role, group
	}
	return s
}
