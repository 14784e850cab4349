package poller

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// The kinds a Match tells apart.
const (
	KindIncident = "incident"
	KindAttack   = "attack" // that is no incident
)

// Match says which attacks a route takes. The zero value takes all; every key that is set must hold.
type Match struct {
	Kind    string             // KindIncident or KindAttack; "": both
	Types   []string           // attack types, one of which must be the attack's; empty: all
	Apps    []int              // application ids likewise
	Hosts   []string           // domains likewise, without regard to case
	Status  []apiclient.Status // likewise
	MinHits int64              // least number of hits; hits that are unknown are enough
}

// Route says where attacks that match get their card. The first that matches is taken.
type Route struct {
	Match   Match
	Channel string // Slack channel id; "": Config.Channel
	Mention string // Slack user or user group id; "": nobody
}

// DefaultRoutes takes incidents, and attacks from 30 hits that are not fully blocked, and mentions nobody.
func DefaultRoutes(channel string) []Route {
	through := []apiclient.Status{apiclient.StatusNotBlocked, apiclient.StatusPartly, apiclient.StatusUnknown}
	return []Route{
		{Match: Match{Kind: KindIncident}, Channel: channel},
		{Match: Match{Kind: KindAttack, Status: through, MinHits: 30}, Channel: channel},
	}
}

func (m Match) takes(a apiclient.Attack) bool {
	switch {
	case m.Kind == KindIncident && !a.Incident(), m.Kind == KindAttack && a.Incident():
		return false
	case len(m.Types) > 0 && !slices.Contains(m.Types, a.Type):
		return false
	case len(m.Apps) > 0 && !(a.App.Known && slices.Contains(m.Apps, int(a.App.N))):
		return false
	case len(m.Hosts) > 0 && !slices.ContainsFunc(m.Hosts, func(h string) bool { return strings.EqualFold(h, a.Domain) }):
		return false
	case len(m.Status) > 0 && !slices.Contains(m.Status, a.Status()):
		return false
	}
	return !a.Hits.Known || a.Hits.N >= m.MinHits
}

// route returns the first route that takes the attack, with its channel filled in.
func (p *Poller) route(a apiclient.Attack) (Route, bool) {
	i := slices.IndexFunc(p.cfg.Routes, func(r Route) bool { return r.Match.takes(a) })
	if i < 0 {
		return Route{}, false
	}
	r := p.cfg.Routes[i]
	if r.Channel == "" {
		r.Channel = p.cfg.Channel
	}
	return r, true
}
