package poller

import (
	"math"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/storm"
)

// Rebuild is the state of an attack of which only its card is left. What the card shows mentions people no second time, so the attack's hits are
// taken for as many as it can have shown. Revisions go on from the time, so that no delivery id is ever used twice.
func Rebuild(card record.CardMetadata, at time.Time) record.AttackState {
	s := record.AttackState{
		Attack: apiclient.Attack{ID: card.AttackID}, ObservedAt: at, Revision: int(at.Unix()), Notified: true, Quiet: card.Quiet, Severity: card.Severity, Channel: card.Channel, Mention: card.Mention,
		Baseline: record.Baseline{Incident: card.Incident}, Rebuilt: true,
	}
	if began, ok := storm.Began(card.AttackID); ok {
		s.Storm = &record.Storm{Began: began, CaughtUp: true}
	}
	if _, known := card.Status.PassRank(); known {
		s.Baseline.Status = card.Status
	}
	if card.Decade > 0 {
		s.Baseline.Hits = apiclient.Known(int64(math.Pow10(min(card.Decade, 18))) - 1)
	}
	return s
}
