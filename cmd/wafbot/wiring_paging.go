package main

import "github.com/wafbot/wafbot/commands/paging"

// paging puts an account's paging together.
func (a *app) paging(account string) *paging.Paging {
	cfg := a.configured(account)
	pagers := map[string]paging.Sender{}
	for route, p := range a.pagers[account] {
		pagers[route] = p
	}
	return paging.New(paging.Config{
		Account: a.tenants[account], Channel: cfg.Channel, Routes: cfg.PollerRoutes(), Pagers: pagers, SlackURL: a.cfg.Slack.APIURL, Runbooks: a.cfg.Runbooks,
		Pages: a.store.Pages, Triage: a.store.Triage, Attacks: a.pollers[account], Notifier: a.notifier, Calls: a.calls, Log: a.log,
	})
}
