package main

import (
	"context"
	"fmt"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
)

// logInForce logs which of wafbot's changes are in force at the service, when their state is of an older version: no replica ends them until that
// is removed.
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
