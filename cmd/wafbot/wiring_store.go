package main

import (
	"context"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// efficacyStore is what judging mitigations reads and writes.
type efficacyStore struct {
	*store.Ledger
	*store.Triage
}

// ledger refuses everything for an account whose state hasn't begun.
type ledger struct {
	*store.Ledger
	epochs *store.Epochs
	posts  func(account string) bool // whether there is a channel to rebuild the state from
}

// Lock implements commands.Ledger.
func (l ledger) Lock(ctx context.Context, account string) (held context.Context, lock commands.Lock, err error) {
	return l.Ledger.Lock(ctx, account, !l.posts(account))
}

// Changes implements commands.Ledger.
func (l ledger) Changes(ctx context.Context, account string) ([]record.Change, error) {
	epoch, err := l.epochs.Epoch(ctx, account)
	if err != nil {
		return nil, err
	}
	if epoch == "" && l.posts(account) {
		return nil, refusal.ErrEmptied
	}
	return l.Ledger.Changes(ctx, account)
}
