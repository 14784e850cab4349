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
func (c checkup) redis(ctx context.Context) (found findings) {
	host := hostOf(c.Redis.URL.Reveal())
	s, err := store.Open(store.Config{Address: c.Redis.Address(), KeyPrefix: c.Redis.KeyPrefix, Clocks: c.clocks})
	if err != nil {
		return findings{{"redis", host, Wrong, err.Error(), "fix " + c.SecretKey("redis.url")}}
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	is, err := s.Facts(ctx)
	if err != nil {
		f := c.redisTrouble(err, host)
		f.Text += "; without Redis nothing is posted and nothing is changed"
		return findings{f.of("redis", host)}
	}
	how := "in plain text"
	if c.overTLS() {
		how = "over TLS"
	}
	if prefix := c.Redis.KeyPrefix; prefix != "" {
		how += ", all keys begin with " + prefix
	}
	found.add("redis", host, OK, fmt.Sprintf("can be written %s, a round trip takes %s", how,
		is.RoundTrip.Round(10*time.Microsecond)), "")
	if is.RoundTrip > slowRedis {
		found[0].State, found[0].Fix = Warn, "move it nearer to wafbot: clicks wait for it"
	}
	more := []Finding{redisVersion(is), redisEviction(is), redisPersistence(is)}
	switch err := s.Replicas.Hear(ctx); {
	case err == nil:
		more = append(more, clockApart(c.clocks.Offsets().Redis))
	case errors.Is(err, store.ErrOlder), errors.Is(err, store.ErrNewer), store.TooOld(err):
		_, words, _ := strings.Cut(refusal.Advised(err).Error(), "redis ")
		text, fix, _ := strings.Cut(words, ": ")
		more = append(more, wrong(text, fix))
	}
	for _, name := range s.Damaged(ctx, c.names()) {
		more = append(more, say(Warn, "it held what can't be read, which is set aside: "+name,
			"see docs/operations.md#redis"))
	}
	for _, f := range more {
		found = append(found, f.of("redis", host))
	}
	return append(found, c.replicas(ctx, s)...)
}

// replicas counts living replicas against Slack's links, and finds accounts that left the configuration with active
// changes.
func (c checkup) replicas(ctx context.Context, s *store.Store) (found findings) {
	if n, heard := s.Replicas.Living(); heard && n > slackconn.MaxLinks && c.Slack.AppToken != "" {
		found.add("slack", "replicas", Warn, fmt.Sprintf("%d replicas run, and Slack gives an app %d Socket Mode links: the others receive nothing, though they watch accounts", n, slackconn.MaxLinks),
			fmt.Sprintf("run %d at most, or receive over HTTP (slack.signing_secret), which any number can", slackconn.MaxLinks))
	}
	left, _, _ := s.Replicas.NotEnded(ctx, c.names()) // Redis' own findings say why it can't be read
	for _, name := range slices.Sorted(maps.Keys(left)) {
		is, says := Wrong, "it isn't in the configuration, and nothing ends what is open on it: "+record.SayOpen(left[name])
		if left[name] == nil {
			is, says = Warn, "it isn't in the configuration, and its state is empty: changes of it may be in force"
		}
		found.add("account", name, is, says, "put it back until they have ended, or end them in the service's console")
	}
	return found
}

// names are those of the accounts.
func (c checkup) names() (all []string) {
	for _, a := range c.Accounts {
		all = append(all, a.Name)
	}
	return all
}

// redisTrouble is an error of a call to Redis at a host, or to its sentinels.
func (c checkup) redisTrouble(err error, host string) Finding {
	key := c.SecretKey("redis.url")
	certificate, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	lines := strings.Split(err.Error(), "\n")
	switch t := refusal.TroubleOf(err); {
	case t.Is != "" && store.OfSentinels(err):
		return wrong("of its sentinels: "+t.Is, "check sentinel_username and sentinel_password in "+key+": they are the sentinels' own")
	case t.Is != "":
		return wrong(t.Is, t.Fix)
	case untrusted:
		return wrong(fmt.Sprintf("the certificate of %s isn't trusted: %v", host, certificate.Err),
			"set redis.tls.ca_file to the certificate of the authority that signed it, and connect to a host that it is for")
	case strings.Contains(err.Error(), "remote error: tls"): // several sentinels say the same, each in a line
		return wrong(host+" doesn't take wafbot's side of TLS: "+lines[len(lines)-1],
			"set redis.tls.cert_file and redis.tls.key_file to a certificate that it trusts")
	}
	f := networkTrouble(err, host, key)
	switch { // perhaps only one of the two ends speaks TLS
	case !errors.Is(err, io.EOF):
	case c.overTLS():
		f.Fix += "; if it takes no TLS there, write the scheme without"
	default:
		f.Fix += "; if it takes TLS alone, write rediss://, redis-clusters:// or redis-sentinels://"
	}
	return f
}

// overTLS reports whether Redis is reached with TLS.
func (c checkup) overTLS() bool {
	a, err := address.Parse(c.Redis.Address())
	return err == nil && a.TLS != nil
}

func redisVersion(f store.Facts) Finding {
	switch {
	case f.Version == "":
		return say(Note, "version unknown: it doesn't say; wafbot needs "+store.MinVersion, "")
	case number(f.Version) < number(store.MinVersion):
		return say(Wrong, "version "+f.Version+" is too old", "upgrade it to "+store.MinVersion+" or later")
	}
	return say(OK, "version "+f.Version, "")
}

// number is a version as a number that grows with it. A patch doesn't count.
func number(version string) int {
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor)
	return major<<16 | minor
}

func redisEviction(f store.Facts) Finding {
	switch {
	case f.Eviction == "":
		return say(Note, "what it does when its memory is full is unknown: it doesn't say",
			"make sure that maxmemory-policy is noeviction")
	case f.Unbounded:
		return say(OK, "it throws nothing away: its memory is without a limit (maxmemory 0)", "")
	case f.Eviction != "noeviction":
		return say(Warn, "it throws keys away when its memory is full (maxmemory-policy "+f.Eviction+"): wafbot would lose what it did", "set maxmemory-policy noeviction")
	}
	return say(OK, "it throws nothing away (maxmemory-policy noeviction)", "")
}

func redisPersistence(f store.Facts) Finding {
	const fix = "set appendonly yes: wafbot stores there what was posted, what was changed and what must end"
	switch f.Persistence {
	case store.KeptAppended:
		return say(OK, "it writes everything down (appendonly)", "")
	case store.KeptSaved:
		return say(Warn, "it saves only now and then: the last minutes are lost when it stops", fix)
	case store.KeptNot:
		return say(Warn, "it writes nothing to its disk: all is lost when it stops", fix)
	}
	return say(Note, "whether it writes to its disk is unknown: it doesn't say", "make sure that it is persistent")
}
