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

// How long a fact is waited for, where nothing is changed: one account whose service hangs must not keep the others'
// from people, and a form opens without what it only shows.
const (
	whileCallLasts  = time.Hour // longer than any call
	accountPatience = 10 * time.Second
	formPatience    = 3 * time.Second
	briefPatience   = time.Second // for what an answer only mentions, of all accounts together
)

// keepListings is for how long a listing of the service may be planned on again, with what wafbot itself did since laid
// over it.
const keepListings = 5 * time.Second

// load reads what a call needs, of each of its accounts. Where an answer has set a service's clock, what is named by
// the time is read again, once.
func (x *executor) load(ctx context.Context, c *call.Call, patience time.Duration, rounds call.Rounds) {
	now := x.tellTime(c)
	read := func() {
		for _, needs := range rounds {
			x.round(ctx, c, patience, needs)
		}
	}
	if read(); x.correctTime(c, now) {
		read()
	}
}

// need reads some facts of the call's account, as long as the call lasts.
func (x *executor) need(ctx context.Context, c *call.Call, n call.Needs) {
	x.round(ctx, c, whileCallLasts, n.Of)
}

// round reads side by side what isn't read yet. A fact that can't be read is unknown, which is logged.
func (x *executor) round(ctx context.Context, c *call.Call, patience time.Duration, needs func(*call.Call) call.Needs) {
	brief, cancel := context.WithTimeout(ctx, briefPatience)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(loadsAtOnce)
	for _, a := range c.InScope {
		r := &reading{x, &g, ctx, brief, patience, a, c.FactsOf(a.Name)}
		n := needs(c.For(a))
		n.Changes = n.Changes || n.Entries != "" || n.Rules != 0 // what wafbot did lately is laid over them
		r.fromService(n)
		r.fromStore(n)
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

// beginOn reads what is stored now of the call's account, and of an attack if it is about one. The call then works on
// that, and writes only if nobody wrote since. The service's lists that were read before stay, for a short while.
func (c *job) beginOn(ctx context.Context, attack string) (err error) {
	account, ahead := c.Account.Name, c.ahead
	if c.ahead = ""; ahead != "" && ahead == attack {
		return c.aheadErr
	}
	c.basis, c.draft, err = c.Store.Ledger.Begin(ctx, account, attack, !c.Rebuilds(account))
	if err != nil {
		if ctx.Err() == nil {
			c.Log.WarnContext(ctx, "read what changes go by", "account", account, "err", err)
		}
		return refusal.Away(err)
	}
	b, before := c.basis, c.Facts
	f := &call.Facts{Context: call.Known(b.Context), PermissionLoss: call.Known(b.Loss)}
	f.Changes.Fact = call.Known(b.Changes)
	oldest := c.serviceNow().Add(-keepListings)
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

// reading reads the facts of one account.
type reading struct {
	*executor
	all      *errgroup.Group
	ctx      context.Context
	brief    context.Context
	patience time.Duration
	account  *config.Account
	facts    *call.Facts
}

// get reads one fact of an account.
type get[T any] func(ctx context.Context, account string) (T, error)

// read reads one fact, if it is needed and isn't read yet.
func read[A, T any](r *reading, f *call.Fact[T], need A, from get[T]) {
	if !call.Ask(f, need) {
		return
	}
	r.all.Go(func() error {
		ctx, cancel := context.WithTimeout(r.ctx, r.patience)
		defer cancel()
		f.Err = delay.Try(r.Log, "a fact", func() (err error) {
			f.Value, err = from(ctx, r.account.Name)
			return err
		})
		if f.Err != nil && r.ctx.Err() == nil {
			r.Log.WarnContext(r.ctx, "read fact", "fact", fmt.Sprintf("%T", f.Value), "account", r.account.Name, "err", f.Err)
		}
		return nil
	})
}

// with is how a fact is read that its need says more about.
func with[A, T any](need A, from func(context.Context, string, A) (T, error)) get[T] {
	return func(ctx context.Context, account string) (T, error) { return from(ctx, account, need) }
}

// found is with, of what may not be there.
func found[T any](id string, from func(context.Context, string, string) (T, bool, error)) get[call.Found[T]] {
	return func(ctx context.Context, account string) (f call.Found[T], err error) {
		f.Value, f.Ok, err = from(ctx, account, id)
		return f, err
	}
}

// listed is how a list of the service's is read.
func listed[F, T any](list func(context.Context, F) iter.Seq2[T, error], filter F) get[[]T] {
	return func(ctx context.Context, _ string) ([]T, error) { return apiclient.Collect(list(ctx, filter)) }
}

// readLagging reads a list of the service's that lags behind its writes.
func readLagging[A, T any](r *reading, l *call.Listing[T], need A, from get[[]T]) {
	read(r, &l.Fact, need, func(ctx context.Context, account string) (_ []T, err error) {
		asked := r.Clocks.Now() // over an answer that a paused process reads late lies what was done since
		l.Answer, err = from(ctx, account)
		l.At = r.onService(account, asked)
		return l.Answer, err
	})
}

// fromService reads what the service holds.
func (r *reading) fromService(n call.Needs) {
	f, s := r.facts, r.Services[r.account.Name]
	read(r, &f.Attacks.Fact, n.Attacks, func(ctx context.Context, _ string) ([]apiclient.Attack, error) {
		return r.listAttacks(ctx, r.account, n.Attacks)
	})
	list := n.Entries
	if list == call.AllLists {
		list = ""
	}
	active := n.Vulnerabilities == call.OpenVulnerabilities
	readLagging(r, &f.Entries, n.Entries, listed(s.IPRules, list))
	readLagging(r, &f.Rules, n.Rules, listed(s.Rules, max(n.Rules, 0)))
	read(r, &f.Vulnerabilities.Fact, n.Vulnerabilities, listed(s.Vulnerabilities, active))
	read(r, &f.Conditions.Fact, n.Conditions, func(ctx context.Context, _ string) ([]apiclient.ConditionSet, error) {
		return apiclient.Collect(s.ConditionSets(ctx))
	})
	read(r, &f.AttackDays, n.AttackDays, func(ctx context.Context, _ string) (apiclient.AttackDays, error) {
		if n.AttackDays.Brief {
			ctx = r.brief
		}
		return s.AttackDays(ctx, n.AttackDays.Hours)
	})
}

// fromStore reads what is stored of the account, and of one attack.
func (r *reading) fromStore(n call.Needs) {
	f, s := r.facts, r.Store
	read(r, &f.Stored, n.Stored, with("", s.Attacks.FindAttacks))
	read(r, &f.Changes.Fact, n.Changes, r.changes)
	read(r, &f.Efficacy, n.Efficacy, s.Ledger.Efficacy)
	read(r, &f.Triages, n.Triages, s.Triage.AllTriage)
	read(r, &f.Mutes.Fact, n.Mutes, s.Triage.Mutes)
	read(r, &f.Context, n.Context, s.Triage.AccountContext)
	read(r, &f.Approvals.Fact, n.Approvals, s.Ledger.Requests)
	read(r, &f.Storms.Fact, n.Storms, s.Attacks.Storms)
	read(r, &f.InStorms, n.InStorms, r.inStorms)
	read(r, &f.Grouped, n.Grouped, with(n.Grouped, r.grouped))
	read(r, &f.Outages.Fact, n.Outages, with(n.Outages, s.Attacks.Outages))
	read(r, &f.Audit.Fact, n.Audit, with(n.Audit, s.Audit.Entries))
	read(r, &f.PermissionLoss, n.PermissionLoss, s.Ledger.PermissionLoss)
	read(r, &f.Drill, n.Drill, s.Triage.Drill)
	read(r, &f.Replicas, n.Replicas, func(ctx context.Context, _ string) (n int, err error) {
		err = s.Replicas.Hear(ctx)
		n, _ = s.Replicas.Living()
		return n, err
	})

	read(r, &f.Known, n.Known, found(n.Known, s.Attacks.KnownAttack))
	read(r, &f.Triage, n.Triage, with(n.Triage, s.Triage.TriageOf))
	read(r, &f.Evidence, n.Evidence, found(n.Evidence, s.Attacks.Evidence))
	read(r, &f.Observation, n.Observation, found(n.Observation, s.Attacks.LastObservation))
	read(r, &f.States, n.States, with(n.States, s.Attacks.StatesOf))
	if n.Routing != nil {
		read(r, &f.Routing, n.Routing, with(*n.Routing, r.Routing))
	}
}

// fromHere reads what Slack and this process know.
func (r *reading) fromHere(n call.Needs) {
	read(r, &r.facts.Rights, n.Rights, func(ctx context.Context, account string) (call.Rights, error) {
		return r.rights(ctx, n.Rights, []*config.Account{r.account})[account], nil
	})
	read(r, &r.facts.CardLinks, n.CardLinks, func(ctx context.Context, account string) (map[string]string, error) {
		return r.CardLinks(ctx, account, n.CardLinks), nil
	})
	read(r, &r.facts.Health, n.Health,
		func(_ context.Context, account string) (f call.Found[record.PollHealth], _ error) {
			f.Value, f.Ok = r.Health(account)
			return f, nil
		})
}

// changes are the account's, which aren't known as long as what Redis lost isn't rebuilt.
func (r *reading) changes(ctx context.Context, account string) ([]record.Change, error) {
	epoch, err := r.Store.Ledger.Epoch(ctx, account)
	switch {
	case err != nil:
		return nil, err
	case epoch == "" && r.Rebuilds(account):
		return nil, store.ErrEmptied
	}
	return r.Store.Ledger.Changes(ctx, account)
}

// grouped reads what storms grouped.
func (r *reading) grouped(
	ctx context.Context, account string, storms []string,
) (all map[string][]record.StormSeen, err error) {
	all = map[string][]record.StormSeen{}
	for _, storm := range storms {
		if all[storm], err = r.Store.Attacks.Grouped(ctx, account, storm); err != nil {
			return all, err
		}
	}
	return all, nil
}

// inStorms reads which attacks have no card because a storm's stands for them, of the storms that go on or whose
// attacks do.
func (r *reading) inStorms(ctx context.Context, account string) (map[string]bool, error) {
	storms, err := r.Store.Attacks.Storms(ctx, account)
	in := map[string]bool{}
	for _, storm := range storms {
		if err == nil && storm.Active() {
			var grouped []record.StormSeen
			grouped, err = r.Store.Attacks.Grouped(ctx, account, storm.ID)
			for _, g := range grouped {
				in[g.ID] = !g.Own
			}
		}
	}
	return in, err
}

// clock is the actor of what wafbot does by itself.
var clock = record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}
