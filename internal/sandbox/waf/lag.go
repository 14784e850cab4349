package waf

import (
	"slices"
	"time"
)

// The listings of the real service come from replicas, which are behind its writes.
const (
	listingLag   = 2 * time.Second  // at speed 1
	laggingFault = 10 * time.Second // under the fault "lagging", at any speed
)

// listing is what a replica listed until a write reached it.
type listing struct {
	entries []*entry
	rules   []*rule
	until   time.Time
}

// listedNow is what the service itself holds: copies, because an entry can be overwritten later.
func (a *account) listedNow() (l listing) {
	for _, e := range a.entries {
		if e.listed() {
			copied := *e
			l.entries = append(l.entries, &copied)
		}
	}
	for _, r := range a.rules {
		if r.listed() {
			copied := *r
			l.rules = append(l.rules, &copied)
		}
	}
	return l
}

// beforeWrite keeps what is listed for the replicas that a write has yet to reach. The caller holds the lock.
func (s *core) beforeWrite(a *account) {
	now := s.now()
	a.listings = slices.DeleteFunc(a.listings, func(l listing) bool { return now.Sub(l.until) > max(laggingFault, s.lag) })
	l := a.listedNow()
	l.until = now
	a.listings = append(a.listings, l)
}

// listed is what a replica lists that is so far behind. The caller holds the lock.
func (s *core) listed(a *account, lag time.Duration) listing {
	now := s.now()
	for _, l := range a.listings {
		if now.Sub(l.until) < lag {
			return l
		}
	}
	return a.listedNow()
}

// CatchUp has all replicas list what was written until now.
func (s *Service) CatchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.accounts {
		a.listings = nil
	}
}
