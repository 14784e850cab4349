package record

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// KnownAttack is an attack with the id that people type.
type KnownAttack struct {
	ID string
	apiclient.Attack
}

// StormSeen is a storm as it was last decided about.
type StormSeen struct {
	KnownAttack // put together from those that it gathered
	Storm       Storm
	SeenAt      time.Time // when that was, on the service's clock
	Quiet       bool      // its attacks are over
}

// GatheredAttack is an attack that a storm has gathered.
type GatheredAttack struct {
	KnownAttack           // as it was a minute ago, or later
	SeenAt      time.Time // when that was, on the service's clock
	Own         bool      // it has a card of its own by now, or is about to
}
