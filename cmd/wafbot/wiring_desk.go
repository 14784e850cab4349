package main

import (
	"cmp"
	"context"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// muted gives the poller an account's mutes, and what comes from sources that shall give no cards.
func (a *app) muted(account string) poller.Muted {
	return func(ctx context.Context) (func(apiclient.Attack) bool, error) {
		all, err := a.store.Mutes(ctx, account)
		now := time.Now()
		return func(attack apiclient.Attack) bool {
			_, muted := describe.Muted(all, attack, now)
			return muted || a.policy.Cardless(attack)
		}, err
	}
}

// wanted gives the poller the attacks that storms gathered and of which somebody wants a card.
func (a *app) wanted(account string) poller.Wanted {
	return func(ctx context.Context) (func(attackid string) bool, error) {
		all, err := a.store.Wanted(ctx, account)
		if len(all) == 0 {
			return nil, err
		}
		return func(attackid string) bool {
			_, wanted := all[record.AttackID(account, attackid)]
			return wanted
		}, err
	}
}

// explain holds an account's routes against an attack and looks where its card is.
func (a *app) explain(ctx context.Context, account string, attack apiclient.Attack) (call.Routing, error) {
	cfg := a.configured(account)
	var r call.Routing
	for _, t := range poller.Explain(cfg.PollerRoutes(), attack) {
		r.Tried = append(r.Tried, call.TriedRoute{Match: t.Route.Match.String(), Not: t.Not})
		if t.Not == "" {
			r.Channel, r.Mention, r.Calls, r.MentionEvery = t.Route.Channel, t.Route.Mention, t.Route.Mention, t.Route.MentionEvery
		}
	}
	r.Quiet, r.Hush = cfg.Quiet.Hours, cfg.Quiet.In(a.cfg.Timezone).Hush(attack, time.Now())
	if r.Quiet != "" {
		r.Zone = a.cfg.Timezone.String()
	}
	id := record.AttackID(account, attack.ID)
	shown, _, err := a.store.Shown(ctx, account, id)
	if err != nil {
		return r, err
	}
	r.CalledAt, r.Hushed = shown.CalledAt, shown.Hushed
	if r.Told = shown.Told && (shown.In == "" || shown.Own); r.Told {
		r.Calls, r.MentionEvery = cmp.Or(shown.Mention, shown.Spared), shown.Every
		r.Kept = r.Channel != shown.Channel || r.Mention != r.Calls
	}
	if shown.Pager != nil {
		r.PageAfter = shown.Pager.After
	}
	page, err := a.store.Page(ctx, account, id)
	if err != nil {
		return r, err
	}
	r.PagedAt = page.TakenAt
	r.Card, _, err = a.store.Card(ctx, account, id)
	return r, err
}
