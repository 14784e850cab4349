package record

import (
	"maps"
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Storm is what one card shows of attacks that came too fast for a card each. To everything else a storm is an attack
// (AttackState.Attack), summed up from the grouped ones: it has a card, grows, gets worse, goes quiet, is acknowledged.
type Storm struct {
	Over        int           `json:"over"` // it began when more attacks than that came
	In          time.Duration `json:"in"`   // within that time
	EndsAfter   time.Duration `json:"ends_after"`
	Began       time.Time     `json:"began"`                  // on the service's clock, as all of its times
	Exceeded    time.Time     `json:"exceeded"`               // more than Over came within In the last time; EndsAfter later it ends
	Ended       time.Time     `json:"ended,omitzero"`         // zero: it goes on, and new attacks are grouped
	CaughtUp    bool          `json:"caught_up,omitempty"`    // it began with attacks that went on already: at a first start, after a monitoring gap, or after Redis was emptied
	Before      int           `json:"before"`                 // attacks that counted towards its beginning and have a card each
	Incidents   int           `json:"incidents"`              // that came while it went on, from its first poll, each with its own card
	Grouped     int           `json:"grouped"`                // attacks that only its figures show, and those of OwnCards; never fewer than before
	OwnCards    int           `json:"own_cards"`              // of them, those that have got a card of their own since
	Ongoing     int           `json:"ongoing"`                // of them, those that go on
	StillTrying int           `json:"still_trying,omitempty"` // of them, those that would be quiet if no denied source of theirs were still trying
	Hits        int64         `json:"hits"`                   // of them together, as far as they are known; never fewer than before
	Steady      int           `json:"steady,omitempty"`       // complete polls in a row that found no more attacks for it, at most SteadyPolls
	Severity    Severity      `json:"severity,omitempty"`     // the worst that one of them reached without a card of its own

	FalsePositives int                      `json:"false_positives,omitempty"` // of them, so marked at the service: none of the following counts them
	Status         map[apiclient.Status]int `json:"status"`                    // how many of them, by status
	Types          map[string]int           `json:"types"`                     // by type, the most frequent
	Apps           map[int64]int            `json:"apps"`                      // by application, the most frequent
	AppCount       int                      `json:"app_count"`                 // all of these applications

	Sources  map[netip.Addr]int `json:"sources"`             // how many of them each source is in, the most frequent
	Source   netip.Addr         `json:"source,omitzero"`     // the busiest of at least half of them; zero: none is
	Country  string             `json:"country,omitempty"`   // of Source
	SharedBy int                `json:"shared_by,omitempty"` // how many of them Source is in; without a Source, how many go to Place
	Place    string             `json:"place,omitempty"`     // METHOD host/path that at least half of them go to, if no source is in that many; "": none

	Through        map[apiclient.Status]int `json:"getting_through,omitempty"` // of them, those that get through now, by status; where none is known to, those of which it is unknown
	Unblocked      []apiclient.Attack       `json:"unblocked,omitempty"`       // of Through, the worst first, brief, at most 20: those without a card of their own
	UnblockedCount int                      `json:"unblocked_count,omitempty"` // all of them
	Behind         []StormSource            `json:"behind,omitempty"`          // the busiest sources of Through, at most 5
	LastThrough    time.Time                `json:"last_through,omitzero"`     // the last hit of those that aren't fully blocked, whether they get through now or not
}

// StormSource is a source of what gets through in a storm.
type StormSource struct {
	apiclient.Source // with its hits together

	In    int `json:"in"`     // how many of Storm.Through
	InAll int `json:"in_all"` // how many of Storm.Grouped
}

// SteadyPolls is after how many polls that found no more attacks a storm's figures are taken for all.
const SteadyPolls = 2

// Growing reports whether there may be more attacks than are counted: the polls so far found more each time, or none is
// complete yet.
func (s Storm) Growing() bool { return s.GoesOn() && s.Steady < SteadyPolls }

// Passing is how many attacks get through now.
func (s Storm) Passing() (n int) {
	for _, attacks := range s.Through {
		n += attacks
	}
	return n
}

// Changed reports whether the storm's card is wrong, and doesn't only show older figures.
func (s *Storm) Changed(now *Storm) bool {
	shown := func(s *Storm) [11]any {
		return [11]any{s.Grouped, s.OwnCards, s.Incidents, s.Ended.IsZero(), s.Growing(), s.Severity, s.Source, s.Place,
			s.UnblockedCount, len(s.Unblocked), len(s.Behind)}
	}
	return shown(s) != shown(now) || !maps.Equal(s.Through, now.Through)
}

// GoesOn reports whether new attacks are still grouped in the storm.
func (s Storm) GoesOn() bool { return s.Ended.IsZero() }
