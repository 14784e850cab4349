package record

import (
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Storm is what one card shows of attacks that came too fast for a card each. To everything else a storm is an attack (AttackState.Attack), summed
// up from the grouped ones: it has a card, grows, gets worse, goes quiet, is acknowledged.
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
	Grouped     int           `json:"grouped"`                // attacks that only its figures show, and those of OwnCards
	OwnCards    int           `json:"own_cards"`              // of them, those that have got a card of their own since
	Ongoing     int           `json:"ongoing"`                // of them, those that go on
	StillTrying int           `json:"still_trying,omitempty"` // of them, those that would be quiet if no denied source of theirs were still trying
	Hits        int64         `json:"hits"`                   // of them together, as far as they are known
	Through     int           `json:"through"`                // of them, those that aren't fully blocked, unknown ones among them

	Status map[apiclient.Status]int `json:"status"` // how many of them, by status
	Types  map[string]int           `json:"types"`  // by type, the most frequent
	Apps   map[int64]int            `json:"apps"`   // by application, the most frequent

	Sources  map[netip.Addr]int `json:"sources"`             // how many of them each source is in, the most frequent
	Source   netip.Addr         `json:"source,omitzero"`     // that is behind at least half of them; zero: none is
	Country  string             `json:"country,omitempty"`   // of Source
	SharedBy int                `json:"shared_by,omitempty"` // how many of them Source is behind; without a Source, how many go to Place
	Place    string             `json:"place,omitempty"`     // METHOD host/path that at least half of them go to, if no source is behind that many; "": none

	Outliers     []apiclient.Attack `json:"outliers,omitempty"`      // brief, the worst first, at most 20: those that get through and that Source isn't in; without a Source, those that get through while most don't. None has a card of its own
	OutlierCount int                `json:"outlier_count,omitempty"` // all of them
}

// Changed reports whether the storm's card is wrong, and doesn't only show older figures.
func (s *Storm) Changed(now *Storm) bool {
	shown := func(s *Storm) [9]any {
		return [9]any{s.Grouped, s.OwnCards, s.Incidents, s.Through, s.Ended.IsZero(), s.Source, s.Place, s.OutlierCount, len(s.Outliers)}
	}
	return shown(s) != shown(now)
}

// GoesOn reports whether new attacks are still grouped in the storm.
func (s Storm) GoesOn() bool { return s.Ended.IsZero() }
