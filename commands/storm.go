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
	Over      int           `json:"over"`
	In        time.Duration `json:"in"`
	EndsAfter time.Duration `json:"ends_after"`
	Began     time.Time     `json:"began"`
	Exceeded  time.Time     `json:"exceeded"`
	Ended     time.Time     `json:"ended,omitzero"`
	CaughtUp  bool          `json:"caught_up,omitempty"`
	Before    int           `json:"before"`
	Incidents int           `json:"incidents"`
	Gathered  int           `json:"gathered"`
	Own       int           `json:"own"`
	Ongoing   int           `json:"ongoing"`
	Knocking  int           `json:"knocking,omitempty"`
	Hits      int64         `json:"hits"`
	Through   int           `json:"through"`

	Status map[apiclient.Status]int `json:"status"`
	Types  map[string]int           `json:"types"`
	Apps   map[int64]int            `json:"apps"`

	Sources map[netip.Addr]int `json:"sources"`
	Source  netip.Addr         `json:"source,omitzero"`
	Country string             `json:"country,omitempty"`
	Behind  int                `json:"behind,omitempty"`
	Place   string             `json:"place,omitempty"`

	Odd      []apiclient.Attack `json:"odd,omitempty"`
	OddCount int                `json:"odd_count,omitempty"`
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

// StormRow is a storm with what people said about it.
type StormRow struct {
	ID      string           `json:"id"`
	Account string           `json:"account"`
	Attack  apiclient.Attack `json:"attack"` // put together from those that it gathered
	Storm   Storm            `json:"storm"`
	SeenAt  time.Time        `json:"seen_at"` // on the service's clock
	Case    Case             `json:"case,omitzero"`
	Card    string           `json:"card,omitempty"` // where its card can be opened; "": not known
}

// row is the storm as it is shown.
func (s StormSeen) row(account string, said Case) StormRow {
	return StormRow{ID: s.ID, Account: account, Attack: s.Attack, Storm: s.Storm, SeenAt: s.SeenAt, Case: said}
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

// IsStorm reports whether an attack's id is that of a storm.
func IsStorm(attackid string) bool { return strings.HasPrefix(attackid, apiclient.OwnID) }
