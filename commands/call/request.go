package call

import (
	"cmp"
	"crypto/rand"
	"fmt"

	"github.com/wafbot/wafbot/internal/record"
)

// RequestID is what a request is called in the log, in its audit entry, and in a fault's reference. A delivery that comes again has the same.
func (inv Invocation) RequestID() string {
	of := cmp.Or(inv.ID, fmt.Sprint(inv.At.UnixNano())) // without an id it changes nothing, and came once
	return cmp.Or(inv.Within, "e"+record.ShortHash(of))
}

// NewRequestID is the id of what wafbot does by itself.
func NewRequestID() string { return Invocation{ID: rand.Text()}.RequestID() }
