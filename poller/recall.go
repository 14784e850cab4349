package poller

import (
	"math"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// CardFacts is what an attack's card carries of it, so that it can be recalled after Memory was emptied.
type CardFacts struct {
	AttackID string // as the service gave it
	Incident bool
	Status   apiclient.Status
	Decade   int // decimal digits of the hits; 0: unknown
	Quiet    bool
	Channel  string
	Mention  string // "": nobody
}

// Worse is the facts after a reply under the card told that it had got worse: the card may not have been redrawn since.
func (f CardFacts) Worse(reply CardFacts) CardFacts {
	f.Incident, f.Decade = f.Incident || reply.Incident, max(f.Decade, reply.Decade)
	was, _ := letThrough(f.Status)
	if is, known := letThrough(reply.Status); known && is >= was {
		f.Status = reply.Status
	}
	return f
}

// Recall is what to remember of an attack of which only its card is left. Nobody is called again for what the card has told, so its hits
// are taken for as many as it can have said. Revisions go on from the time, so that no delivery id is ever used twice.
func Recall(f CardFacts, at time.Time) record.AttackState {
	s := record.AttackState{
		Attack: apiclient.Attack{ID: f.AttackID}, SeenAt: at, Revision: int(at.Unix()), Told: true, Quiet: f.Quiet, Channel: f.Channel, Mention: f.Mention,
		Base: record.Baseline{Incident: f.Incident}, Recalled: true,
	}
	if began, ok := stormBegan(f.AttackID); ok {
		s.Storm = &record.Storm{Began: began, CaughtUp: true}
	}
	if _, known := letThrough(f.Status); known {
		s.Base.Status = f.Status
	}
	if f.Decade > 0 {
		s.Base.Hits = apiclient.Known(int64(math.Pow10(min(f.Decade, 18))) - 1)
	}
	return s
}

// NewEmptied is the news of what is left after Memory was emptied, for one channel; epoch makes it this news and no other.
func NewEmptied(account, channel, epoch string, facts record.RebuildFacts, at time.Time) record.Event {
	return record.Event{ID: record.DeliveryID(account, channel+" "+epoch, record.StoreRebuilt, 0), Account: account, Kind: record.StoreRebuilt, Channel: channel, At: at, Payload: facts}
}

// overBefore reports whether an attack was over when the account's first start was told, by which time everything that went on had a card.
func (p *Poller) overBefore(look Look) bool {
	return !look.Attack.Last.IsZero() && p.began.Sub(look.Attack.Last) >= p.cfg.OngoingFor
}
