package commands_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/store"
)

// watcher looks at the emulated service's records every 15 s of the world's clock, as a poller does.
type watcher struct {
	*world
	watch  *efficacy.Watch
	latest map[string]apiclient.Attack
	last   time.Time
}

// watched is a world in which ann does something about an attack, and the watch on whether it works began before.
func watched(t *testing.T, attack waf.AttackSpec, line string) (*world, *watcher, record.Change) {
	t.Helper()
	w := newWorld(t)
	id := w.attack(attack)
	x := w.watcher()
	ch := w.does(ann, line+" attack="+id)
	x.watch.Refresh()
	return w, x, ch
}

func (w *world) watcher() *watcher {
	x := &watcher{world: w}
	x.restart()
	x.observe()
	return x
}

// restart drops all that is only in this process.
func (x *watcher) restart() {
	x.watch = efficacy.NewWatch(x.cfg.Accounts[0], struct {
		*ledger
		*store.Triage
	}{x.ledger, x.triage}, 0)
	x.latest, x.last = map[string]apiclient.Attack{}, time.Time{}
}

func (x *watcher) observe() {
	x.t.Helper()
	x.service.Step()
	s := x.situation()
	g := record.Poll{At: x.clock(), Since: x.last, Entries: s.Entries, Rules: s.Rules, ListsReadAt: s.ListsReadAt}
	for _, a := range x.attacks() {
		was, known := x.latest[a.ID]
		if known && reflect.DeepEqual(was, a) {
			continue
		}
		p := record.AttackDelta{Now: &a}
		if known {
			p.Before = &was
		}
		x.latest[a.ID], g.Changes = a, append(g.Changes, p)
	}
	x.see(g)
}

func (x *watcher) see(g record.Poll) {
	x.t.Helper()
	found, err := x.watch.Judge(x.t.Context(), g)
	require.NoError(x.t, err)
	require.NoError(x.t, x.ledger.saveJudged(x.t.Context(), "acme", found.Changes, found.Events...))
	x.last = g.At
}

// watches lets time pass and observes every 15 s, or once a minute if it is long.
func (x *watcher) watches(d time.Duration) {
	x.t.Helper()
	for d > 0 {
		step := 15 * time.Second
		if d > 15*time.Minute {
			step = time.Minute
		}
		x.pass(step)
		x.observe()
		d -= step
	}
}

func (x *watcher) effect(ch record.Change) record.Efficacy {
	x.t.Helper()
	all, err := x.ledger.Efficacy(x.t.Context(), "acme")
	require.NoError(x.t, err)
	return all[ch.ID]
}

// situation is the account as it is, with the lists and rules.
func (x *watcher) situation() call.Situation {
	x.t.Helper()
	s := call.Situation{Account: x.cfg.Accounts[0], Now: x.clock(), ListsReadAt: x.clock()}
	s.Entries, s.Rules = x.mirrored()
	return s
}

// line is the line of a change on the card of the service's first attack, with the lists and rules as they are.
func (x *watcher) line(ch record.Change) string {
	x.t.Helper()
	s := x.situation()
	s.Efficacy, s.Changes, s.AccountChanges = map[string]record.Efficacy{ch.ID: x.effect(ch)}, []record.Change{ch}, x.ledger.all()
	for _, a := range x.attacks() {
		if !a.Result() && s.Attack.ID == "" {
			s.Attack = a
		}
	}
	return words.Change(ch, efficacy.Line(s, ch)).String()
}

// findings are those of which people were notified.
func (x *watcher) findings() (all []record.Finding) {
	for _, j := range x.ledger.judged {
		if j.Notify {
			all = append(all, j.Efficacy.Finding)
		}
	}
	return all
}

func TestADenialWorks(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	require.Contains(t, x.line(ch), "accepted by the service, due 2026-11-20 03:01 UTC")
	x.watches(time.Minute)
	require.Empty(t, x.effect(ch).Finding, "nothing was stopped yet")
	x.watches(time.Minute)
	require.Equal(t, record.Working, x.effect(ch).Finding)
	require.Regexp(t, "working: nothing through since 2026-11-20 03:0[01] UTC, at least [0-9]+ stopped", x.line(ch))
	require.Equal(t, record.UrgentActed, w.ledger.judged[0].Urgency(), "who denied it looks for that on the card, also in a storm")
	first, saves := x.effect(ch).Parts["203.0.113.7"], len(w.ledger.judged)
	require.Zero(t, first.Through.N, "what got through before it was due is no fault of it")
	x.watches(10 * time.Minute)
	later := x.effect(ch).Parts["203.0.113.7"]
	require.Greater(t, later.Stopped.N, 2*first.Stopped.N)
	require.Zero(t, later.Through.N)
	require.LessOrEqual(t, len(w.ledger.judged)-saves, 10, "mere figures show once a minute at most")
	require.Empty(t, x.findings())
}

// Only its own hits count: the other source goes on and is none of its business.
func TestADenialOfAnAllowedSourceHasNoEffect(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	w.seed(waf.IPRule{RuleType: "ip_range", List: "white", Subnet: "203.0.113.0/24", Pools: []int{0}, ExpiredAt: w.clock().Add(time.Hour).Unix()})
	x.watches(5*time.Minute + 45*time.Second)
	require.Empty(t, x.effect(ch).Finding, "hits are listed late: it isn't judged before it is well after")
	x.watches(time.Minute)
	require.Equal(t, record.NotWorking, x.effect(ch).Finding)
	require.Regexp(t, `NOT WORKING: [0-9,]+ hits got through since .* the last .*Likely: 203\.0\.113\.0/24 is on the allowlist until 2026-11-20 04:00 UTC, which wins`, x.line(ch))
	x.restart()
	x.watches(20 * time.Minute)
	require.Equal(t, []record.Finding{record.NotWorking}, x.findings(), "once, also after a restart")
}

func TestADenialThatAnotherUserRemoved(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	x.watches(5 * time.Minute)
	require.Equal(t, record.Working, x.effect(ch).Finding)
	require.NoError(t, w.cfg.Services["acme"].DeleteIPRules(t.Context(), ch.Steps[0].ID)) // in the console
	x.watches(10 * time.Minute)
	require.Equal(t, record.NotWorking, x.effect(ch).Finding)
	require.Contains(t, x.line(ch), "NO LONGER working: the last was stopped ")
	require.Contains(t, x.line(ch), "Likely: it is no longer listed at the service: it was removed or changed")
	require.Equal(t, []record.Finding{record.NotWorking}, x.findings())
}

// No user is mentioned about what was undone just now.
func TestWhatWasUndoneIsNotJudged(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	w.seed(waf.IPRule{RuleType: "ip_range", List: "white", Subnet: "203.0.113.7/32", Pools: []int{0}, ExpiredAt: w.clock().Add(time.Hour).Unix()})
	x.watches(5*time.Minute + 45*time.Second)
	w.does(ann, "undo "+ch.ID)
	x.watches(20 * time.Minute)
	require.Empty(t, x.findings())
	require.NotContains(t, x.line(w.ledger.change(ch.ID)), "NOT WORKING")
}

func TestAPatchWorks(t *testing.T) {
	_, x, ch := watched(t, waf.AttackSpec{}, "patch")
	require.Contains(t, x.line(ch), "accepted by the service, compiling, due by 2026-11-20 04:00 UTC")
	x.watches(3 * time.Minute)
	require.Empty(t, x.effect(ch).Finding)
	x.watches(time.Minute)
	require.Equal(t, record.Working, x.effect(ch).Finding, "before the hour is over")
	require.Regexp(t, "working: nothing through since 2026-11-20 03:02 UTC, at least [0-9]+ stopped, the last 2026-11-20 03:03 UTC", x.line(ch))
	require.Empty(t, x.findings())
}

// A patch of another part than the attack's stops nothing of it; what else is attacked there isn't its business either.
func TestAPatchIsJudgedByItsOwnPart(t *testing.T) {
	w := newWorld(t)
	w.attack(waf.AttackSpec{})
	x := w.watcher()
	ch := w.does(ann, "patch POST shop.example.com/login type=sqli part=get.q app=4")
	x.watch.Refresh()
	x.watches(80 * time.Minute)
	require.Equal(t, record.EfficacyUnknown, x.effect(ch).Finding)
	require.Contains(t, x.line(ch), "unknown whether it works: the rule is for another place or part of the request than this attack's, and nothing was seen there")
}

func TestASourceThatIsGone(t *testing.T) {
	_, x, ch := watched(t, waf.AttackSpec{Lasts: waf.Duration(70 * time.Second)}, "deny 203.0.113.7")
	x.watches(5 * time.Minute)
	require.Equal(t, record.EfficacyUnknown, x.effect(ch).Finding)
	require.Contains(t, x.line(ch), "whether stopped or gone is unknown")
	require.Empty(t, x.findings())
}

func TestAModeWorks(t *testing.T) {
	w := newWorld(t)
	w.attack(waf.AttackSpec{})
	w.attack(waf.AttackSpec{Type: "brute", Path: "/account"}) // its requests look clean
	x := w.watcher()
	ch := w.anyway(ann, "mode 4 block for=2h")
	x.watch.Refresh()
	x.watches(3 * time.Minute)
	require.Empty(t, x.effect(ch).Finding)
	x.watches(20 * time.Minute)
	require.Contains(t, []record.Finding{record.Working, record.PartlyWorking}, x.effect(ch).Finding, "its record is partly blocked from then on")
	require.NotZero(t, x.effect(ch).Parts[""].Stopped.N)
	require.Empty(t, x.findings())
	mild := w.anyway(root, "mode 4 monitoring for=1h")
	require.Contains(t, x.line(mild), "whether it works can't be seen: no record shows by which mode it was let through")
}

// A mode that was switched for an attack is credited with what it can have stopped of that attack, not with what the
// whole application saw.
func TestAModeIsJudgedByItsAttack(t *testing.T) {
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{})
	w.attack(waf.AttackSpec{Type: "xss", Path: "/search"})
	x := w.watcher()
	ch := w.anyway(ann, "mode 4 block for=2h attack="+id)
	x.watch.Refresh()
	x.watches(20 * time.Minute)
	seen, hits := x.effect(ch), int64(0)
	for _, a := range x.latest {
		if a.Type == "sqli" {
			hits = a.Hits.N
		}
	}
	require.NotZero(t, seen.Stopped())
	require.LessOrEqual(t, seen.Figures(), hits)
}

func TestADenialExpiresWhileItsSourceStillTries(t *testing.T) {
	_, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7 for=10m")
	x.watches(10 * time.Minute)
	require.Equal(t, []record.Finding{record.SourceReturned}, x.findings())
	require.Contains(t, x.line(ch), "its source kept trying to the end, the last time 2026-11-20 03:")
	x.watches(10 * time.Minute)
	require.Regexp(t, "its source came back: [0-9,]+ hits got through since 2026-11-20 03:1", x.line(ch))
	require.Len(t, x.findings(), 1)
}

func TestWhatCanNotBeSeenIsSaid(t *testing.T) {
	full.Only(t)
	w := newWorld(t, withoutApproval(config.ApproveBroad, config.ApproveAllow, config.ApproveRulesEverywhere))
	x := w.watcher()
	for line, why := range map[string]string{
		"deny proxy:TOR":                      "the service doesn't list which sources are of that kind",
		"gray 203.0.113.7":                    "gray sources are blocked in safe_blocking mode only",
		`indicator User-Agent "sqlmap/1[.]8"`: "the service doesn't list which requests match",
	} {
		ch := w.insists(root, line)
		x.watch.Refresh()
		x.watches(90 * time.Minute)
		require.Contains(t, x.line(ch), "whether it works can't be seen: "+why)
		require.Empty(t, x.effect(ch))
	}
}

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

// Sampled counts fall and rise again: that is no new hit.
func TestCountsThatFallAndRiseAgainAreNoHits(t *testing.T) {
	w := newWorld(t)
	x := w.watcher()
	is := func(m int64) apiclient.Attack {
		own := int64(100)
		if m%2 == 1 {
			own = 80 // sampled, or not among the top for once
		}
		a := x.record("a", "monitored", 1000+m, share("203.0.113.7", own), share("198.51.100.4", 500+m))
		if m%4 == 3 {
			a.Sources = a.Sources[1:]
			a.SourceCount = apiclient.Known(1)
		}
		return a
	}
	x.grows(1, func(int64) apiclient.Attack { return is(0) })
	ch := w.does(ann, "deny 203.0.113.7")
	x.watch.Refresh()
	x.grows(20, is)
	require.Equal(t, record.EfficacyUnknown, x.effect(ch).Finding, "%+v", x.effect(ch))
	require.Empty(t, x.findings())
}

// After a restart what got through before isn't known.
func TestNothingThroughIsSaidSinceItWasWatched(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{Lasts: waf.Duration(6 * time.Minute)}, "deny 203.0.113.7")
	x.watches(10 * time.Minute)
	require.Contains(t, x.line(ch), "working: nothing through since 2026-11-20 03:0")
	w.pass(10 * time.Minute)
	x.restart()
	x.observe()
	require.Contains(t, x.line(ch), "working: nothing through since 2026-11-20 03:20 UTC")
}

// A mode that another user set since is another one.
func TestAModeThatAnotherUserSetSince(t *testing.T) {
	w := newWorld(t)
	w.attack(waf.AttackSpec{})
	x := w.watcher()
	ch := w.anyway(ann, "mode 4 block for=2h")
	x.watch.Refresh()
	x.watches(20 * time.Minute)
	require.Contains(t, x.line(ch), "working")
	require.NoError(t, w.cfg.Services["acme"].DeleteRule(t.Context(), ch.Steps[0].ID)) // in the console
	x.watches(2 * time.Minute)
	require.Contains(t, x.line(ch), "no longer in force: it was removed or changed at the service")
	require.NotContains(t, x.line(ch), "working")
}

// A mode that wafbot set since took the place of another: no user was at the console.
func TestAModeThatWasReplaced(t *testing.T) {
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{})
	x := w.watcher()
	ch := w.anyway(ann, "mode 4 block for=2h attack="+id)
	x.watch.Refresh()
	x.watches(20 * time.Minute)
	w.anyway(root, "mode 4 monitoring for=1h attack="+id)
	x.watches(2 * time.Minute)
	for where, line := range map[string]string{"card": x.line(ch), "attack": textOf(w.reads(eve, "attack "+id))} {
		require.Contains(t, line, "→ 2026-11-20 05:00 UTC · replaced by a later change", where)
	}
}

// What is typed says of what ended that it ended, as the card does.
func TestAttackSaysWhatEnded(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{Lasts: waf.Duration(2 * time.Minute)}, "deny 203.0.113.7 for=30m")
	x.watches(35 * time.Minute)
	line := textOf(w.reads(ann, "attack "+ch.AttackID))
	require.Contains(t, line, "ended")
	require.NotContains(t, line, "nothing through since")
}

// What was removed in the console can be done again, by its button.
func TestWhatWasTakenOffIsOfferedAgain(t *testing.T) {
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{})
	ch := w.does(ann, "deny 203.0.113.7 attack="+id)
	w.pass(5 * time.Minute)
	require.NoError(t, w.cfg.Services["acme"].DeleteIPRules(t.Context(), ch.Steps[0].ID))
	w.service.CatchUp()
	s := call.Situation{Account: w.cfg.Accounts[0], Policy: w.cfg.PolicyOf(w.cfg.Accounts[0]), ID: id, Now: w.clock(), ListsReadAt: w.clock(), Changes: []record.Change{ch}}
	s.Attack = w.attacks()[0]
	offered := func() string { return strings.Join(labels(advice.Advise(s)), "; ") }
	require.Contains(t, offered(), "Deny")
	again := w.does(ann, "deny 203.0.113.7 attack="+id)
	require.NotEqual(t, ch.ID, again.ID)
	require.Len(t, w.listed("black"), 1)
	s.Entries = []apiclient.IPRule{*again.Steps[0].Entry}
	require.NotContains(t, offered(), "Deny")
}

// everywhere is all that is read about mitigations in force, by line.
func (x *watcher) everywhere(attack string) map[string]string {
	x.t.Helper()
	all := map[string]string{}
	for _, line := range []string{"status", "attack " + attack, "summary"} {
		all[line] = textOf(x.reads(eve, line))
	}
	for _, p := range x.reads(eve, "status").Home.(*report.Home).Parts(true) {
		for _, r := range p.Rows {
			all["Home"] += r.Text.String() + "\n"
		}
	}
	all["report"] = x.reads(atTerminal, "report attack="+attack).Document
	return all
}

// What was taken off in the console works nowhere, whatever was seen of it before.
func TestWhatWasTakenOffWorksNowhere(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{Lasts: waf.Duration(4 * time.Minute)}, "deny 203.0.113.7")
	x.watches(3 * time.Minute)
	for where, said := range x.everywhere(ch.AttackID) {
		require.Contains(t, said, "working", where)
	}
	require.NoError(t, w.cfg.Services["acme"].DeleteIPRules(t.Context(), ch.Steps[0].ID))
	x.watches(15 * time.Minute)
	require.Equal(t, record.Working, x.effect(ch).Finding, "no source came any more that could get through")
	for where, said := range x.everywhere(ch.AttackID) {
		require.Contains(t, said, "no longer in force", where)
		if where != "report" { // which says what was before, too
			require.NotContains(t, said, "working, at least", where)
			require.NotContains(t, said, "working: ", where)
		}
	}
}

func TestWhatWasShortenedIsSaidEverywhere(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	x.watches(3 * time.Minute)
	w.overwrite(waf.IPRule{RuleType: "ip_range", List: "black", Subnet: "203.0.113.7/32", Pools: []int{0}}, "by hand", time.Hour)
	x.watches(2 * time.Minute)
	for where, said := range x.everywhere(ch.AttackID) {
		require.Regexp(t, `shortened\** at the service: it ends 2026-11-20 04:03(:00)? UTC; \**working`, said, where)
	}
}

// The reasons that the card gives are given in every answer, though only the card has the lists at hand.
func TestReasonsAreSaidEverywhere(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	w.seed(waf.IPRule{RuleType: "ip_range", List: "white", Subnet: "203.0.113.0/24", Pools: []int{0}, ExpiredAt: w.clock().Add(time.Hour).Unix()})
	x.watches(8 * time.Minute)
	all := x.everywhere(ch.AttackID)
	require.Regexp(t, "NOT WORKING: [0-9,]+ hits got through since .*Likely: 203.0.113.0/24 is on the allowlist", all["attack "+ch.AttackID])
	require.Regexp(t, `NOT WORKING.*: [0-9,]+ hits got through since .*Likely: .*203\.0\.113\.0/24.* is on the allowlist`, all["report"])
	for _, where := range []string{"status", "summary", "Home"} {
		require.Contains(t, all[where], "NOT WORKING", where)
	}
}

// Each fall is notified once: what worked again for a while and then does nothing calls again, also after a restart;
// what comes and goes doesn't.
func TestEachFallIsNotifiedOnce(t *testing.T) {
	full.Only(t)
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	off := func(d time.Duration) {
		require.NoError(t, w.cfg.Services["acme"].DeleteIPRules(t.Context(), w.listed("black")[0].ID))
		x.watches(d)
	}
	on := func(d time.Duration) {
		w.overwrite(waf.IPRule{RuleType: "ip_range", List: "black", Subnet: "203.0.113.7/32", Pools: []int{0}}, "again", 3*time.Hour)
		x.watches(d)
	}
	x.watches(5 * time.Minute)
	off(10 * time.Minute)
	require.Len(t, x.findings(), 1)
	on(9 * time.Minute)
	require.Equal(t, record.Working, x.effect(ch).Finding)
	off(10 * time.Minute)
	require.Equal(t, record.NotWorking, x.effect(ch).Finding)
	require.Len(t, x.findings(), 1, "it comes and goes")
	on(25 * time.Minute)
	x.restart()
	x.observe()
	off(10 * time.Minute)
	require.Equal(t, []record.Finding{record.NotWorking, record.NotWorking}, x.findings())
	require.Equal(t, 2, x.effect(ch).Calls(record.NotWorking))
	require.Contains(t, x.line(ch), "NO LONGER working: the last was stopped 2026-11-20 03:5")
	require.Contains(t, x.line(ch), "hits get through again, the last 2026-11-20 04:0", "in between it worked")
	x.restart()
	x.watches(20 * time.Minute)
	require.Len(t, x.findings(), 2)
}

// A report says what became of a mitigation as its card did, at the time.
func TestTheReportShowsWhatWasSeenOfMitigations(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	x.watches(5 * time.Minute)
	require.NoError(t, w.cfg.Services["acme"].DeleteIPRules(t.Context(), ch.Steps[0].ID))
	x.watches(10 * time.Minute)
	w.overwrite(waf.IPRule{RuleType: "ip_range", List: "black", Subnet: "203.0.113.7/32", Pools: []int{0}}, "again", time.Hour)
	x.watches(6 * time.Minute)
	golden(t, "report_effects.md", w.reads(atTerminal, "report attack="+ch.AttackID).Document)
}

// A replica that couldn't look, or lost what was seen, says so, and neither that it works nor that it is due.
func TestWhatWasNotWatchedIsUnknown(t *testing.T) {
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	const unknown = "unknown whether it works: it was due 2026-11-20 03:01 UTC, and it was not observed since"
	w.pass(7 * time.Minute)
	require.NotContains(t, x.line(ch), "unknown")
	w.pass(2 * time.Minute)
	require.Contains(t, x.line(ch), unknown, "the service is away")
	require.Contains(t, textOf(w.reads(eve, "attack "+ch.AttackID)), unknown)
	require.Contains(t, textOf(w.reads(eve, "status")), ch.ID+" unknown whether it works · ")
	x.observe()
	x.watches(2 * time.Minute)
	require.Contains(t, x.line(ch), "working: nothing through since 2026-11-20 03:0")

	w.redis.Del("{a:acme}:efficacy") // Redis was emptied
	x.restart()
	require.Contains(t, x.line(ch), unknown)
	w.pass(20 * time.Minute)
	x.observe()
	require.Contains(t, x.line(ch), "2026-11-20 03:31 UTC", "it is watched since then")
}

// Of a range of which one source goes on the card says why, where the lists show it.
func TestARangeThatWorksInPart(t *testing.T) {
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{Sources: []waf.SourceSpec{{IP: "203.0.113.7", PerSecond: 3}, {IP: "203.0.113.9", PerSecond: 3}}})
	x := w.watcher()
	w.seed(waf.IPRule{RuleType: "ip_range", List: "white", Subnet: "203.0.113.9/32", Pools: []int{0}, ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.insists(ann, "deny 203.0.113.0/24 attack="+id)
	x.watch.Refresh()
	x.watches(10 * time.Minute)
	require.Regexp(t, `partly working: at least [0-9,]+ stopped, [0-9,]+ hits got through since .*\. Likely: 203\.0\.113\.9 is on the allowlist`, x.line(ch))
	require.Empty(t, x.findings())
}

// Each denied address of a /64 has a record of its own: the network's denial is judged by all of them.
func TestADeniedNetworkOfIPv6Works(t *testing.T) {
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{Sources: []waf.SourceSpec{
		{IP: "2001:db8:5:6::1", PerSecond: 3}, {IP: "2001:db8:5:6::2", PerSecond: 3}, {IP: "203.0.113.9", PerSecond: 3}}})
	x := w.watcher()
	ch := w.insists(ann, "deny attack="+id)
	x.watch.Refresh()
	x.watches(2 * time.Minute)
	require.Equal(t, record.Working, x.effect(ch).Finding)
	require.Greater(t, x.effect(ch).Parts["2001:db8:5:6::/64"].Stopped.N, int64(4))
	require.Contains(t, x.line(ch), "working")
}
