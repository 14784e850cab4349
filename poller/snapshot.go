package poller

import (
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// A record can change without a new hit, and then it keeps its place far down the list. So now and then more is read
// than the new end of it. A service with n records in the lookback, i of them incidents, is asked n/100+1 times in a
// sweep and i/100+1 times for the incidents; a poll that finds nothing new asks once.
const (
	sweepEvery     = 10 * time.Minute
	incidentsEvery = time.Minute
	overlap        = 2 * time.Minute // the service may list a hit this long after it happened
)

// snapshot is what one poll has read.
type snapshot struct {
	begin     time.Time                    // on this machine's monotonic clock
	at        time.Time                    // when the first page came, on the service's clock; before, when the poll began
	from      time.Time                    // begin of the lookback
	records   map[string]*apiclient.Attack // by id; without those whose bytes are known
	sums      map[string]uint64            // of the bytes of each of records
	same      []*seenRecord                // those whose bytes are known
	changed   []string                     // ids of those that are unknown or were read otherwise before
	tries     map[netip.Addr]time.Time     // the last try of each denied or patched source: its hits leave the attack's record for one of their own
	attacks   int                          // that were read and are no incidents
	bytes     int                          // of the listing of attacks
	capped    limit                        // at which the poll stopped reading attacks; "": it didn't
	reached   time.Time                    // no record with a later hit was left out
	whole     bool                         // no record that is watched was left out
	incidents bool                         // no incident was left out
	early     bool                         // the poll reads on
	good      bool                         // the poll has read all that it wanted
	mixed     error                        // records of another client came in place of what may be the account's; nil: none did
}

// covers reports whether a hit later than last would have been seen.
func (s *snapshot) covers(last time.Time) bool {
	return s.mixed == nil && (s.whole && s.capped == "" || !s.reached.IsZero() && !last.Before(s.reached))
}
