package doctor

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/store"
)

// slowRedis is how long a write may take. A click takes three before it is acknowledged.
const slowRedis = 100 * time.Millisecond

// hostOf is the host of an address, without user and password.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "the address"
	}
	return u.Host
}

// redis checks whether Redis can be written, and whether it keeps what is written.
func (c checkup) redis(ctx context.Context) []Finding {
	host := hostOf(c.cfg.Redis.URL.Reveal())
	s, err := store.Open(store.Config{URL: c.cfg.Redis.URL.Reveal()})
	if err != nil {
		return []Finding{{"redis", host, Wrong, err.Error(), "fix " + c.cfg.RedisKey()}}
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	f, err := s.Facts(ctx)
	if err != nil {
		t := c.redisTrouble(err)
		t.text += "; without Redis nothing is posted and nothing is changed"
		return []Finding{t.finding("redis", host)}
	}
	found := []Finding{{"redis", host, OK, fmt.Sprintf("can be written, a round trip takes %s", f.RoundTrip.Round(10*time.Microsecond)), ""}}
	if f.RoundTrip > slowRedis {
		found[0].State, found[0].Fix = Warn, "move it nearer to wafbot: clicks wait for it"
	}
	for _, check := range []func(store.Facts) (trouble, State){redisVersion, redisEviction, redisPersistence} {
		t, s := check(f)
		found = append(found, Finding{"redis", host, s, t.text, t.fix})
	}
	return found
}

func redisVersion(f store.Facts) (trouble, State) {
	switch {
	case f.Version == "":
		return trouble{"version unknown: it doesn't say; wafbot needs " + store.MinRedisVersion, ""}, Note
	case older(f.Version, store.MinRedisVersion):
		return trouble{"version " + f.Version + " is too old", "upgrade it to " + store.MinRedisVersion + " or later"}, Wrong
	}
	return trouble{"version " + f.Version, ""}, OK
}

// older compares versions number by number.
func older(version, than string) bool {
	parts := strings.Split(version, ".")
	for i, text := range strings.Split(than, ".") {
		want, _ := strconv.Atoi(text)
		got := 0
		if i < len(parts) {
			got, _ = strconv.Atoi(parts[i])
		}
		if got != want {
			return got < want
		}
	}
	return false
}

func redisEviction(f store.Facts) (trouble, State) {
	switch {
	case f.Eviction == "":
		return trouble{"what it does when its memory is full is unknown: it doesn't say", "make sure that maxmemory-policy is noeviction"}, Note
	case f.Unbounded:
		return trouble{"it throws nothing away: its memory is without a limit (maxmemory 0)", ""}, OK
	case f.Eviction != "noeviction":
		return trouble{"it throws keys away when its memory is full (maxmemory-policy " + f.Eviction + "): wafbot would lose what it did", "set maxmemory-policy noeviction"}, Warn
	}
	return trouble{"it throws nothing away (maxmemory-policy noeviction)", ""}, OK
}

func redisPersistence(f store.Facts) (trouble, State) {
	const fix = "set appendonly yes: wafbot stores there what was posted, what was changed and what must end"
	switch f.Persistence {
	case store.KeptAppended:
		return trouble{"it writes everything down (appendonly)", ""}, OK
	case store.KeptSaved:
		return trouble{"it saves only now and then: the last minutes are lost when it stops", fix}, Warn
	case store.KeptNot:
		return trouble{"it writes nothing to its disk: all is lost when it stops", fix}, Warn
	}
	return trouble{"whether it writes to its disk is unknown: it doesn't say", "make sure that it is persistent"}, Note
}
