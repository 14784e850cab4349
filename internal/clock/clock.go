// Package clock tells the time by the clocks that replicas share, Redis' and the service's, however wrong the machine's
// own is.
package clock

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Tolerance is how far the machine's clock may be off before that is said. Nothing else depends on it.
const Tolerance = 2 * time.Second

// leap is how far one answer alone moves a clock: a proxy on the way may have made it.
const leap = 30 * time.Second

// Clocks are the clocks that decisions go by. How far each is from the machine's clock is measured whenever it says the
// time. In between the time follows the machine's monotonic clock: setting the machine's clock while the process
// runs changes nothing.
type Clocks struct {
	began time.Time     // of the process, with its monotonic reading
	ahead time.Duration // in tests: how far ahead the machine's clock is made out to be

	mu       sync.Mutex // guards the readings too
	redis    reading
	services map[string]*reading // by account
}

// reading is what is known of one clock.
type reading struct {
	known  bool
	offset time.Duration // of the clock from the machine's, as that was when the process began
	doubt  time.Duration // the offset that an answer said which was not believed yet; else the same
}

// New returns clocks that were not read yet. Until then Redis' is taken to be the machine's, and a service's to be
// Redis'.
func New() *Clocks {
	return &Clocks{began: time.Now(), services: map[string]*reading{}}
}

// NewAhead returns clocks of a machine whose clock is ahead by so much, for tests of what goes by them.
func NewAhead(by time.Duration) *Clocks {
	c := New()
	c.ahead = by
	return c
}

// Now is the time by Redis' clock: by it replicas compare what they stored with what they read, and what comes from
// outside with a time of its own, such as Slack's signatures and messages. The result has no monotonic reading.
func (c *Clocks) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine(time.Now()).Add(c.redis.offset)
}

// NoteRedis notes that Redis, asked then, has just answered that its clock says at. That is good to a microsecond.
func (c *Clocks) NoteRedis(asked, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.redis.note(c.window(asked, at, time.Microsecond))
}

// Service is the clock of an account's service.
func (c *Clocks) Service(account string) Service { return Service{c, account} }

// Service is the clock of one account's service: by it what was made for a time ends.
type Service struct {
	clocks  *Clocks
	account string
}

// ServiceNow is the time by the clock of an account's service; by Redis' as long as the service has said none. The
// result has no monotonic reading.
func (c *Clocks) ServiceNow(account string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	offset := c.redis.offset
	if r := c.services[account]; r != nil {
		offset = r.offset
	}
	return c.machine(time.Now()).Add(offset)
}

// Now is ServiceNow of the account.
func (s Service) Now() time.Time { return s.clocks.ServiceNow(s.account) }

// Note notes that the service, asked then, has just answered that its clock says at, in whole seconds.
func (s Service) Note(asked, at time.Time) {
	c := s.clocks
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.services[s.account]
	if r == nil {
		r = &reading{offset: c.redis.offset} // where they agree, both clocks are the same to the microsecond
		c.services[s.account] = r
	}
	r.note(c.window(asked, at, time.Second))
}

// machine is a moment on the machine's clock as that was when the process began.
func (c *Clocks) machine(t time.Time) time.Time {
	return c.began.Add(t.Sub(c.began) + c.ahead).Round(0).UTC()
}

// window bounds the offset of a clock that said at, rounded down, between asked and now.
func (c *Clocks) window(asked, at time.Time, precision time.Duration) (least, most time.Duration) {
	return at.Sub(c.machine(time.Now())), at.Add(precision).Sub(c.machine(asked))
}

// note takes over what one answer says, changing the offset by no more than it must: slow answers say little. What goes
// beyond a leap must be said twice.
func (r *reading) note(least, most time.Duration) {
	next := min(max(r.offset, least), most)
	if r.known && apart(next, r.offset) && apart(next, r.doubt) {
		r.doubt = next
		return
	}
	r.known, r.offset, r.doubt = true, next, next
}

func apart(a, b time.Duration) bool { return (a - b).Abs() > leap }

// Known reports whether an account's service has said the time: as long as it hasn't, nothing may be ended.
func (c *Clocks) Known(account string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.services[account] != nil
}

// Offsets is how far other clocks are ahead of the machine's as that is now, also when it was set since the process
// began.
type Offsets struct {
	Redis      time.Duration
	RedisKnown bool
	Services   map[string]time.Duration // by account; without those that were not read yet
}

// Offsets are the present ones.
func (c *Clocks) Offsets() Offsets {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	set := c.machine(now).Sub(now.Round(0).Add(c.ahead)) // other than 0 when the machine's clock was set since the process began
	o := Offsets{Redis: c.redis.offset + set, RedisKnown: c.redis.known, Services: map[string]time.Duration{}}
	for account, r := range c.services {
		o.Services[account] = r.offset + set
	}
	return o
}

// Off is how far the machine's clock is from Redis'; 0: within Tolerance, or not known.
func (o Offsets) Off() time.Duration {
	if !o.RedisKnown || o.Redis.Abs() <= Tolerance {
		return 0
	}
	return -o.Redis
}

// Farthest is the account whose service's clock is farthest from the machine's, and how far; "" where none was read.
func (o Offsets) Farthest() (account string, offset time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(o.Services)) {
		if account == "" || o.Services[name].Abs() > offset.Abs() {
			account, offset = name, o.Services[name]
		}
	}
	return account, offset
}
