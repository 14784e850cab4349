package poller

import (
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// pagerAfter is an attack's pager after an event. What was going on before the first start has none, until it gets worse.
func pagerAfter(p *record.Pager, kind record.EventKind, route Route, now time.Time) *record.Pager {
	worse := kind == record.BecameIncident || kind == record.Worsened
	begins := kind == record.NewIncident || kind == record.NewAttack
	switch {
	case p == nil && route.PageAfter > 0 && (begins || worse):
		return &record.Pager{Route: route.Match.String(), After: route.PageAfter, NotifiedAt: now}
	case p == nil || !worse:
		return p
	}
	next := *p
	next.WorsenedAt = now
	if kind == record.BecameIncident && route.PageAfter > 0 {
		next.Route, next.After = route.Match.String(), route.PageAfter
	}
	return &next
}

// PageDelivery is what a pager knows a call by: the same for all that is sent about one time, since then, in which an attack is unacknowledged.
func PageDelivery(account, attackID string, since time.Time) string {
	return record.DeliveryID(account, attackID, "page", int(since.UnixMilli()))
}

// PagerUnreachable is the event that a route's pager can't be called, for the account's channel. Its id is unique per page.
func PagerUnreachable(account, channel, page, route, why string) record.Event {
	return record.Event{
		ID: record.DeliveryID(account, page, record.PagerUnreachable, 0), Account: account, Kind: record.PagerUnreachable, Channel: channel, At: time.Now().UTC(),
		Payload: record.PagerFault{Route: route, Why: why},
	}
}
