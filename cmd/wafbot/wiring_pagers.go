package main

import (
	"context"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// pagers are the pagers whose acknowledgements come back.
type pagers struct {
	cfg   *config.Config
	pages *store.Pages
}

// Secret implements bot.Pagers.
func (p pagers) Secret(name string) apiclient.Secret { return p.cfg.PagerSecret(name) }

// Called implements bot.Pagers.
func (p pagers) Called(ctx context.Context, pager, id string) (account, attack string, err error) {
	for i := range p.cfg.Accounts {
		a := &p.cfg.Accounts[i]
		routes := a.RoutesOf(pager)
		if len(routes) == 0 {
			continue
		}
		pages, err := p.pages.Pages(ctx, a.Name)
		if err != nil {
			return "", "", err
		}
		for _, page := range pages {
			if page.ID == id && page.State == record.PageCalling && slices.Contains(routes, page.Route) {
				return a.Name, page.Attack, nil
			}
		}
	}
	return "", "", nil
}
