package store

import (
	"cmp"
	"context"
	"fmt"
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

// Facts asks Redis about itself. It fails when Redis can't be written; what Redis merely doesn't say is left out.
func (s *Store) Facts(ctx context.Context) (Facts, error) {
	if err := s.Ping(ctx); err != nil && !TooOld(err) {
		return Facts{}, err
	}
	f := Facts{RoundTrip: time.Minute}
	for range 3 { // the quickest measures the network; the others, what else this machine does
		begun := time.Now()
		if err := s.Ping(ctx); err != nil && !TooOld(err) {
			return Facts{}, err
		}
		f.RoundTrip = min(f.RoundTrip, time.Since(begun))
	}
	info := s.info(ctx)
	if len(info) == 0 {
		return f, nil
	}
	f.Version, f.Eviction, f.Unbounded = info["redis_version"], info["maxmemory_policy"], info["maxmemory"] == "0"
	f.Persistence = s.persistence(ctx, info["aof_enabled"])
	return f, nil
}

// info is what INFO says; nothing where it is refused.
func (s *client) info(ctx context.Context) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(s.rdb.Info(ctx).Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		all[name] = value
	}
	return all
}

// withVersion adds to an error that Redis is too old which version it says it is.
func (s *client) withVersion(ctx context.Context, err error) error {
	if TooOld(err) {
		err = fmt.Errorf("this one is %s: %w", cmp.Or(s.info(ctx)["redis_version"],
			"of a version that it doesn't say"), ErrTooOld)
	}
	return err
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

// OfSentinels reports whether an error is the sentinels' answer that none knows the master.
func OfSentinels(err error) bool { return strings.Contains(err.Error(), "all sentinels") }
