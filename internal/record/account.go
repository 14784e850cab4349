package record

import (
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// AccountContext is what guards and cards need to know of an account beside its attacks.
type AccountContext struct {
	Protected     []Protected
	RulesLockedAt time.Time                     // when the service last said that its rules are locked; zero: not lately
	Sources       map[netip.Addr]SourceActivity // the busiest of the sources that are in several attacks
	Mutes         []Mute                        // some may be over
}

// SourceActivity is in how many attacks of an account within its lookback a source is, and on how many applications.
type SourceActivity struct {
	Attacks int `json:"n"`
	Apps    int `json:"a"`
}

// OtherAttacks is in how many attacks the source is, this one not counted.
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
