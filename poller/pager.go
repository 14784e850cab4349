package poller

import (
	"fmt"
	"time"
)

// Pager is the pager that is called for an attack when nobody is on it. It is chosen when the attack is first told, and anew when it becomes
// an incident.
type Pager struct {
	Route string        `json:"route"`          // the route's match, as Match.String has it
	After time.Duration `json:"after"`          // so long after it was told
	Told  time.Time     `json:"told"`           // on this machine's clock
	Worse time.Time     `json:"worse,omitzero"` // when it last became worse, likewise
}

// after is an attack's pager after it is told for a reason. What was going on before the first start has none, until it gets worse.
func (p *Pager) after(reason Reason, route Route, now time.Time) *Pager {
	worse := reason == BecameIncident || reason == Worsened
	begins := reason == NewIncident || reason == NewAttack
	switch {
	case p == nil && route.PageAfter > 0 && (begins || worse):
		return &Pager{Route: route.Match.String(), After: route.PageAfter, Told: now}
	case p == nil || !worse:
		return p
	}
	next := *p
	next.Worse = now
	if reason == BecameIncident && route.PageAfter > 0 {
		next.Route, next.After = route.Match.String(), route.PageAfter
	}
	return &next
}

// Paged returns the attacks that have a pager, as Memory holds them. ok is false as long as they aren't known.
func (p *Poller) Paged() (all []Shown, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.paged {
		all = append(all, p.shown[id])
	}
	return all, p.paged != nil
}

// PageDelivery is what a pager knows a call by: the same for all that is sent about one time, since then, in which nobody is on an attack.
func PageDelivery(account, attackID string, since time.Time) string {
	return deliveryID(account, attackID, "page", int(since.UnixMilli()))
}

// NewPagerAway is the news that the pager of a route can't be called, for the account's channel. The page that found it makes it this news.
func NewPagerAway(account, channel, page, route, why string) News {
	return News{
		ID: deliveryID(account, page, PagerAway, 0), Account: account, Reason: PagerAway, Channel: channel, At: time.Now().UTC(),
		Fault: fmt.Sprintf("%s (route %s)", why, route),
	}
}
