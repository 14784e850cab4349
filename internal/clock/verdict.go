package clock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Offsets is how far other clocks are ahead of the machine's as that is now, also when it was set since the process began.
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

// MachineWrong reports whether the machine's clock is the one that is wrong, as far as can be told: Redis' is apart from it, and no service's agrees with it.
func (o Offsets) MachineWrong() bool { return o.redisApart() && !o.serviceAgrees() }

// redisWrong reports whether Redis' clock is the one that is wrong: the machine's and a service's agree.
func (o Offsets) redisWrong() bool { return o.redisApart() && o.serviceAgrees() }

func (o Offsets) redisApart() bool { return o.RedisKnown && apart(o.Redis, 0) }

// serviceAgrees reports whether a service's clock agrees with the machine's.
func (o Offsets) serviceAgrees() bool {
	for _, offset := range o.Services {
		if !apart(offset, 0) {
			return true
		}
	}
	return false
}

// Apart are the clocks that don't agree with this machine's: redis, service, both with a comma between, or "".
func (o Offsets) Apart() string {
	var names []string
	if o.redisApart() {
		names = append(names, "redis")
	}
	if _, offset := o.Farthest(); apart(offset, 0) {
		names = append(names, "service")
	}
	return strings.Join(names, ", ")
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

// unsure says why it isn't known what time it is for an account; "" where it is, because two clocks agree.
func (o Offsets) unsure(account string) string {
	service, known := o.Services[account]
	switch {
	case !o.redisApart():
		return ""
	case !known:
		return fmt.Sprintf("Redis' clock is %s this machine's, and the service has not said the time yet", ahead(o.Redis))
	case !apart(service, 0) || !apart(o.Redis, service):
		return ""
	}
	return fmt.Sprintf("no two clocks agree: Redis' is %s this machine's, the service's is %s it. Set the clocks (NTP)", ahead(o.Redis), ahead(service))
}

// ahead is an offset in words.
func ahead(offset time.Duration) string {
	words := offset.Abs().Round(time.Second).String()
	if offset < 0 {
		return words + " behind"
	}
	return words + " ahead of"
}

// Trouble says how far Redis' clock is from this machine's, and of the services' the farthest, and whether this machine's is the wrong one; "" where all agree.
func (c *Clocks) Trouble() string {
	o := c.Offsets()
	var found []string
	if o.redisApart() {
		found = append(found, "Redis' clock is "+ahead(o.Redis)+" this machine's")
	}
	if account, offset := o.Farthest(); apart(offset, 0) {
		found = append(found, "the clock of "+account+"'s service is "+ahead(offset)+" this machine's")
	}
	switch {
	case len(found) == 0:
		return ""
	case o.MachineWrong():
		return "this machine's clock is wrong: " + strings.Join(found, "; ")
	}
	return strings.Join(found, "; ")
}

// Unsure says why it isn't known what time it is for an account; "" where it is.
func (c *Clocks) Unsure(account string) string { return c.Offsets().unsure(account) }

// Outside is the time for what comes from outside with a time of its own, such as Slack's signatures and messages: Redis', unless that is the wrong one.
func (c *Clocks) Outside() time.Time {
	now := c.Now()
	if o := c.Offsets(); o.redisWrong() {
		return now.Add(-o.Redis)
	}
	return now
}
