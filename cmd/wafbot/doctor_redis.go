package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/store"
)

// slowRedis is how long a write may take: a click takes three of them before it is acknowledged.
const slowRedis = 100 * time.Millisecond

// hostOf is the host of an address, without the user and password that it may hold.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "the address"
	}
	return u.Host
}

// redis looks whether Redis can be written, and whether it keeps what it is given.
func (c checkup) redis(ctx context.Context) []finding {
	host := hostOf(c.cfg.Redis.URL.Reveal())
	s, err := store.Open(store.Config{URL: c.cfg.Redis.URL.Reveal()})
	if err != nil {
		return []finding{{"redis", host, wrong, err.Error(), "mend " + c.cfg.redisKey()}}
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	f, err := s.Facts(ctx)
	if err != nil {
		t := c.redisTrouble(err)
		t.text += "; without Redis nothing is told and nothing is changed"
		return []finding{t.finding("redis", host)}
	}
	found := []finding{{"redis", host, good, fmt.Sprintf("can be written, a round trip takes %s", f.RoundTrip.Round(10*time.Microsecond)), ""}}
	if f.RoundTrip > slowRedis {
		found[0].State, found[0].Mend = warn, "move it nearer to wafbot: clicks wait for it"
	}
	for _, look := range []func(store.Facts) (trouble, state){redisVersion, redisEviction, redisPersistence} {
		t, s := look(f)
		found = append(found, finding{"redis", host, s, t.text, t.mend})
	}
	return found
}

func redisVersion(f store.Facts) (trouble, state) {
	switch {
	case f.Version == "":
		return trouble{"version unknown: it doesn't tell; wafbot needs " + store.MinRedisVersion, ""}, note
	case older(f.Version, store.MinRedisVersion):
		return trouble{"version " + f.Version + " is too old", "upgrade it to " + store.MinRedisVersion + " or later"}, wrong
	}
	return trouble{"version " + f.Version, ""}, good
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

func redisEviction(f store.Facts) (trouble, state) {
	switch {
	case f.Eviction == "":
		return trouble{"what it does when its memory is full is unknown: it doesn't tell", "see to it that maxmemory-policy is noeviction"}, note
	case f.Unbounded:
		return trouble{"it throws nothing away: its memory is without a limit (maxmemory 0)", ""}, good
	case f.Eviction != "noeviction":
		return trouble{"it throws keys away when its memory is full (maxmemory-policy " + f.Eviction + "): wafbot would forget what it did", "set maxmemory-policy noeviction"}, warn
	}
	return trouble{"it throws nothing away (maxmemory-policy noeviction)", ""}, good
}

func redisPersistence(f store.Facts) (trouble, state) {
	const mend = "set appendonly yes: wafbot remembers there what was told, what was done and what must end"
	switch f.Persistence {
	case store.KeptAppended:
		return trouble{"it writes everything down (appendonly)", ""}, good
	case store.KeptSaved:
		return trouble{"it saves only now and then: the last minutes are lost when it stops", mend}, warn
	case store.KeptNot:
		return trouble{"it writes nothing to its disk: all is lost when it stops", mend}, warn
	}
	return trouble{"whether it writes to its disk is unknown: it doesn't tell", "see to it that it is persistent"}, note
}
