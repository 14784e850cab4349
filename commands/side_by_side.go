package commands

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/commands/call"
)

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
