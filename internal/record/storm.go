package record

import (
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Storm is what is told of attacks that came too fast for a card each: the card of the storm stands for all that it gathered. To everything else
// a storm is an attack (Shown.Attack), put together from those that it gathered: it has a card, grows, gets worse, goes quiet, is claimed.
type Storm struct {
	Over      int           `json:"over"` // it began when more attacks than that came
	In        time.Duration `json:"in"`   // within that time
	EndsAfter time.Duration `json:"ends_after"`
	Began     time.Time     `json:"began"`               // on the service's clock, as all of its times
	Exceeded  time.Time     `json:"exceeded"`            // more than Over came within In the last time; EndsAfter later it ends
	Ended     time.Time     `json:"ended,omitzero"`      // zero: it goes on, and new attacks are gathered
	CaughtUp  bool          `json:"caught_up,omitempty"` // it began with what was found going on: at a first start, after a time in which nobody watched, or after Memory was emptied
	Before    int           `json:"before"`              // attacks that counted for its beginning and have a card each
	Incidents int           `json:"incidents"`           // that came from its first poll on while it went on, each with its own card
	Gathered  int           `json:"gathered"`            // attacks that are told by being counted here
	Own       int           `json:"own"`                 // of them, those that have got a card of their own since
	Ongoing   int           `json:"ongoing"`             // of them, those that go on
	Knocking  int           `json:"knocking,omitempty"`  // of them, those that would be quiet, but a source of theirs that is denied still tries
	Hits      int64         `json:"hits"`                // of them together, as far as they are known
	Through   int           `json:"through"`             // of them, those that aren't fully blocked, unknown ones among them

	Status map[apiclient.Status]int `json:"status"` // how many of them, by status
	Types  map[string]int           `json:"types"`  // by type, the most frequent
	Apps   map[int64]int            `json:"apps"`   // by application, the most frequent

	Sources map[netip.Addr]int `json:"sources"`           // how many of them each source is in, the most frequent
	Source  netip.Addr         `json:"source,omitzero"`   // that is behind at least half of them; zero: none is
	Country string             `json:"country,omitempty"` // of Source
	Behind  int                `json:"behind,omitempty"`  // how many of them Source is behind; without one, how many go to Place
	Place   string             `json:"place,omitempty"`   // METHOD host/path that at least half of them go to, if no source is behind that many; "": none

	Odd      []apiclient.Attack `json:"odd,omitempty"`       // brief: those that Source isn't in and that get through, the worst first, at most 20; without a Source those that get through while most don't. Those with a card of their own aren't among them
	OddCount int                `json:"odd_count,omitempty"` // all of them
}

// changed reports whether a storm's card says something wrong by now, and not only old figures.
func (s *Storm) Changed(now *Storm) bool {
	told := func(s *Storm) [9]any {
		return [9]any{s.Gathered, s.Own, s.Incidents, s.Through, s.Ended.IsZero(), s.Source, s.Place, s.OddCount, len(s.Odd)}
	}
	return told(s) != told(now)
}

// GoesOn reports whether new attacks are still grouped in the storm.
func (s Storm) GoesOn() bool { return s.Ended.IsZero() }
