package commands

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Storm is what is known of attacks that came too fast for a card each. poller.Storm says what each field is.
type Storm struct {
	Over              int
	In, EndsAfter     time.Duration
	Began, Exceeded   time.Time
	Ended             time.Time
	CaughtUp          bool
	Before, Incidents int
	Gathered, Own     int
	Ongoing           int
	Hits              int64
	Through           int
	Status            map[apiclient.Status]int
	Types             map[string]int
	Apps              map[int64]int
	Sources           map[netip.Addr]int
	Source            netip.Addr
	Country           string
	Behind            int
	Place             string
	Odd               []apiclient.Attack
	OddCount          int
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

// Storms are what is remembered of attacks that came too fast for a card each.
type Storms interface {
	// Storms are all of an account, until they are forgotten with the attacks that they gathered; the newest first.
	Storms(ctx context.Context, account string) ([]StormSeen, error)
	// Gathered are the attacks that a storm has gathered, the one with the latest hit first; storm is its id as AttackID makes it.
	Gathered(ctx context.Context, account, storm string) ([]GatheredAttack, error)
	// WantCards has gathered attacks get a card each, within a second; their ids are as AttackID makes them. Those that have one are left out.
	WantCards(ctx context.Context, account string, attacks []string) error
}

// isStorm reports whether an attack's id is that of a storm.
func isStorm(attackid string) bool { return strings.HasPrefix(attackid, "storm:") }
