package commands_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
)

// share is a source with its hits, as a record lists it.
func share(ip string, hits int64) apiclient.Source {
	return apiclient.Source{IP: netip.MustParseAddr(ip), Hits: apiclient.Known(hits), Country: "FR"}
}

// record is an attack record on Shop, last hit now.
func (x *watcher) record(id, status string, hits int64, sources ...apiclient.Source) apiclient.Attack {
	return apiclient.Attack{
		ID: id, App: apiclient.Known(4), Domain: "shop.example.com", Path: "/login", Method: "POST", Parameter: "POST_FORM_URLENCODED_login_value", Type: "sqli",
		First: x.clock().Add(-time.Hour), Last: x.clock(), Hits: apiclient.Known(hits), SourceCount: apiclient.Known(int64(len(sources))), Sources: sources, BlockStatus: status,
	}
}

// grows looks once a minute while a record is what it is said to be at each look.
func (x *watcher) grows(minutes int, is func(minute int64) apiclient.Attack) {
	x.t.Helper()
	for minute := range int64(minutes) {
		x.pass(time.Minute)
		now := is(minute)
		p := record.AttackDelta{Now: &now}
		if was, known := x.latest[now.ID]; known {
			p.Before = &was
		}
		x.latest[now.ID] = now
		x.see(record.Poll{At: x.clock(), Since: x.last, Changes: []record.AttackDelta{p}})
	}
}

// What a change is judged by, record by record.
func TestJudging(t *testing.T) {
	t.Parallel()
	const deny, patch = "deny 203.0.113.7", "patch POST shop.example.com/login type=sqli part=post.form_urlencoded.login app=4"
	for name, c := range map[string]struct {
		line    string
		minutes int
		is      func(x *watcher, minute int64) apiclient.Attack
		want    record.Finding
		says    string
	}{
		"a record that is partly blocked mixes both": {deny, 10, func(x *watcher, m int64) apiclient.Attack {
			return x.record("a", "Partially blocked", 100+m, share("203.0.113.7", 50+m))
		}, record.EfficacyUnknown, "nothing was reported as stopped by it, and 4 more hits in records that the service blocks in another way, in part or whole"},
		"its own hits stopped": {deny, 10, func(x *watcher, m int64) apiclient.Attack {
			return x.record("a", "monitored", 100+m, share("203.0.113.7", 50))
		}, record.EfficacyUnknown, "neither stopped nor let through"},
		"others come closer in the list": {deny, 10, func(x *watcher, m int64) apiclient.Attack {
			a := x.record("a", "monitored", 1000+m, share("198.51.100.1", 500+m))
			if a.SourceCount = apiclient.Known(40); m > 6 { // it was there before, below what is listed
				a.Sources = append(a.Sources, share("203.0.113.7", 30))
			}
			return a
		}, record.EfficacyUnknown, ""},
		"a record that begins again has fewer hits": {deny, 10, func(x *watcher, m int64) apiclient.Attack {
			return x.record("a", "monitored", 500-m, share("203.0.113.7", 400-m))
		}, record.EfficacyUnknown, ""},
		"a new record an hour later": {deny, 10, func(x *watcher, m int64) apiclient.Attack {
			a := x.record("a", "monitored", 3, share("203.0.113.7", 3))
			if m == 8 {
				a.ID, a.First = "b", x.clock()
			}
			return a
		}, record.NotWorking, "3 hits got through"},
		"stopped at another application is stopped": {deny, 3, func(x *watcher, m int64) apiclient.Attack {
			a := x.record("b", "blocked", 3+m, share("203.0.113.7", 3+m))
			a.Type, a.App, a.First = apiclient.TypeBlockedSource, apiclient.Known(7), x.clock()
			return a
		}, record.Working, "at least 2 stopped"},
		"another source tries": {deny, 10, func(x *watcher, m int64) apiclient.Attack {
			a := x.record("b", "blocked", 3+m, share("203.0.113.8", 3+m))
			a.Type = apiclient.TypeBlockedSource
			return a
		}, record.EfficacyUnknown, ""},
		"an entry for another application": {"deny 203.0.113.7 app=7", 10, func(x *watcher, m int64) apiclient.Attack {
			return x.record("a", "monitored", 100+m, share("203.0.113.7", 50+m))
		}, record.EfficacyUnknown, ""},
		"a country's sources": {"deny country:FR", 10, func(x *watcher, m int64) apiclient.Attack {
			return x.record("a", "monitored", 100+m, share("203.0.113.7", 50+m))
		}, record.NotWorking, "6 hits got through"},
		"one of two gets through": {"deny 203.0.113.7 203.0.113.8", 10, func(x *watcher, m int64) apiclient.Attack {
			if m%2 == 0 {
				return x.record("a", "monitored", 100+m, share("203.0.113.8", 50+m), share("198.51.100.9", 7))
			}
			a := x.record("b", "blocked", m, share("203.0.113.7", m))
			a.Type = apiclient.TypeBlockedSource
			return a
		}, record.PartlyWorking, "stops 1 of 2 sources (at least 6 hits), gets through: 203.0.113.8"},
		"a patched place in a record of its own": {patch, 4, func(x *watcher, m int64) apiclient.Attack {
			a := x.record("v", "blocked", 5*m)
			a.Type = apiclient.TypeVirtualPatch
			return a
		}, record.Working, "at least 10 stopped"},
		"patched elsewhere": {patch, 90, func(x *watcher, m int64) apiclient.Attack {
			a := x.record("v", "blocked", 5*m)
			a.Type, a.Path = apiclient.TypeVirtualPatch, "/search"
			return a
		}, record.EfficacyUnknown, ""},
		"a patched place is attacked in another way": {patch, 90, func(x *watcher, m int64) apiclient.Attack {
			a := x.record("v", "monitored", 5*m)
			a.Type = "xss"
			return a
		}, record.EfficacyUnknown, ""},
		"a false positive at a patched place": {patch, 90, func(x *watcher, m int64) apiclient.Attack {
			a := x.record("v", "monitored", 5*m)
			a.State = "falsepositive"
			return a
		}, record.EfficacyUnknown, ""},
		"a patch that lets it through while it is compiled": {patch, 64, func(x *watcher, m int64) apiclient.Attack {
			return x.record("v", "monitored", 5*m)
		}, record.NotYet, "accepted by the service, compiling"},
		"a patch that lets it through well after": {patch, 80, func(x *watcher, m int64) apiclient.Attack {
			return x.record("v", "monitored", 5*m)
		}, record.NotWorking, "hits got through since 2026-11-20 04:07 UTC"},
		"what the mode blocked all along says nothing of a patch": {patch, 80, func(x *watcher, m int64) apiclient.Attack {
			return x.record("v", "blocked", 5*m)
		}, record.EfficacyUnknown, "nothing was reported as stopped by it, and 65 more hits in records that the service blocks in another way"},
		"a patched record turns whole": {patch, 14, func(x *watcher, m int64) apiclient.Attack {
			if m < 6 {
				return x.record("v", "monitored", 5*m)
			}
			return x.record("v", "blocked", 30)
		}, record.Working, "at least 1 stopped"},
		"a patched record turns": {patch, 14, func(x *watcher, m int64) apiclient.Attack {
			if m < 6 {
				return x.record("v", "monitored", 5*m)
			}
			return x.record("v", "Partially blocked", 30)
		}, record.Working, "at least 1 stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withoutApproval(config.ApproveBroad))
			x := w.watcher()
			x.grows(1, func(int64) apiclient.Attack { return c.is(x, 0) })
			ch := w.insists(ann, c.line)
			x.watch.Refresh()
			x.grows(c.minutes, func(m int64) apiclient.Attack { return c.is(x, m) })
			require.Equal(t, c.want, x.effect(ch).Finding, "%+v", x.effect(ch))
			require.Contains(t, x.line(ch), c.says)
		})
	}
}

// Whatever the records say, what was seen of a change only grows, and never beyond what came; a restart counts nothing
// twice.
func TestWhatWasSeenOnlyGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		x := w.watcher()
		ch := w.does(ann, "deny 203.0.113.7")
		x.watch.Refresh()
		var came, counted int64
		records := map[string]apiclient.Attack{}
		for range rapid.IntRange(1, full.Of(5, 15)).Draw(r, "looks") {
			n := rapid.IntRange(0, 2).Draw(r, "record")
			id, more := fmt.Sprint("r", n), rapid.Int64Range(-20, 100).Draw(r, "more")
			was, known := records[id]
			if was.Hits.N+more <= 0 {
				more = 1
			}
			came += max(more, 0)
			if rapid.IntRange(0, 4).Draw(r, "restarts") == 0 {
				x.restart()
				g := record.Poll{At: x.clock()}
				for id, a := range records { // the first look sees all there is
					x.latest[id], g.Changes = a, append(g.Changes, record.AttackDelta{Now: &a})
				}
				x.see(g)
			}
			x.grows(1, func(int64) apiclient.Attack {
				hits := was.Hits.N + more
				a := x.record(id, rapid.SampledFrom([]string{"monitored", "blocked", "Partially blocked", "odd"}).Draw(r, "status"), hits, share("203.0.113.7", hits))
				if a.First = was.First; !known {
					a.First = x.clock()
				}
				if n == 2 {
					a.Type = apiclient.TypeBlockedSource
				}
				records[id] = a
				return a
			})
			t := x.effect(ch).Parts["203.0.113.7"]
			now := t.Through.N + t.Mixed.N + t.Stopped.N + t.After.N
			if now < counted || now > came {
				r.Fatalf("%d hits were counted after %d, of %d that came", now, counted, came)
			}
			counted = now
		}
	})
}
