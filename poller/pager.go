package poller

import (
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// after is an attack's pager after it is told for a reason. What was going on before the first start has none, until it gets worse.
func pagerAfter(p *record.Pager, reason record.EventKind, route Route, now time.Time) *record.Pager {
	worse := reason == record.BecameIncident || reason == record.Worsened
	begins := reason == record.NewIncident || reason == record.NewAttack
	switch {
	case p == nil && route.PageAfter > 0 && (begins || worse):
		return &record.Pager{Route: route.Match.String(), After: route.PageAfter, Told: now}
	case p == nil || !worse:
		return p
	}
	next := *p
	next.Worse = now
	if reason == record.BecameIncident && route.PageAfter > 0 {
		next.Route, next.After = route.Match.String(), route.PageAfter
	}
	return &next
}

// Paged returns the attacks that have a pager, as Memory holds them. ok is false as long as they aren't known.
func (p *Poller) Paged() (all []record.AttackState, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.paged {
		all = append(all, p.shown[id])
	}
	return all, p.paged != nil
}

// PageDelivery is what a pager knows a call by: the same for all that is sent about one time, since then, in which nobody is on an attack.
func PageDelivery(account, attackID string, since time.Time) string {
	return record.DeliveryID(account, attackID, "page", int(since.UnixMilli()))
}

// NewPagerAway is the news that the pager of a route can't be called, for the account's channel. The page that found it makes it this news.
func NewPagerAway(account, channel, page, route, why string) record.Event {
	return record.Event{
		ID: record.DeliveryID(account, page, record.PagerUnreachable, 0), Account: account, Kind: record.PagerUnreachable, Channel: channel, At: time.Now().UTC(),
		Payload: record.PagerFault{Route: route, Why: why},
	}
}
