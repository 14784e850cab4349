package notify

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/paging"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
)

// cardFacts are all that is stored about an attack, from which its card is drawn.
type cardFacts struct {
	file   record.AttackDetails
	shown  record.AttackState
	posted time.Time // when its card was; zero: it is about to be
	since  time.Time // since when that is stale; zero: it isn't known to be
}

const (
	toldAtOnce  = 30 * time.Second // after it was found: no longer is worth telling
	drawnAtOnce = 90 * time.Second // after it was stale: figures wait for a minute where there are many
)

// late is how long after it was found the attack was told, if that is worth telling. All clocks are of machines that keep time.
func (f cardFacts) late(now time.Time) time.Duration {
	if f.file.Card.Delivery != "" || f.shown.StormID != "" {
		return 0 // another card has told it, or its storm's
	}
	return lateBy(f.shown.FoundAt, cmp.Or(f.posted, now), toldAtOnce)
}

// behind is for how long the card showed old facts, likewise.
func (f cardFacts) behind(now time.Time) time.Duration { return lateBy(f.since, now, drawnAtOnce) }

// lateBy is how long after it was due something was done; 0 where that was soon enough.
func lateBy(due, done time.Time, soon time.Duration) time.Duration {
	if late := done.Sub(due); !due.IsZero() && late > soon {
		return late
	}
	return 0
}

// vulnTimeout bounds asking for a vulnerability's title: a card must not wait for it.
const vulnTimeout = 2 * time.Second

// doneSince reports whether something was done that was not done before.
func doneSince(now, before record.AttackDetails) bool {
	same := slices.EqualFunc(now.Changes, before.Changes, func(x, y record.Change) bool { return x.ID == y.ID && x.State == y.State })
	return !same || now.Page != before.Page || !reflect.DeepEqual(now.Triage, before.Triage) || !reflect.DeepEqual(now.Context.Mutes, before.Context.Mutes)
}

// Situation is what is decided from about an attack, as it is stored; known is false for one that was forgotten, or not seen again since the
// store was rebuilt.
func (n *Notifier) Situation(ctx context.Context, account, attack string) (s call.Situation, known bool, err error) {
	a, ok := n.account(account)
	if !ok {
		return s, false, nil
	}
	shown, known, err := n.cfg.Stores.Attacks.AttackState(ctx, account, attack)
	if err != nil || !known || shown.Rebuilt {
		return s, false, err
	}
	details, err := n.cfg.Stores.Cards.Details(ctx, account, attack)
	if err != nil {
		return s, false, err
	}
	return situation(a, n.cfg.Policy, shown, details, n.cfg.Now()), true, nil
}

// situation puts together what is decided from about an attack.
func situation(a Account, policy policy.Policy, shown record.AttackState, details record.AttackDetails, now time.Time) call.Situation {
	id := record.AttackID(a.Name, shown.Attack.ID)
	s := call.Situation{
		Account: a.Account, Policy: policy.With(details.Context.Protected), ID: id, Attack: shown.Attack, Storm: shown.Storm, AccountChanges: details.Changes, Efficacy: details.Efficacy, Context: details.Context, Now: now,
	}
	for _, ch := range slices.Backward(details.Changes) { // the newest first; a card reads downwards
		if ch.AttackID == id && ch.Parent() == "" {
			s.Changes = append(s.Changes, ch)
		}
	}
	if a.Settings != nil {
		settings := a.Settings()
		s.Entries, s.Rules = efficacy.Overlay(settings.Entries, settings.Rules, details.Changes, settings.At)
		s.Entries = slices.DeleteFunc(s.Entries, func(e apiclient.IPRule) bool { return !e.Expires.IsZero() && !e.Expires.After(s.Now) })
		s.LookedAt = settings.At
	}
	return s
}

// card puts together what a card shows.
func (k *cardKeeper) card(ctx context.Context, a Account, f cardFacts) card.Card {
	attack := f.shown.Attack
	s := situation(a, k.cfg.Policy, f.shown, f.file, k.cfg.Now())
	_, muted := policy.Muted(f.file.Context.Mutes, attack, s.Now)
	c := card.Card{
		Situation: s, Quiet: f.shown.Quiet, Mention: f.shown.Mention, Triage: f.file.Triage,
		FiguresAt: compare.FiguresAt(f.shown, f.file.LastGood, muted), Course: f.shown.History, Outage: f.file.Outage, Found: f.shown.FoundAt, Late: f.late(s.Now), StaleFor: f.behind(s.Now),
		QuietHours: f.shown.Suppressed, MentionedAt: f.shown.MentionedAt, Suppressed: f.shown.SuppressedMention,
		ConsoleURL: a.ConsoleURL, Runbook: cmp.Or(k.cfg.Runbooks[attack.Type], k.cfg.Runbooks["*"]),
	}
	c.Reposted, c.Uneditable = record.Reposted(f.file.Card.Delivery)
	c.Page = pageState(f, s.Now)
	if attack.Incident() && a.Vuln != nil {
		ctx, cancel := context.WithTimeout(ctx, vulnTimeout)
		defer cancel()
		c.Vuln, _ = a.Vuln(ctx, attack.VulnID)
	}
	return c
}

// pageState is what is told of an attack's pager.
func pageState(f cardFacts, now time.Time) card.Page {
	last := f.file.Page
	if last.State == record.PageCalling {
		if f.file.Triage.Owner != nil { // about to be ended
			return card.Page{}
		}
		if !last.TakenAt.IsZero() {
			return card.Page{PagedAt: last.TakenAt}
		}
		return card.Page{Fault: last.Fault}
	}
	pager := f.shown.Pager
	if pager == nil {
		return card.Page{}
	}
	_, muted := policy.Muted(f.file.Context.Mutes, f.shown.Attack, now)
	u := paging.Unacknowledged{
		Attack: f.shown.Attack, Quiet: f.shown.Quiet, Muted: muted, NotifiedAt: pager.NotifiedAt, WorsenedAt: pager.WorsenedAt, Route: pager.Route,
		After: pager.After, Triage: f.file.Triage,
	}
	_, at, _ := u.PagesAt(last)
	return card.Page{At: at}
}
