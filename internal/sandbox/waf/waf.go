// Package waf emulates the application-protection service: its HTTP API, its accounts, and the traffic that its lists and rules block or let through.
package waf

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// How long the real service takes until its nodes act on a change, at speed 1.
const (
	listDelay = 60 * time.Second
	ruleDelay = 180 * time.Second
)

const tick = 200 * time.Millisecond

// Config describes the emulated service.
type Config struct {
	Accounts []Account
	// Speed divides the delays until a change takes effect:
	// IP lists take 60 s/Speed, rules 180 s/Speed. 0 means 1.
	Speed float64
	// Lag is how far listings are behind writes; it is divided by Speed. 0 means 2 s, below 0 none.
	Lag time.Duration
	// Seed makes ids and addresses repeatable, and which second mode rule of a scope removes the first.
	Seed uint64
	// Now is the service's clock; nil means time.Now.
	Now func() time.Time
}

// Account is one tenant of the service.
type Account struct {
	Name         string
	Token        string
	ClientID     int
	ClientName   string // "" means Name
	Applications []Application
}

// Application is one protected application of an account.
type Application struct {
	ID   int
	Name string
	Host string
	// Mode is set by a rule of its own: off, monitoring, safe_blocking or block.
	// "" means that the application inherits monitoring.
	Mode string
}

// Service is the emulated service. It is an http.Handler. All its methods may be called at the same time.
type Service struct {
	*traffic
	faults   []*Fault
	requests []*Request
}

// traffic plays attacks. It knows nothing of HTTP.
type traffic struct {
	*core
	played time.Time // traffic has been played until here
}

// core is the state of the accounts. Its lock guards the layers above it, too.
type core struct {
	speed float64
	seed  uint64
	lag   time.Duration // of listings behind writes
	now   func() time.Time

	mu       sync.Mutex
	random   *rand.Rand
	accounts []*account
	changed  chan struct{}
}

// New returns a service with the accounts of cfg, their application modes and a few rules that such accounts have from the start.
func New(cfg Config) *Service {
	c := &core{
		speed:   cfg.Speed,
		seed:    cfg.Seed,
		now:     cfg.Now,
		random:  rand.New(rand.NewPCG(cfg.Seed, 0)),
		changed: make(chan struct{}),
	}
	if c.speed == 0 {
		c.speed = 1
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.lag = c.delay(max(0, cmp.Or(cfg.Lag, listingLag)))
	now := c.now()
	for _, a := range cfg.Accounts {
		c.accounts = append(c.accounts, newAccount(a, now))
	}
	return &Service{traffic: &traffic{core: c, played: now}}
}

// Run plays the traffic in real time until ctx ends; it returns the context's error.
func (s *traffic) Run(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			s.Step()
		}
	}
}

// Watch returns a channel that is closed at the next change of lists, rules, attacks (hits too) or faults.
func (s *core) Watch() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// notify closes the channel of Watch. The caller holds the lock.
func (s *core) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *core) delay(real time.Duration) time.Duration {
	return time.Duration(float64(real) / s.speed)
}
