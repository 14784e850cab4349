package poller

import (
	"net/netip"
	"slices"
	"time"
)

// Knocks reports whether one of these addresses, which are denied, still tries, as far as the service tells.
func (p *Poller) StillTrying(addresses []netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now().Add(p.skew)
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool { return p.knocks(a, now) })
}

// GoesOn reports whether an attack goes on whose id is one of those that are meant: it was hit lately, or one of its sources knocks. A storm
// goes on when one of the attacks that it gathered does.
func (p *Poller) GoesOn(meant func(attackid string) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now().Add(p.skew)
	for id, seen := range p.latest {
		if a := seen.attack; meant(id) && !a.FalsePositive() && !a.Result() && !p.look(a, now).silent() {
			return true
		}
	}
	for id, g := range p.storms {
		if meant(id) && p.blows(g, now) {
			return true
		}
	}
	return false
}

// knocks reports whether a denied source tried lately.
func (p *Poller) knocks(a netip.Addr, at time.Time) bool {
	return at.Sub(p.knocked[a.Unmap()]) < p.cfg.OngoingFor
}
