package poller

import (
	"math"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
	"github.com/wafbot/wafbot/poller/storm"
)

// CardFacts is what an attack's card carries in its metadata, so that its state can be rebuilt after Redis was emptied.
type CardFacts struct {
	AttackID string // as the service gave it
	Incident bool
	Status   apiclient.Status
	Decade   int // decimal digits of the hits; 0: unknown
	Quiet    bool
	Channel  string
	Mention  string // "": none
}

// Worsened is the facts after a reply under the card that it got worse: the card may not have been redrawn since.
func (f CardFacts) Worsened(reply CardFacts) CardFacts {
	f.Incident, f.Decade = f.Incident || reply.Incident, max(f.Decade, reply.Decade)
	before, _ := compare.PassRank(f.Status)
	if now, known := compare.PassRank(reply.Status); known && now >= before {
		f.Status = reply.Status
	}
	return f
}

// Rebuild is the state of an attack of which only its card is left. Nobody is mentioned again for what the card shows, so its hits
// are taken for as many as it can have shown. Revisions go on from the time, so that no delivery id is ever used twice.
func Rebuild(f CardFacts, at time.Time) record.AttackState {
	s := record.AttackState{
		Attack: apiclient.Attack{ID: f.AttackID}, ObservedAt: at, Revision: int(at.Unix()), Notified: true, Quiet: f.Quiet, Channel: f.Channel, Mention: f.Mention,
		Baseline: record.Baseline{Incident: f.Incident}, Rebuilt: true,
	}
	if began, ok := storm.Began(f.AttackID); ok {
		s.Storm = &record.Storm{Began: began, CaughtUp: true}
	}
	if _, known := compare.PassRank(f.Status); known {
		s.Baseline.Status = f.Status
	}
	if f.Decade > 0 {
		s.Baseline.Hits = apiclient.Known(int64(math.Pow10(min(f.Decade, 18))) - 1)
	}
	return s
}
