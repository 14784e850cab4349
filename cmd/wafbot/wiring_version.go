package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/store"
)

// hear asks Redis for the time, whether anything may be changed, and the version of the state, before the first click
// is taken. It fails with store.ErrNewer or store.ErrOlder when this process can't read that version, and where
// Redis itself is too old. Where Redis is away, no click is taken anyway.
func (a *app) hear(ctx context.Context) error {
	err := a.Replicas.Hear(ctx)
	if !errors.Is(err, store.ErrNewer) && !errors.Is(err, store.ErrOlder) && !store.TooOld(err) {
		return nil
	}
	return a.explain(ctx, err)
}

// explain is an error with what to do about it. It logs what an operator must know for that: nothing, or what is in
// force.
func (a *app) explain(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrOlder) {
		a.logInForce(ctx)
	}
	return refusal.Advised(err)
}

// listsTimeout bounds reading the service's lists for the log.
const listsTimeout = 30 * time.Second

// logInForce logs which of wafbot's changes are in force at the service, when their state is of an older version: no
// replica ends them until that is removed.
func (a *app) logInForce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listsTimeout)
	defer cancel()
	for _, account := range a.cfg.Accounts {
		if err := a.logInForceOn(ctx, account.Name); err != nil {
			a.log.Error("read what is in force at the service", "account", account.Name, "err", err)
		}
	}
}

func (a *app) logInForceOn(ctx context.Context, account string) error {
	api := a.tenants[account].api
	log := a.log.With("account", account)
	for e, err := range api.IPRules(ctx, "") {
		if err != nil {
			return fmt.Errorf("read lists: %w", err)
		}
		if id, ok := change.NamedIn(e.Reason); ok {
			log.Warn("in force at the service", "change", id, "list", e.List, "targets", fmt.Sprint(grammar.TargetsOf(e)), "until", e.Expires, "reason", e.Reason)
		}
	}
	for r, err := range api.Rules(ctx, 0) {
		if err != nil {
			return fmt.Errorf("read rules: %w", err)
		}
		if id, ok := change.NamedIn(r.Comment); ok {
			log.Warn("in force at the service", "change", id, "rule", r.ID, "type", r.Type, "comment", r.Comment)
		}
	}
	return nil
}
