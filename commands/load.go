package commands

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// loadsAtOnce is how many facts, or accounts, are read at the same time.
const loadsAtOnce = 32

// sideBySide does something with all items, so many at the same time, and keeps their order.
func sideBySide[T, R any](items []T, atOnce int, do func(T) R) []R {
	done := make([]R, len(items))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, item := range items {
		g.Go(func() error {
			return delay.Try(slog.Default(), "one of many", func() error { done[i] = do(item); return nil })
		})
	}
	if err := g.Wait(); err != nil { // each result has its own error
		panic(err) // of one of them, where the caller's is recovered
	}
	return done
}

// loader reads all that commands work on: from the service, the store, Slack and this process.
type loader struct {
	cfg      *Config
	accounts map[string]*config.Account // by name
}

// load loads facts side by side. A fact that can't be read is unknown, which is logged. The service's listings lag
// behind its writes, so what wafbot itself did lately is loaded with them and laid over them.
func (l *loader) load(ctx context.Context, f *call.Facts, needs ...call.Need) {
	for _, n := range slices.Clone(needs) {
		if own := changesOf(n.Account); (n.Fact == call.FactEntries || n.Fact == call.FactRules) && !slices.Contains(needs, own) {
			needs = append(needs, own)
		}
	}
	needs = slices.DeleteFunc(needs, func(n call.Need) bool { _, ok := f.Known[n]; return ok })
	brief, cancel := context.WithTimeout(ctx, briefPatience)
	defer cancel()
	loaded := sideBySide(needs, loadsAtOnce, func(n call.Need) call.Loaded {
		if asked, ok := n.Arg.(call.AttackDaysAsked); ok && asked.Brief {
			return l.loadOne(brief, f, n)
		}
		return l.loadOne(ctx, f, n)
	})
	for i, got := range loaded {
		f.Known[needs[i]] = got
		delete(f.Coming, needs[i])
	}
	for _, n := range needs {
		own, _ := f.Known[changesOf(n.Account)].Value.([]record.Change)
		f.Known[n] = overlaid(n, f.Known[n], own)
	}
}

func changesOf(account string) call.Need { return call.Need{Account: account, Fact: call.FactChanges} }

// overlaid is a fact with what wafbot did lately laid over it, where it is a listing that lags.
func overlaid(n call.Need, read call.Loaded, own []record.Change) call.Loaded {
	switch all := read.Answer.(type) {
	case []apiclient.IPRule:
		list := n.Arg.(apiclient.IPRuleFilter).List
		all, _ = efficacy.Overlay(all, nil, own, read.At)
		read.Value = slices.DeleteFunc(all, func(e apiclient.IPRule) bool { return list != "" && e.List != list })
	case []apiclient.Rule:
		condition := n.Arg.(apiclient.RuleFilter).ConditionID
		_, all = efficacy.Overlay(nil, all, own, read.At)
		read.Value = slices.DeleteFunc(all, func(r apiclient.Rule) bool { return condition != 0 && r.ConditionID != condition })
	}
	return read
}

// How long a fact of the service is waited for, where nothing is changed: one account whose service hangs must not keep
// the others' from people, and a form opens without what it only shows.
const (
	accountPatience = 10 * time.Second
	formPatience    = 3 * time.Second
	briefPatience   = time.Second // for what an answer only mentions, of all accounts together
)

// keepListings is for how long a listing of the service may be planned on again, with what wafbot itself did since laid
// over it.
const keepListings = 5 * time.Second

// begin has a call work on what is stored now of its account, and of an attack if it is about one, and write on the
// condition that nobody wrote since. Of what was read before only the service's answers stay, for a short while.
func (l *loader) begin(ctx context.Context, c *job, attack string) (err error) {
	if c.basis, c.draft, err = l.basis(ctx, c, attack); err != nil {
		if ctx.Err() == nil {
			l.cfg.Log.WarnContext(ctx, "read what changes go by", "account", c.Account.Name, "err", err)
		}
		return refusal.Away(err)
	}
	b, before := c.basis, c.Loaded
	c.Loaded = call.NewFacts()
	c.Loaded.Coming = before.Coming
	for n, read := range before.Known {
		if read.Err == nil && l.cfg.now(n.Account).Sub(read.At) < keepListings && n.Account == c.Account.Name {
			c.Loaded.Known[n] = overlaid(n, read, b.Changes)
		}
	}
	c.Know(call.FactChanges, nil, b.Changes)
	c.Know(call.FactContext, nil, b.Context)
	c.Know(call.FactPermissionLoss, nil, b.Loss)
	if b.Attack != "" {
		c.Know(call.FactTriage, b.Attack, b.Triage)
		c.Know(call.FactObservation, b.Attack, call.Found[record.Observation]{Value: b.Observed, Ok: b.Observed.Attack.ID != ""})
	}
	c.Changes, c.Context = slices.Clone(b.Changes), b.Context
	return nil
}

// loadOne loads one fact, once if it is read already.
func (l *loader) loadOne(ctx context.Context, f *call.Facts, n call.Need) (got call.Loaded) {
	if coming := f.Coming[n]; coming != nil {
		return <-coming
	}
	read, ofService := serviceFacts[n.Fact]
	if !ofService {
		read = ownFacts[n.Fact]
	}
	account := l.accounts[n.Account]
	if account == nil || read == nil {
		return call.Loaded{Err: fmt.Errorf("read fact %q of account %q: one of them is unknown", n.Fact, n.Account)}
	}
	patient := ctx
	if f.Patience > 0 && ofService {
		var cancel context.CancelFunc
		patient, cancel = context.WithTimeout(ctx, f.Patience)
		defer cancel()
	}
	asked := l.cfg.Clocks.Now() // of an answer that a paused process reads late, what was done since is laid over it
	got.Err = delay.Try(l.cfg.Log, "a fact", func() (err error) {
		got.Value, err = read(reading{l, patient, account, f, n.Arg})
		return err
	})
	if ofService {
		got.Answer, got.At = got.Value, l.cfg.onService(n.Account, asked)
	}
	if got.Err != nil && ctx.Err() == nil {
		l.cfg.Log.WarnContext(ctx, "read fact", "fact", string(n.Fact), "account", n.Account, "err", got.Err)
	}
	return got
}

// reading is what one fact is read by. Its argument has the type that call's table of facts says.
type reading struct {
	*loader
	ctx     context.Context
	account *config.Account
	facts   *call.Facts
	arg     any
}

func (r reading) service() Service { return r.cfg.Services[r.account.Name] }

// changes are the account's, which aren't known as long as what Redis lost isn't rebuilt.
func (r reading) changes() ([]record.Change, error) {
	epoch, err := r.cfg.Store.Epochs.Epoch(r.ctx, r.name())
	if err == nil && epoch == "" && r.cfg.Rebuilds(r.name()) {
		err = store.ErrEmptied
	}
	if err != nil {
		return nil, err
	}
	return r.cfg.Store.Ledger.Changes(r.ctx, r.name())
}

func (r reading) name() string     { return r.account.Name }
func (r reading) id() string       { return r.arg.(string) }
func (r reading) since() time.Time { return r.arg.(time.Time) }

// serviceFacts are how the facts are read that the service holds.
var serviceFacts = map[call.Fact]func(r reading) (any, error){
	call.FactAttacks: func(r reading) (any, error) { return r.listAttacks(r.ctx, r.account, r.arg.(apiclient.AttackFilter)) },
	call.FactEntries: func(r reading) (any, error) {
		return apiclient.Collect(r.service().IPRules(r.ctx, r.arg.(apiclient.IPRuleFilter)))
	},
	call.FactRules: func(r reading) (any, error) {
		return apiclient.Collect(r.service().Rules(r.ctx, r.arg.(apiclient.RuleFilter)))
	},
	call.FactConditions: func(r reading) (any, error) { return apiclient.Collect(r.service().ConditionSets(r.ctx)) },
	call.FactVulnerabilities: func(r reading) (any, error) {
		return apiclient.Collect(r.service().Vulnerabilities(r.ctx, r.arg.(apiclient.VulnFilter)))
	},
	call.FactAttackDays: func(r reading) (any, error) {
		return r.service().AttackDays(r.ctx, r.arg.(call.AttackDaysAsked).Hours)
	},
}

// ownFacts are how the other facts are read: from the store, Slack and this process.
var ownFacts = map[call.Fact]func(r reading) (any, error){
	call.FactKnownAttacks:   func(r reading) (any, error) { return r.knownAttacks(r.ctx, r.name(), r.id()) },
	call.FactChanges:        func(r reading) (any, error) { return r.changes() },
	call.FactEfficacy:       func(r reading) (any, error) { return r.cfg.Store.Ledger.Efficacy(r.ctx, r.name()) },
	call.FactTriage:         func(r reading) (any, error) { return r.cfg.Store.Triage.TriageOf(r.ctx, r.name(), r.id()) },
	call.FactTriages:        func(r reading) (any, error) { return r.cfg.Store.Triage.AllTriage(r.ctx, r.name()) },
	call.FactMutes:          func(r reading) (any, error) { return r.cfg.Store.Triage.Mutes(r.ctx, r.name()) },
	call.FactContext:        func(r reading) (any, error) { return r.cfg.Store.Triage.AccountContext(r.ctx, r.name()) },
	call.FactApprovals:      func(r reading) (any, error) { return r.cfg.Store.Approvals.Requests(r.ctx, r.name()) },
	call.FactStorms:         func(r reading) (any, error) { return r.cfg.Store.Attacks.Storms(r.ctx, r.name()) },
	call.FactGrouped:        func(r reading) (any, error) { return r.cfg.Store.Attacks.Grouped(r.ctx, r.name(), r.id()) },
	call.FactInStorms:       reading.inStorms,
	call.FactOutages:        func(r reading) (any, error) { return r.cfg.Store.Attacks.Outages(r.ctx, r.name(), r.since()) },
	call.FactAudit:          func(r reading) (any, error) { return r.cfg.Store.Audit.Entries(r.ctx, r.name(), r.since()) },
	call.FactPermissionLoss: func(r reading) (any, error) { return r.cfg.Store.Permissions.PermissionLoss(r.ctx, r.name()) },
	call.FactReplicas:       func(r reading) (any, error) { return r.cfg.Store.Drills.Serving(r.ctx) },
	call.FactRights: func(r reading) (any, error) {
		return r.rights(r.ctx, r.arg.(record.Actor), []*config.Account{r.account})[r.name()], nil
	},
	call.FactCardLinks: func(r reading) (any, error) {
		return r.cfg.CardLinks(r.ctx, r.name(), strings.Fields(r.id())), nil
	},
	call.FactStates: func(r reading) (any, error) {
		return r.cfg.Store.Attacks.StatesOf(r.ctx, r.name(), strings.Fields(r.id()))
	},
	call.FactEvidence: func(r reading) (any, error) { return found(r.cfg.Store.Attacks.Evidence(r.ctx, r.name(), r.id())) },
	call.FactObservation: func(r reading) (any, error) {
		return found(r.cfg.Store.Attacks.LastObservation(r.ctx, r.name(), r.id()))
	},
	call.FactRouting: func(r reading) (any, error) {
		return r.cfg.Routing(r.ctx, r.name(), r.facts.Attacks[r.arg.(call.AttackNow)])
	},
	call.FactHealth: func(r reading) (any, error) {
		health, ok := r.cfg.Health(r.name())
		return found(health, ok, nil)
	},
	call.FactDrill: func(r reading) (any, error) { return r.cfg.Store.Drills.Drill(r.ctx, r.name()) },
}

// inStorms reads which attacks have no card because a storm's stands for them, of the storms that go on or whose
// attacks do.
func (r reading) inStorms() (any, error) {
	storms, err := r.cfg.Store.Attacks.Storms(r.ctx, r.name())
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, storm := range storms {
		if !storm.Active() {
			continue
		}
		grouped, err := r.cfg.Store.Attacks.Grouped(r.ctx, r.name(), storm.ID)
		if err != nil {
			return nil, err
		}
		for _, g := range grouped {
			in[g.ID] = !g.Own
		}
	}
	return in, nil
}

// found makes a fact of what may not be there.
func found[T any](value T, ok bool, err error) (call.Found[T], error) {
	return call.Found[T]{Value: value, Ok: ok}, err
}

// withFacts runs a pure function on a call, loads the facts that it lacks beside those that its command declares, and
// runs it again until it lacks none. What the function notes on the call is kept of the last run alone.
func withFacts[T any](ctx context.Context, l *loader, c *call.Call, run func(c *call.Call) (T, error)) (value T, err error) {
	now := l.cfg.Clocks.Now()
	l.cfg.tellTime(c, now)
	for round, last := 0, call.MaxRounds; ; round++ {
		if last == call.MaxRounds && l.cfg.correctTime(c, now) {
			last += round // what is named by the time is read again, once
		}
		attempt := *c
		value, err = run(&attempt)
		missing := c.Loaded.Missing
		if len(missing) == 0 {
			*c = attempt
			return value, err
		}
		if round == last {
			var none T
			return none, fmt.Errorf("run %s: it still lacks %v after %d rounds of loading", c.Cmd.Name, missing, last)
		}
		if round == 0 {
			missing = append(missing, slices.DeleteFunc(c.Declared(), func(n call.Need) bool { return slices.Contains(missing, n) })...)
		}
		c.Loaded.Missing = nil
		l.load(ctx, c.Loaded, missing...)
	}
}

// clock is the actor of what wafbot does by itself.
var clock = record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}
