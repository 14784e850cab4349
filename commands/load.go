package commands

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
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

// How long a fact of the service is waited for, where nothing is changed: one account whose service hangs must not keep
// the others' from people, and a form opens without what it only shows.
const (
	whileCallLasts  = time.Duration(0)
	accountPatience = 10 * time.Second
	formPatience    = 3 * time.Second
	briefPatience   = time.Second // for what an answer only mentions, of all accounts together
)

// keepListings is for how long a listing of the service may be planned on again, with what wafbot itself did since laid
// over it.
const keepListings = 5 * time.Second

// load reads what a call needs, of each of its accounts. Where an answer has set a service's clock, what is named by
// the time is read again, once.
func (l *loader) load(ctx context.Context, c *call.Call, patience time.Duration, rounds call.Rounds) {
	now := l.cfg.Clocks.Now()
	l.cfg.tellTime(c, now)
	read := func() {
		for _, needs := range rounds {
			l.round(ctx, c, patience, needs)
		}
	}
	if read(); l.cfg.correctTime(c, now) {
		read()
	}
}

// need reads some facts of the call's account, as long as the call lasts.
func (l *loader) need(ctx context.Context, c *call.Call, n call.Needs) {
	l.round(ctx, c, whileCallLasts, func(*call.Call) call.Needs { return n })
}

// round reads side by side what isn't read yet. A fact that can't be read is unknown, which is logged.
func (l *loader) round(ctx context.Context, c *call.Call, patience time.Duration, needs func(*call.Call) call.Needs) {
	brief, cancel := context.WithTimeout(ctx, briefPatience)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(loadsAtOnce)
	for _, a := range c.InScope {
		r := &reading{l, &g, ctx, brief, patience, a, c.FactsOf(a.Name)}
		n := needs(c.For(a))
		n.Changes = n.Changes || n.Entries != "" || n.Rules != 0 // what wafbot did lately is laid over them
		r.fromService(n)
		r.fromStore(n)
		r.ofAttack(n)
		r.fromHere(n)
	}
	_ = g.Wait() // each fact has its own error
	for _, a := range c.InScope {
		layOver(c.FactsOf(a.Name))
	}
	if c.Account != nil {
		c.Context = c.Facts.Context.Value
	}
}

// layOver lays what wafbot itself did lately over the listings, which lag behind it.
func layOver(f *call.Facts) {
	own := f.Changes.Value
	if list := f.Entries.Asked(); list != "" {
		all, _ := efficacy.Overlay(f.Entries.Answer, nil, own, f.Entries.At)
		other := func(e apiclient.IPRule) bool { return list != call.AllLists && e.List != list }
		f.Entries.Value = slices.DeleteFunc(all, other)
	}
	if of := f.Rules.Asked(); of != "" {
		_, all := efficacy.Overlay(nil, f.Rules.Answer, own, f.Rules.At)
		f.Rules.Value = slices.DeleteFunc(all, func(r apiclient.Rule) bool {
			return of != fmt.Sprint(call.AllRules) && of != fmt.Sprint(r.ConditionID)
		})
	}
}

// begin has a call work on what is stored now of its account, and of an attack if it is about one, and write on the
// condition that nobody wrote since. Of what was read before only the service's lists stay, for a short while.
func (l *loader) begin(ctx context.Context, c *job, attack string) (err error) {
	if c.basis, c.draft, err = l.basis(ctx, c, attack); err != nil {
		if ctx.Err() == nil {
			l.cfg.Log.WarnContext(ctx, "read what changes go by", "account", c.Account.Name, "err", err)
		}
		return refusal.Away(err)
	}
	b, before := c.basis, c.Facts
	f := &call.Facts{Context: call.Known(b.Context), PermissionLoss: call.Known(b.Loss)}
	f.Changes.Fact = call.Known(b.Changes)
	oldest := l.cfg.now(c.Account.Name).Add(-keepListings)
	if before.Entries.Err == nil && before.Entries.At.After(oldest) {
		f.Entries = before.Entries
	}
	if before.Rules.Err == nil && before.Rules.At.After(oldest) {
		f.Rules = before.Rules
	}
	if b.Attack != "" {
		f.Triage = call.KnownFor(b.Attack, b.Triage)
		seen := call.Found[record.Observation]{Value: b.Observed, Ok: b.Observed.Attack.ID != ""}
		f.Observation = call.KnownFor(b.Attack, seen)
	}
	layOver(f)
	c.Have(f)
	c.Changes, c.Context = slices.Clone(b.Changes), b.Context
	return nil
}

// basis is what a change goes by: as it was read ahead, once, else as the store has it now.
func (l *loader) basis(ctx context.Context, c *job, attack string) (record.Basis, *store.Draft, error) {
	a := c.ahead
	c.ahead = nil
	if a != nil && a.account == c.Account.Name && a.attack == attack {
		return a.basis, a.draft, a.err
	}
	return l.cfg.Store.Ledger.Begin(ctx, c.Account.Name, attack, !l.cfg.Rebuilds(c.Account.Name))
}

// reading reads the facts of one account.
type reading struct {
	*loader
	all      *errgroup.Group
	ctx      context.Context
	brief    context.Context
	patience time.Duration
	account  *config.Account
	facts    *call.Facts
}

// get reads one fact.
type get[T any] func(ctx context.Context) (T, error)

// read reads one fact, if it is needed and isn't read yet.
func read[A, T any](r *reading, name string, f *call.Fact[T], need A, from get[T]) {
	if !call.Ask(f, need) {
		return
	}
	r.all.Go(func() error {
		f.Err = delay.Try(r.cfg.Log, "a fact", func() (err error) {
			f.Value, err = from(r.ctx)
			return err
		})
		if f.Err != nil && r.ctx.Err() == nil {
			r.cfg.Log.WarnContext(r.ctx, "read fact", "fact", name, "account", r.account.Name, "err", f.Err)
		}
		return nil
	})
}

// readService is read, of a fact of the service.
func readService[A, T any](r *reading, name string, f *call.Fact[T], need A, from get[T]) {
	read(r, name, f, need, func(ctx context.Context) (T, error) {
		if r.patience > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, r.patience)
			defer cancel()
		}
		return from(ctx)
	})
}

// listing is how a list of the service's is read that lags.
func listing[T any](r *reading, l *call.Listing[T], all func(context.Context) iter.Seq2[T, error]) get[[]T] {
	return func(ctx context.Context) (read []T, err error) {
		asked := r.cfg.Clocks.Now() // over an answer that a paused process reads late lies what was done since
		read, err = apiclient.Collect(all(ctx))
		l.Answer, l.At = read, r.cfg.onService(r.account.Name, asked)
		return read, err
	}
}

// fromService reads what the service holds.
func (r *reading) fromService(n call.Needs) {
	f, s := r.facts, r.cfg.Services[r.account.Name]
	readService(r, "attacks", &f.Attacks.Fact, n.Attacks, func(ctx context.Context) ([]apiclient.Attack, error) {
		return r.listAttacks(ctx, r.account, n.Attacks)
	})
	list := n.Entries
	if list == call.AllLists {
		list = ""
	}
	entries := func(ctx context.Context) iter.Seq2[apiclient.IPRule, error] { return s.IPRules(ctx, list) }
	readService(r, "IP lists", &f.Entries.Fact, n.Entries, listing(r, &f.Entries, entries))
	rules := func(ctx context.Context) iter.Seq2[apiclient.Rule, error] {
		return s.Rules(ctx, max(n.Rules, 0))
	}
	readService(r, "rules", &f.Rules.Fact, n.Rules, listing(r, &f.Rules, rules))
	conditions := func(ctx context.Context) ([]apiclient.ConditionSet, error) {
		return apiclient.Collect(s.ConditionSets(ctx))
	}
	readService(r, "conditions", &f.Conditions.Fact, n.Conditions, conditions)
	active := n.Vulnerabilities == call.OpenVulnerabilities
	issues := func(ctx context.Context) ([]apiclient.Vulnerability, error) {
		return apiclient.Collect(s.Vulnerabilities(ctx, active))
	}
	readService(r, "vulnerabilities", &f.Vulnerabilities.Fact, n.Vulnerabilities, issues)
	days := func(ctx context.Context) (apiclient.AttackDays, error) {
		if n.AttackDays.Brief {
			ctx = r.brief
		}
		return s.AttackDays(ctx, n.AttackDays.Hours)
	}
	readService(r, "attacks by day", &f.AttackDays, n.AttackDays, days)
}

// ofAccount is how a fact of the account is read.
func ofAccount[T any](r *reading, from func(context.Context, string) (T, error)) get[T] {
	return func(ctx context.Context) (T, error) { return from(ctx, r.account.Name) }
}

// with is how a fact of the account is read that its need says more about.
func with[A, T any](r *reading, need A, from func(context.Context, string, A) (T, error)) get[T] {
	return func(ctx context.Context) (T, error) { return from(ctx, r.account.Name, need) }
}

// found is with, of what may not be there.
func found[T any](
	r *reading, id string, from func(context.Context, string, string) (T, bool, error),
) get[call.Found[T]] {
	return func(ctx context.Context) (f call.Found[T], err error) {
		f.Value, f.Ok, err = from(ctx, r.account.Name, id)
		return f, err
	}
}

// fromStore reads what is stored of the account.
func (r *reading) fromStore(n call.Needs) {
	f, s := r.facts, r.cfg.Store
	read(r, "known attacks", &f.Stored, n.Stored, with(r, "", s.Attacks.FindAttacks))
	read(r, "changes", &f.Changes.Fact, n.Changes, ofAccount(r, r.changes))
	read(r, "efficacy", &f.Efficacy, n.Efficacy, ofAccount(r, s.Ledger.Efficacy))
	read(r, "triage of all attacks", &f.Triages, n.Triages, ofAccount(r, s.Triage.AllTriage))
	read(r, "mutes", &f.Mutes.Fact, n.Mutes, ofAccount(r, s.Triage.Mutes))
	read(r, "account context", &f.Context, n.Context, ofAccount(r, s.Triage.AccountContext))
	read(r, "approval requests", &f.Approvals.Fact, n.Approvals, ofAccount(r, s.Approvals.Requests))
	read(r, "storms", &f.Storms.Fact, n.Storms, ofAccount(r, s.Attacks.Storms))
	read(r, "attacks in storms", &f.InStorms, n.InStorms, r.inStorms)
	read(r, "grouped attacks", &f.Grouped, n.Grouped, with(r, n.Grouped, r.grouped))
	read(r, "outages", &f.Outages.Fact, n.Outages, with(r, n.Outages, s.Attacks.Outages))
	read(r, "audit log", &f.Audit.Fact, n.Audit, with(r, n.Audit, s.Audit.Entries))
	read(r, "permission loss", &f.PermissionLoss, n.PermissionLoss, ofAccount(r, s.Permissions.PermissionLoss))
	read(r, "drill", &f.Drill, n.Drill, ofAccount(r, s.Drills.Drill))
	read(r, "replicas", &f.Replicas, n.Replicas, s.Drills.Serving)
}

// ofAttack reads what is stored of one attack.
func (r *reading) ofAttack(n call.Needs) {
	f, s := r.facts, r.cfg.Store
	read(r, "known attack", &f.Known, n.Known, found(r, n.Known, s.Attacks.KnownAttack))
	read(r, "triage", &f.Triage, n.Triage, with(r, n.Triage, s.Triage.TriageOf))
	read(r, "evidence", &f.Evidence, n.Evidence, found(r, n.Evidence, s.Attacks.Evidence))
	read(r, "last observation", &f.Observation, n.Observation, found(r, n.Observation, s.Attacks.LastObservation))
	read(r, "states", &f.States, n.States, with(r, n.States, s.Attacks.StatesOf))
	read(r, "routing", &f.Routing, n.Routing, func(ctx context.Context) (call.Routing, error) {
		return r.cfg.Routing(ctx, r.account.Name, *n.Routing)
	})
}

// fromHere reads what Slack and this process know.
func (r *reading) fromHere(n call.Needs) {
	read(r, "rights", &r.facts.Rights, n.Rights, func(ctx context.Context) (call.Rights, error) {
		return r.rights(ctx, n.Rights, []*config.Account{r.account})[r.account.Name], nil
	})
	read(r, "card links", &r.facts.CardLinks, n.CardLinks, func(ctx context.Context) (map[string]string, error) {
		return r.cfg.CardLinks(ctx, r.account.Name, n.CardLinks), nil
	})
	read(r, "health", &r.facts.Health, n.Health, func(context.Context) (f call.Found[call.PollHealth], _ error) {
		f.Value, f.Ok = r.cfg.Health(r.account.Name)
		return f, nil
	})
}

// changes are the account's, which aren't known as long as what Redis lost isn't rebuilt.
func (r *reading) changes(ctx context.Context, account string) ([]record.Change, error) {
	epoch, err := r.cfg.Store.Epochs.Epoch(ctx, account)
	if err == nil && epoch == "" && r.cfg.Rebuilds(account) {
		err = store.ErrEmptied
	}
	if err != nil {
		return nil, err
	}
	return r.cfg.Store.Ledger.Changes(ctx, account)
}

// grouped reads what storms grouped.
func (r *reading) grouped(
	ctx context.Context, account string, storms []string,
) (all map[string][]record.GroupedAttack, err error) {
	all = map[string][]record.GroupedAttack{}
	for _, storm := range storms {
		if all[storm], err = r.cfg.Store.Attacks.Grouped(ctx, account, storm); err != nil {
			return all, err
		}
	}
	return all, nil
}

// inStorms reads which attacks have no card because a storm's stands for them, of the storms that go on or whose
// attacks do.
func (r *reading) inStorms(ctx context.Context) (map[string]bool, error) {
	storms, err := r.cfg.Store.Attacks.Storms(ctx, r.account.Name)
	if err != nil {
		return nil, err
	}
	var active []string
	for _, storm := range storms {
		if storm.Active() {
			active = append(active, storm.ID)
		}
	}
	in := map[string]bool{}
	grouped, err := r.grouped(ctx, r.account.Name, active)
	for _, all := range grouped {
		for _, g := range all {
			in[g.ID] = !g.Own
		}
	}
	return in, err
}

// clock is the actor of what wafbot does by itself.
var clock = record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}
