package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
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
	s, err := store.Open(store.Config{Address: c.cfg.Redis.Address(), KeyPrefix: c.cfg.Redis.KeyPrefix, Clocks: c.clocks})
	if err != nil {
		return []Finding{{"redis", host, Wrong, err.Error(), "fix " + c.cfg.SecretKey("redis.url")}}
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	f, err := s.Facts(ctx)
	if err != nil {
		f := c.redisTrouble(err)
		f.Text += "; without Redis nothing is posted and nothing is changed"
		return []Finding{f.of("redis", host)}
	}
	how := "in plain text"
	if c.overTLS() {
		how = "over TLS"
	}
	if prefix := c.cfg.Redis.KeyPrefix; prefix != "" {
		how += ", all keys begin with " + prefix
	}
	found := []Finding{{"redis", host, OK, fmt.Sprintf("can be written %s, a round trip takes %s", how, f.RoundTrip.Round(10*time.Microsecond)), ""}}
	if f.RoundTrip > slowRedis {
		found[0].State, found[0].Fix = Warn, "move it nearer to wafbot: clicks wait for it"
	}
	switch err := s.Replicas.Hear(ctx); {
	case err == nil:
		found = append(found, clockApart("redis", host, c.clocks.Offsets().Redis))
	case errors.Is(err, store.ErrOlder), errors.Is(err, store.ErrNewer), store.TooOld(err):
		words := refusal.Advised(err).Error()
		text, fix, _ := strings.Cut(words[strings.Index(words, "redis ")+len("redis "):], ": ")
		found = append(found, wrong(text, fix).of("redis", host))
	}
	for _, name := range s.Damaged(ctx, c.names()) {
		found = append(found, Finding{"redis", host, Warn, "it held what can't be read, which is set aside: " + name, "see docs/operations.md#redis"})
	}
	found = append(found, c.replicas(ctx, s)...)
	for _, f := range []Finding{redisVersion(f), redisEviction(f), redisPersistence(f)} {
		found = append(found, f.of("redis", host))
	}
	return found
}

// replicas counts living replicas against Slack's links, and finds accounts that left the configuration with active
// changes.
func (c checkup) replicas(ctx context.Context, s *store.Store) (found []Finding) {
	if n, err := s.Drills.Serving(ctx); err == nil && n > slackconn.MaxLinks && c.cfg.Slack.AppToken != "" {
		found = append(found, Finding{"slack", "replicas", Warn, fmt.Sprintf("%d replicas run, and Slack gives an app %d Socket Mode links: the others receive nothing, though they watch accounts", n, slackconn.MaxLinks),
			fmt.Sprintf("run %d at most, or receive over HTTP (slack.signing_secret), which any number can", slackconn.MaxLinks)})
	}
	left, _, _ := s.Replicas.NotEnded(ctx, c.names()) // Redis' own findings say so
	for _, name := range slices.Sorted(maps.Keys(left)) {
		is, says := Wrong, "it isn't in the configuration, and nothing ends what is open on it: "+record.SayOpen(left[name])
		if left[name] == nil {
			is, says = Warn, "it isn't in the configuration, and its state is empty: changes of it may be in force"
		}
		found = append(found, Finding{"account", name, is, says, "put it back until they have ended, or end them in the service's console"})
	}
	return found
}

// names are those of the accounts.
func (c checkup) names() (all []string) {
	for _, a := range c.cfg.Accounts {
		all = append(all, a.Name)
	}
	return all
}

// redisTrouble is an error of a call to Redis, or to its sentinels.
func (c checkup) redisTrouble(err error) Finding {
	host := hostOf(c.cfg.Redis.URL.Reveal())
	var certificate *tls.CertificateVerificationError
	t := refusal.TroubleOf(err)
	switch {
	case t.Is != "" && store.OfSentinels(err):
		return wrong("of its sentinels: "+t.Is, "check sentinel_username and sentinel_password in "+c.cfg.SecretKey("redis.url")+": they are the sentinels' own")
	case t.Is != "":
		return wrong(t.Is, t.Fix)
	case errors.As(err, &certificate):
		return wrong(fmt.Sprintf("the certificate of %s isn't trusted: %v", host, certificate.Err), "set redis.tls.ca_file to the certificate of the authority that signed it, and connect to a host that it is for")
	case strings.Contains(err.Error(), "remote error: tls"):
		return wrong(host+" doesn't take wafbot's side of TLS: "+lastLine(err), "set redis.tls.cert_file and redis.tls.key_file to a certificate that it trusts")
	}
	f := networkTrouble(err, host, c.cfg.SecretKey("redis.url"))
	if errors.Is(err, io.EOF) {
		f.Fix += c.otherScheme()
	}
	return f
}

// overTLS reports whether Redis is reached with TLS.
func (c checkup) overTLS() bool {
	a, err := address.Parse(c.cfg.Redis.Address())
	return err == nil && a.TLS != nil
}

// otherScheme is what helps if only one of the two ends speaks TLS.
func (c checkup) otherScheme() string {
	if c.overTLS() {
		return "; if it takes no TLS there, write the scheme without"
	}
	return "; if it takes TLS alone, write rediss://, redis-clusters:// or redis-sentinels://"
}

// lastLine is the end of an error: of several sentinels each says the same.
func lastLine(err error) string {
	text := err.Error()
	return text[strings.LastIndex(text, "\n")+1:]
}

func redisVersion(f store.Facts) Finding {
	switch {
	case f.Version == "":
		return Finding{State: Note, Text: "version unknown: it doesn't say; wafbot needs " + store.MinVersion}
	case older(f.Version, store.MinVersion):
		return Finding{State: Wrong, Text: "version " + f.Version + " is too old", Fix: "upgrade it to " + store.MinVersion + " or later"}
	}
	return Finding{State: OK, Text: "version " + f.Version}
}

// older compares versions number by number.
func older(version, than string) bool {
	numbers := func(version string) (all []int) {
		for part := range strings.SplitSeq(version, ".") {
			n, _ := strconv.Atoi(part)
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(numbers(version), numbers(than)) < 0
}

func redisEviction(f store.Facts) Finding {
	switch {
	case f.Eviction == "":
		return Finding{State: Note, Text: "what it does when its memory is full is unknown: it doesn't say", Fix: "make sure that maxmemory-policy is noeviction"}
	case f.Unbounded:
		return Finding{State: OK, Text: "it throws nothing away: its memory is without a limit (maxmemory 0)"}
	case f.Eviction != "noeviction":
		return Finding{State: Warn, Text: "it throws keys away when its memory is full (maxmemory-policy " + f.Eviction + "): wafbot would lose what it did", Fix: "set maxmemory-policy noeviction"}
	}
	return Finding{State: OK, Text: "it throws nothing away (maxmemory-policy noeviction)"}
}

func redisPersistence(f store.Facts) Finding {
	const fix = "set appendonly yes: wafbot stores there what was posted, what was changed and what must end"
	switch f.Persistence {
	case store.KeptAppended:
		return Finding{State: OK, Text: "it writes everything down (appendonly)"}
	case store.KeptSaved:
		return Finding{State: Warn, Text: "it saves only now and then: the last minutes are lost when it stops", Fix: fix}
	case store.KeptNot:
		return Finding{State: Warn, Text: "it writes nothing to its disk: all is lost when it stops", Fix: fix}
	}
	return Finding{State: Note, Text: "whether it writes to its disk is unknown: it doesn't say", Fix: "make sure that it is persistent"}
}
