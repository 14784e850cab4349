package main

import (
	"context"
	"slices"

	"github.com/wafbot/wafbot/internal/record"
)

// called is the attack for which a pager was called and pages people still, by the call's id; "" if there is none.
func (a *app) called(ctx context.Context, pager, id string) (account, attack string, err error) {
	for _, t := range a.cfg.Accounts {
		routes := t.RoutesOf(pager)
		if len(routes) == 0 {
			continue
		}
		pages, err := a.store.Pages.Pages(ctx, t.Name)
		if err != nil {
			return "", "", err
		}
		for _, page := range pages {
			if page.ID == id && page.State == record.PageCalling && slices.Contains(routes, page.Route) {
				return t.Name, page.Attack, nil
			}
		}
	}
	return "", "", nil
}
