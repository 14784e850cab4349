package call

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// StormRow is a storm with what people said about it.
type StormRow struct {
	ID      string           `json:"id"`
	Account string           `json:"account"`
	Attack  apiclient.Attack `json:"attack"` // put together from those that it gathered
	Storm   record.Storm     `json:"storm"`
	SeenAt  time.Time        `json:"seen_at"` // on the service's clock
	Triage  record.Triage    `json:"case,omitzero"`
	Card    string           `json:"card,omitempty"` // where its card can be opened; "": not known
}

// row is the storm as it is shown.
func NewStormRow(s record.StormSeen, account string, said record.Triage) StormRow {
	return StormRow{ID: s.ID, Account: account, Attack: s.Attack, Storm: s.Storm, SeenAt: s.SeenAt, Triage: said}
}
