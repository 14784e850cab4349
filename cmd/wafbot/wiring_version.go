package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
)

// hear asks Redis for the time, whether anything may be changed, and the version of the state, before the first click
// is taken. It fails with refusal.ErrNewer or refusal.ErrOlder when this process can't read that version, and where
// Redis itself is too old. Where Redis is away, no click is taken anyway.
func (a *app) hear(ctx context.Context) error {
	err := a.store.Replicas.Hear(ctx)
	if !errors.Is(err, refusal.ErrNewer) && !errors.Is(err, refusal.ErrOlder) && !refusal.TooOld(err) {
		return nil
	}
	a.explain(ctx, err)
	return err
}

// explain logs what an operator must know to go on from an error: nothing, or what is in force.
func (a *app) explain(ctx context.Context, err error) {
	if errors.Is(err, refusal.ErrOlder) {
		a.logInForce(ctx)
	}
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
	for e, err := range api.IPRules(ctx, apiclient.IPRuleFilter{}) {
		if err != nil {
			return fmt.Errorf("read lists: %w", err)
		}
		if id, ok := change.NamedIn(e.Reason); ok {
			log.Warn("in force at the service", "change", id, "list", e.List, "targets", fmt.Sprint(grammar.TargetsOf(e)), "until", e.Expires, "reason", e.Reason)
		}
	}
	for r, err := range api.Rules(ctx, apiclient.RuleFilter{}) {
		if err != nil {
			return fmt.Errorf("read rules: %w", err)
		}
		if id, ok := change.NamedIn(r.Comment); ok {
			log.Warn("in force at the service", "change", id, "rule", r.ID, "type", r.Type, "comment", r.Comment)
		}
	}
	return nil
}
