package main

import (
	"context"

	"github.com/wafbot/wafbot/internal/store"
)

// recall begins an account's memory if there is none.
func (a *app) recall(ctx context.Context, account string) error {
	epoch, err := a.store.Epoch(ctx, account)
	if err != nil || epoch != "" {
		return err
	}
	return a.store.Restore(ctx, account, store.Recalled{Epoch: store.NewEpoch()})
}
