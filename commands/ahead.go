package commands

import (
	"context"
	"sync"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// ahead is what a change goes by, read while it is looked up who asks: people wait for each round trip that follows
// another one.
type ahead struct {
	account, attack string // attack "": it is about none
	basis           record.Basis
	draft           *store.Draft
	err             error
}

// admit authorises the person who asks, and reads meanwhile what the change goes by. It begins to read what the command
// needs of the service: a refusal doesn't wait for that.
func (r *Runner) admit(ctx context.Context, c *job) error {
	attack, _ := c.attackTyped()
	if attack = record.FoldID(attack); !c.changes || c.Account == nil || attack != "" && !record.IsAttackID(attack) {
		return r.authorise(ctx, c)
	}
	a := &ahead{account: c.Account.Name, attack: attack}
	var reading sync.WaitGroup
	reading.Go(func() {
		a.err = delay.Try(r.cfg.Log, "what a change goes by", func() (err error) {
			a.basis, a.draft, err = r.cfg.Store.Ledger.Begin(ctx, a.account, a.attack, !r.cfg.Rebuilds(a.account))
			return err
		})
	})
	err := r.authorise(ctx, c)
	if err == nil && c.Account != nil && requireNotOff(c) == nil {
		r.loader.readService(ctx, c)
	}
	reading.Wait()
	c.ahead = a
	return err
}

// readService begins to read what the command declares of the service.
func (l *loader) readService(ctx context.Context, c *job) {
	ctx, c.endReading = context.WithCancel(ctx)
	for _, n := range c.Cmd.Declares(c.Account.Name) {
		coming := make(chan call.Loaded, 1)
		c.Loaded.Coming[n] = coming
		c.reading.Go(func() { coming <- l.loadOne(ctx, call.NewFacts(), n) })
	}
}

// leaveUnread ends what is still being read of the service, and waits for that: it wasn't needed.
func (c *job) leaveUnread() {
	if c.endReading != nil {
		c.endReading()
		c.reading.Wait()
	}
}

// attackTyped is the attack that a line names, or which its place implies; "": neither.
func (c *job) attackTyped() (typed string, implied bool) {
	typed = call.AttackNamed(c.Cmd, c.Line)
	if implied = typed == "" && c.Cmd.ImpliesAttack(); implied {
		typed = c.Invocation.Attack
	}
	return typed, implied
}

// knownAhead is the attack that was typed, if it was read ahead: it has that whole id, so nothing else is meant. What
// was read of an account that doesn't exist for the person isn't known.
func (c *job) knownAhead(typed string) (attack apiclient.Attack, ok bool) {
	a := c.ahead
	if a == nil || a.err != nil || c.Account == nil || a.account != c.Account.Name || a.attack != record.FoldID(typed) {
		return attack, false
	}
	return a.basis.Known, a.basis.Known.ID != ""
}

// basis is what a change goes by, as it was read ahead, which counts once, or as it is stored now.
func (l *loader) basis(ctx context.Context, c *job, attack string) (record.Basis, *store.Draft, error) {
	a := c.ahead
	c.ahead = nil
	if a != nil && a.account == c.Account.Name && a.attack == attack {
		return a.basis, a.draft, a.err
	}
	return l.cfg.Store.Ledger.Begin(ctx, c.Account.Name, attack, !l.cfg.Rebuilds(c.Account.Name))
}
