package record

import (
	"net/netip"
	"time"
)

// Protected is a range that an admin had named while wafbot runs, so that it isn't denied again.
type Protected struct {
	ID     string       `json:"id"` // of the range: the same again has the same
	Range  netip.Prefix `json:"range"`
	Name   string       `json:"name,omitempty"` // for people
	Deny   string       `json:"deny"`           // DenyNever or DenyApproval
	Reason string       `json:"reason,omitempty"`
	By     Actor        `json:"by"`
	At     time.Time    `json:"at"`
}
