package poller

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Memory keeps what an account's poller has decided, so that another replica can go on from there.
type Memory interface {
	// Load reads all that is remembered of an account; zero when there is nothing.
	Load(ctx context.Context, account string) (Remembered, error)
	// LoadEvidence reads what is kept of attacks, by their id; what isn't known is left out.
	LoadEvidence(ctx context.Context, account string, ids []string) (map[string]record.Evidence, error)
	// Remember keeps an update in one transaction: news that is remembered will be told, by whoever.
	Remember(ctx context.Context, account string, u Update) error
}

// Notifier tells news to people.
type Notifier interface {
	// Wake says that news of the account has been remembered. It is passed along so that it need not be read back.
	Notify(account string, news []record.Event)
}

// Remembered is what Memory holds of one account.
type Remembered struct {
	LastGood time.Time                     // of the last poll that was read to its end, on the service's clock; zero: there was none yet
	Shown    map[string]record.AttackState // by attack id
	Began    time.Time                     // after Memory was emptied: when the first start had been told; zero: not known
	Blind    record.Outage                 // that was told and has not ended
}

// Update is what one poll changes in Memory.
type Update struct {
	LastGood time.Time
	Shown    map[string]record.AttackState        // by attack id; only those that changed
	Forget   []string                             // attack ids long out of the lookback
	Events   []record.Event                       // incidents first
	Blind    *record.Outage                       // the one that was told now; a zero one: it has ended; nil: as it was
	Outdated []string                             // attack ids whose cards are to be drawn anew though there is no news of them
	Seen     map[netip.Addr]record.SourceActivity // the busiest of the sources that are in several attacks; nil: as it was
	Absence  *record.Outage                       // that has ended with this poll; nil: none has
	Evidence map[string]record.Evidence           // by attack id; only what changed

	// What only this process knows of the poll.
	held  map[string]bool // attack ids that a mute keeps back
	paces map[string]pace // by attack id
	gusts gusts
}

// About are the attacks of which there is something to remember, each once: those that are news first, in the order of the news. So a storm
// is remembered before what it gathered, which without it would be lost; and incidents before either.
func (u Update) About() iter.Seq[string] {
	return func(yield func(string) bool) {
		given := map[string]bool{"": true} // news about no attack
		once := func(id string) (more bool) {
			if given[id] {
				return true
			}
			given[id] = true
			return yield(id)
		}
		for _, n := range u.Events {
			if !once(n.Attack().ID) {
				return
			}
		}
		for id := range u.Shown {
			if !once(id) {
				return
			}
		}
		for id := range u.Evidence {
			if !once(id) {
				return
			}
		}
	}
}
