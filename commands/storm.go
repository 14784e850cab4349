package commands

import (
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

// isStorm reports whether an attack's id is that of a storm.
func isStorm(attackid string) bool { return strings.HasPrefix(attackid, "storm:") }
