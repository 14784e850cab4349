package poller

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Store holds what an account's poller has decided, so that another replica can go on from there.
type Store interface {
	// Load reads all that is stored of an account; zero when there is nothing. The poller empties what it was given.
	Load(ctx context.Context, account string) (State, error)
	// Save stores an update in one transaction: people will be notified of its events, by this replica or another.
	Save(ctx context.Context, account string, u Update) error
}

// State is what a Store holds of one account.
type State struct {
	LastGood   time.Time                     // of the last complete poll, on the service's clock; zero: there was none yet
	Attacks    map[string]record.AttackState // by attack id
	FirstStart time.Time                     // when people were notified of the first start, as rebuilt after Redis was emptied; zero: not known
	Outage     record.Outage                 // that people were notified of and that goes on
	Cap        record.Cap                    // the last one
}

// Update is what one poll changes in a Store.
type Update struct {
	LastGood time.Time
	Attacks  map[string]record.AttackState        // by attack id; only those that changed
	Delete   []string                             // attack ids long out of the lookback
	Events   []record.Event                       // incidents first
	Outage   *record.Outage                       // of which the events notify; a zero one: it has ended; nil: as it was
	Stale    []string                             // attack ids whose cards say something else first, or are to be redrawn though there is no event of them
	Sources  map[netip.Addr]record.SourceActivity // the busiest of the sources that are in several attacks; nil: as it was
	Cap      *record.Cap                          // the last one; nil: as it was
	Gap      *record.Outage                       // the monitoring gap that ends with this poll; nil: none does
	Evidence map[string]record.Evidence           // by attack id; what is stored already stays as it is
	Judged   []record.Judgement                   // of changes; the cards of their attacks are to be redrawn
}

// empty reports whether the update changes nothing but LastGood.
func (u Update) empty() bool {
	return len(u.Attacks)+len(u.Delete)+len(u.Events)+len(u.Evidence)+len(u.Stale)+len(u.Judged) == 0 && u.Outage == nil && u.Cap == nil && u.Sources == nil
}

// AttackIDs are the attacks of which there is something to store, each once: those with events first, in the order of the events. So a storm
// is stored before what it groups, which would be lost without it; and incidents before either.
func (u Update) AttackIDs() (ids []string) {
	for _, e := range u.Events {
		ids = append(ids, e.Attack().ID)
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
