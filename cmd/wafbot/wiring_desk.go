package main

import (
	"cmp"
	"context"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// touched has this replica, if it tends the account, redraw the attack's card at once, which was marked when something was said about it; and
// calls who was given the attack.
func (a *app) touched(ctx context.Context, t commands.Touch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	a.bot.Redraw(t.Account)
	if t.HandedTo != "" {
		a.announce(ctx, bot.Handover(t, a.configured(t.Account).Channel))
	}
}

// notice is the news of a spell in which the service refuses changes.
func (a *app) notice(t record.PermissionLoss) []record.Event {
	return []record.Event{bot.HandsTied(t, a.configured(t.Account).Channel)}
}

// asked is the news of a request for a second person.
func (a *app) asked(q record.ApprovalRequest) []record.Event {
	return []record.Event{bot.Asked(q, a.configured(q.Account).Channel)}
}

// wakeAsked has this replica, if it tends the account, show a request at once.
func (a *app) wakeAsked(_ context.Context, q record.ApprovalRequest) {
	a.bot.Wake(q.Account, a.asked(q))
}

// Muted implements poller.Preferences: the account's mutes, and sources that shall give no cards.
func (a *app) Muted(ctx context.Context, account string) (func(apiclient.Attack) bool, error) {
	all, err := a.store.Triage.Mutes(ctx, account)
	now := time.Now()
	return func(attack apiclient.Attack) bool {
		_, muted := describe.Muted(all, attack, now)
		return muted || a.policy.Cardless(attack)
	}, err
}

// WantedCards implements poller.Preferences.
func (a *app) WantedCards(ctx context.Context, account string) (func(attackid string) bool, error) {
	all, err := a.store.Attacks.WantedCards(ctx, account)
	if len(all) == 0 {
		return nil, err
	}
	return func(attackid string) bool {
		_, wanted := all[record.AttackID(account, attackid)]
		return wanted
	}, err
}

// explain holds an account's routes against an attack and looks where its card is.
func (a *app) explain(ctx context.Context, account string, attack apiclient.Attack) (call.Routing, error) {
	cfg := a.configured(account)
	var r call.Routing
	for _, t := range poller.Explain(cfg.PollerRoutes(), attack) {
		r.Tried = append(r.Tried, call.TriedRoute{Match: t.Route.Match.String(), Not: t.Mismatch})
		if t.Mismatch == "" {
			r.Channel, r.Mention, r.Calls, r.MentionEvery = t.Route.Channel, t.Route.Mention, t.Route.Mention, t.Route.MentionEvery
		}
	}
	r.Quiet, r.Hush = cfg.Quiet.Hours, cfg.Quiet.In(a.cfg.Timezone).Suppresses(attack, time.Now())
	if r.Quiet != "" {
		r.Zone = a.cfg.Timezone.String()
	}
	id := record.AttackID(account, attack.ID)
	shown, _, err := a.store.Attacks.AttackState(ctx, account, id)
	if err != nil {
		return r, err
	}
	r.CalledAt, r.Hushed = shown.MentionedAt, shown.Suppressed
	if r.Told = shown.Notified && (shown.StormID == "" || shown.OwnCard); r.Told {
		r.Calls, r.MentionEvery = cmp.Or(shown.Mention, shown.SuppressedMention), shown.MentionEvery
		r.Kept = r.Channel != shown.Channel || r.Mention != r.Calls
	}
	if shown.Pager != nil {
		r.PageAfter = shown.Pager.After
	}
	page, err := a.store.Pages.Page(ctx, account, id)
	if err != nil {
		return r, err
	}
	r.PagedAt = page.TakenAt
	r.Card, _, err = a.store.Cards.Card(ctx, account, id)
	return r, err
}

// drilled has a drill's card posted, or show how the drill ended, by the replica that tends the account.
func (a *app) drilled(ctx context.Context, d record.Drill) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	a.announce(ctx, bot.Drilled(d, a.configured(d.Account).Channel))
}
