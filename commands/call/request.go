package call

import (
	"crypto/rand"
	"fmt"

	"github.com/wafbot/wafbot/internal/record"
)

// RequestID is what a request is called in the log, in its audit entry, and in a fault's reference. A delivery that comes again has the same.
func (inv Invocation) RequestID() string {
	if inv.Within != "" {
		return inv.Within
	}
	if inv.ID == "" { // it changes nothing, and came once
		return "e" + record.ShortHash(fmt.Sprint(inv.At.UnixNano()))
	}
	return "e" + record.ShortHash(inv.ID)
}

// NewRequestID is the id of what wafbot does by itself.
func NewRequestID() string { return Invocation{ID: rand.Text()}.RequestID() }
