package record

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// PollState is the stored state of an account's polls: another replica goes on from there.
type PollState struct {
	LastGood   time.Time              // of the last complete poll, on the service's clock; zero: there was none yet
	Attacks    map[string]AttackState // by attack id
	FirstStart time.Time              // when people were notified of the first start, as rebuilt; zero: not known
	Outage     Outage                 // that people were notified of and that goes on
	Cap        Cap                    // the last one
}

// PollUpdate is what one poll changes in the store.
type PollUpdate struct {
	LastGood time.Time
	Attacks  map[string]AttackState        // by attack id; only those that changed
	Delete   []string                      // attack ids long out of the lookback
	Events   []Event                       // incidents first
	Outage   *Outage                       // of which the events notify; a zero one: it has ended; nil: as it was
	Stale    []string                      // attack ids whose cards say something else first, or are to be redrawn though there is no event of them
	Sources  map[netip.Addr]SourceActivity // the busiest of the sources that are in several attacks; nil: as it was
	Cap      *Cap                          // the last one; nil: as it was
	Gap      *Outage                       // the monitoring gap that ends with this poll; nil: none does
	Evidence map[string]Evidence           // by attack id; what is stored already stays as it is
	Judged   []Judgement                   // of changes; the cards of their attacks are to be redrawn
}

// Empty reports whether the update changes nothing but LastGood.
func (u PollUpdate) Empty() bool {
	return len(u.Attacks)+len(u.Delete)+len(u.Events)+len(u.Evidence)+len(u.Stale)+len(u.Judged) == 0 &&
		u.Outage == nil && u.Cap == nil && u.Sources == nil
}

// AttackIDs are the attacks that have something to store, each once: those with events first, in the order of
// the events. So a storm is stored before what it groups, which would be lost without it; and incidents before either.
func (u PollUpdate) AttackIDs() (ids []string) {
	for _, e := range u.Events {
		ids = append(ids, e.Subject)
	}
	ids = slices.AppendSeq(ids, maps.Keys(u.Attacks))
	ids = slices.AppendSeq(ids, maps.Keys(u.Evidence))
	given := map[string]bool{"": true} // events about no attack
	return slices.DeleteFunc(ids, func(id string) bool {
		again := given[id]
		given[id] = true
		return again
	})
}

// PollHealth is how watching an account goes.
type PollHealth struct {
	LastGood time.Time `json:"last_good,omitzero"` // when the last complete poll ended, on the service's clock; zero: there was none yet
	Failing  string    `json:"failing,omitempty"`  // why polls fail, in words for people; "": they don't
	Since    time.Time `json:"since,omitzero"`     // when they began to fail; zero: they don't, or that is not known
	Attacks  int       `json:"-"`                  // that are known
	Capped   string    `json:"capped,omitempty"`   // what there is more of than is watched, in words for people; "": all is watched
	TooLong  string    `json:"too_long,omitempty"` // the service's records that are skipped; "": none are
	Link     string    `json:"link,omitempty"`     // why a Socket Mode link of this replica can't be opened; "": not known
}

// Known reports whether a poll of this process has ended, well or not.
func (h PollHealth) Known() bool { return !h.LastGood.IsZero() || h.Failing != "" }

// Settings are the service's lists and rules, for previews.
type Settings struct {
	At      time.Time          // when all of it was last read, on the service's clock; zero: never yet
	Entries []apiclient.IPRule // all IP lists
	Rules   []apiclient.Rule   // modes and virtual patches only
	Err     string             // why the last reading failed, in words for people; what it could not read is as old as At
}
