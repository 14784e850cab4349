package record

import (
	"time"
)

// Outage is a time in which an account could not be polled.
type Outage struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"` // zero: it goes on
	Why   string    `json:"why,omitempty"`  // for people; "": wafbot was not running, as far as it knows
}
