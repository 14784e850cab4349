package store

import (
	"context"
	"strings"
	"time"
)

// Facts are what Redis says of itself. Managed ones refuse some of it: then a text is empty.
type Facts struct {
	RoundTrip   time.Duration // of one write, on a connection that stood already
	Version     string        // as 7.2.4
	Eviction    string        // maxmemory-policy, as noeviction
	Unbounded   bool          // no maxmemory is set, so that nothing is ever evicted
	Persistence string        // KeptNot, or how it is kept
}

// How Redis keeps what it holds.
const (
	KeptAppended = "appendonly" // each write
	KeptSaved    = "save"       // now and then
	KeptNot      = "none"
)

// MinRedisVersion is the oldest Redis that knows all the commands in use: XADD takes MINID since then.
const MinRedisVersion = "6.2"

// Facts asks Redis about itself. It fails when Redis can't be written; what Redis merely doesn't say is left out.
func (s *Store) Facts(ctx context.Context) (Facts, error) {
	if err := s.Ping(ctx); err != nil {
		return Facts{}, err
	}
	f := Facts{RoundTrip: time.Minute}
	for range 3 { // the quickest measures the network; the others, what else this machine does
		begun := time.Now()
		if err := s.Ping(ctx); err != nil {
			return Facts{}, err
		}
		f.RoundTrip = min(f.RoundTrip, time.Since(begun))
	}
	text, err := s.rdb.Info(ctx).Result()
	if err != nil {
		return f, nil //nolint:nilerr // refused
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		info[name] = value
	}
	f.Version, f.Eviction, f.Unbounded = info["redis_version"], info["maxmemory_policy"], info["maxmemory"] == "0"
	f.Persistence = s.persistence(ctx, info["aof_enabled"])
	return f, nil
}

// persistence is how Redis keeps what it holds. Only CONFIG says whether it is saved now and then.
func (s *client) persistence(ctx context.Context, appended string) string {
	if appended == "1" {
		return KeptAppended
	}
	config, err := s.rdb.ConfigGet(ctx, "save").Result()
	rules, known := config["save"]
	switch {
	case err != nil || !known:
		return ""
	case rules != "":
		return KeptSaved
	case appended == "0":
		return KeptNot
	}
	return ""
}

// OfSentinels reports whether an error is an answer of the sentinels, none of which said who is the master.
func OfSentinels(err error) bool { return strings.Contains(err.Error(), "all sentinels") }

// Refused explains Redis' answer in err if it has a known cause, and says how to fix it; false otherwise.
func Refused(err error) (text, fix string, ok bool) {
	for _, known := range []struct{ code, text, fix string }{
		{"NOAUTH", "it wants a password", "write it into the address: redis://USER:PASSWORD@HOST:6379/0"},
		{"WRONGPASS", "it doesn't take this user and password", "check user and password in the address"},
		{"NOPERM", "the user may not write", "give the user the commands and keys that it needs: ACL SETUSER, see docs/config.md"},
		{"READONLY", "it is a replica and takes no writes", "write the primary's address, or redis-sentinel://…, with TLS redis-sentinels://…"},
		{"OOM", "its memory is full", "raise its maxmemory, or make room: what wafbot stores must not be evicted"},
		{"MISCONF", "it can't save to its disk, so it takes no writes", "look at its disk and its log"},
		{"LOADING", "it is still loading what it holds", "wait until it has, and look again"},
		{"CLUSTERDOWN", "the cluster is down", "look at CLUSTER INFO on a node of it"},
		{"MOVED", "it is a cluster", "write redis-cluster://… for it, with TLS redis-clusters://…"},
		{"ERR DB index", "it has no database of that number", "check the number at the end of the address"},
	} {
		if strings.Contains(err.Error(), known.code+" ") {
			return known.text + " (" + known.code + ")", known.fix, true
		}
	}
	return "", "", false
}
