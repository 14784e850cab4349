package record

import (
	"net/netip"
	"time"
)

// Mute suppresses attacks that are no incidents for a while. Exactly one of Attack, Source and Type is set.
type Mute struct {
	ID      string       `json:"id"` // of what is muted: the same again has the same
	Account string       `json:"account"`
	Attack  string       `json:"attack,omitempty"` // as AttackID makes it
	Source  netip.Prefix `json:"source,omitzero"`
	Type    string       `json:"type,omitempty"`
	App     int          `json:"app,omitempty"` // the application that Source or Type is muted on; 0: all
	Until   time.Time    `json:"until"`
	By      Actor        `json:"by"`
}

// Over reports whether the mute has ended.
func (m Mute) Over(now time.Time) bool { return !now.Before(m.Until) }
