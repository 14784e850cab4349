package record

import (
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Scene is what is known of an account beside its attacks, and what guards and cards go by.
type AccountContext struct {
	Protected     []Protected
	RulesLockedAt time.Time                     // when the service said last that its rules are locked; zero: not lately
	Sources       map[netip.Addr]SourceActivity // the busiest of the sources that are in several attacks
	Mutes         []Mute                        // some may be over
}

// Seen is in how many attacks of an account within its lookback a source is, and on how many applications.
type SourceActivity struct {
	Attacks int `json:"n"`
	Apps    int `json:"a"`
}

// besides is in how many attacks the source is apart from this one.
func (s SourceActivity) OtherAttacks(a *apiclient.Attack, source netip.Addr) int {
	if a == nil || a.Result() || a.FalsePositive() { // which aren't counted
		return s.Attacks
	}
	for _, listed := range a.Sources {
		if listed.IP == source {
			return max(0, s.Attacks-1)
		}
	}
	return s.Attacks
}
