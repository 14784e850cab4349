package notify

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/paging"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
)

const (
	notifiedAtOnce = 30 * time.Second // after it was found: no longer is worth a line
	drawnAtOnce    = 90 * time.Second // after it was stale: figures wait for a minute where there are many
)

// late is how long after it was found people were notified of the attack, if that is worth a line. All clocks are of
// machines that keep time.
func (f facts) late() time.Duration {
	if f.Card.Delivery != "" || f.State.StormID != "" {
		return 0 // another card has shown it, or its storm's
	}
	return lateBy(f.State.FoundAt, cmp.Or(f.posted, f.now), notifiedAtOnce)
}

// lateBy is how long after it was due something was done; 0 where that was soon enough.
func lateBy(due, done time.Time, soon time.Duration) time.Duration {
	if late := done.Sub(due); !due.IsZero() && late > soon {
		return late
	}
	return 0
}

// doneSince reports whether something was done that was not done before.
func doneSince(now, before record.AttackDetails) bool {
	same := slices.EqualFunc(now.Changes, before.Changes,
		func(x, y record.Change) bool { return x.ID == y.ID && x.State == y.State })
	return !same || now.Page != before.Page || !reflect.DeepEqual(now.Triage, before.Triage) ||
		!reflect.DeepEqual(now.Context.Mutes, before.Context.Mutes)
}

// Drawn is what an attack's card shows now; known is false for an attack that is no longer stored, or not seen again
// since the store was rebuilt.
func (n *Notifier) Drawn(ctx context.Context, account, attack string) (s call.Situation, known bool, err error) {
	a, known := n.accounts[account]
	if !known {
		return s, false, nil
	}
	f := n.facts(a, attack)
	if err := n.loadAttack(ctx, &f); err != nil || !f.known() || f.State.Rebuilt {
		return s, false, err
	}
	return f.situation(), true, nil
}

// situation is the event's attack as its card shows it.
func (f facts) situation() call.Situation {
	_, muted := policy.Muted(f.Context.Mutes, f.State.Attack, f.now)
	id := record.AttackID(f.account.Name, f.State.Attack.ID)
	s := call.Situation{
		Account: f.account.Account, Policy: f.account.Guards.With(f.Context.Guarded()), ID: id, Attack: f.State.Attack,
		Storm:    f.State.Storm,
		Efficacy: f.Efficacy, Context: f.Context,
		Quiet: f.State.Quiet, Outage: f.Outage, Triage: f.Triage, Now: f.now,
	}.As(f.State).Made(f.Changes)
	s.FiguresAt, s.Late, s.StaleFor = compare.FiguresAt(f.State, f.LastGood, muted), f.late(),
		lateBy(f.since, f.now, drawnAtOnce)
	s.Runbook, s.Pager, s.SharedChannel = cmp.Or(f.runbooks[s.Attack.Type], f.runbooks["*"]), f.pager(muted), f.shared
	s.Reposted, s.Uneditable = record.Reposted(f.Card.Delivery)
	if f.account.Settings != nil {
		s.Entries, s.Rules = efficacy.Overlay(f.settings.Entries, f.settings.Rules, f.Changes, f.settings.At)
		s.Entries = slices.DeleteFunc(s.Entries, func(e apiclient.IPRule) bool { return !e.Lasts(s.Now) })
		s.ListsReadAt = f.settings.At
	}
	return s
}

// pager is the state of the attack's pager, as the card shows it.
func (f facts) pager(muted bool) call.PagerState {
	last, pager := f.Page, f.State.Pager
	switch {
	case last.State == record.PageCalling && f.Triage.Owner != nil: // about to be ended
		return call.PagerState{}
	case last.State == record.PageCalling && !last.TakenAt.IsZero():
		return call.PagerState{PagedAt: last.TakenAt}
	case last.State == record.PageCalling:
		return call.PagerState{Fault: last.Fault}
	case pager == nil:
		return call.PagerState{}
	}
	u := paging.Unacknowledged{
		Attack: f.State.Attack, Quiet: f.State.Quiet, Muted: muted, NotifiedAt: pager.NotifiedAt,
		WorsenedAt: pager.WorsenedAt, Route: pager.Route,
		After: pager.After, Triage: f.Triage,
	}
	_, at, _ := u.PagesAt(last)
	return call.PagerState{At: at}
}
