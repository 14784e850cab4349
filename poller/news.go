package poller

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// CardDelivery is the delivery id of an attack's card, and of the news that the attack began: there is one card, whichever news is told first.
func CardDelivery(account, attackID string) string { return deliveryID(account, attackID, "card", 1) }

// What the delivery id of a card begins with that took another one's place, which is gone, or stands and can't be edited any more.
const (
	anew  = "anew-"
	stuck = "stuck-"
)

// NewAnew is the news that an attack's card at a place, CHANNEL TS, is gone, or that it stands and can't be edited any more; its id is the delivery id of
// the card that takes its place.
func NewAnew(account string, a apiclient.Attack, channel, ts string, stands bool, at time.Time) record.Event {
	place, kind := channel+" "+ts, anew
	if stands {
		kind = stuck
	}
	return record.Event{ID: kind + deliveryID(account, a.ID, record.EventKind("card after "+place), 1), Account: account, Attack: a, Reason: record.CardLost, Channel: channel, At: at, After: place}
}

// PostedAnew reports whether a card's delivery id is one of NewAnew's; stands, whether the former card is still there.
func PostedAnew(delivery string) (anewed, stands bool) {
	stands = strings.HasPrefix(delivery, stuck)
	return stands || strings.HasPrefix(delivery, anew), stands
}

// deliveryID is the first half of a SHA-256. The JSON of a list keeps the parts apart, whatever they hold.
func deliveryID(account, attackID string, reason record.EventKind, revision int) string {
	parts, _ := json.Marshal([]any{account, attackID, reason, revision}) // strings and an int always encode
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:16])
}
