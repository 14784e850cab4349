package commands_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
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
	for page, err := range x.cfg.Services["acme"].Attacks(x.t.Context(), apiclient.AttackFilter{}) {
		require.NoError(x.t, err)
		for _, a := range page.Attacks {
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

// watches lets time pass and looks meanwhile.
func (x *watcher) watches(d time.Duration) {
	x.t.Helper()
	for ; d > 0; d -= 15 * time.Second {
		x.pass(15 * time.Second)
		x.observe()
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
	for e, err := range x.cfg.Services["acme"].IPRules(x.t.Context(), "") {
		require.NoError(x.t, err)
		s.Entries = append(s.Entries, e)
	}
	for r, err := range x.cfg.Services["acme"].Rules(x.t.Context(), 0) {
		require.NoError(x.t, err)
		s.Rules = append(s.Rules, r)
	}
	return s
}

// line is the line of a change on the card of the service's first attack, with the lists and rules as they are.
func (x *watcher) line(ch record.Change) string {
	x.t.Helper()
	s := x.situation()
	s.Efficacy, s.Changes, s.AccountChanges = map[string]record.Efficacy{ch.ID: x.effect(ch)}, []record.Change{ch}, x.ledger.all()
	for page, err := range x.cfg.Services["acme"].Attacks(x.t.Context(), apiclient.AttackFilter{}) {
		require.NoError(x.t, err)
		for _, a := range page.Attacks {
			if !a.Result() && s.Attack.ID == "" {
				s.Attack = a
			}
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	w, x, ch := watched(t, waf.AttackSpec{}, "deny 203.0.113.7")
	w.seed(waf.IPRule{RuleType: "ip_range", List: "white", Subnet: "203.0.113.7/32", Pools: []int{0}, ExpiredAt: w.clock().Add(time.Hour).Unix()})
	x.watches(5*time.Minute + 45*time.Second)
	w.does(ann, "undo "+ch.ID)
	x.watches(20 * time.Minute)
	require.Empty(t, x.findings())
	require.NotContains(t, x.line(w.ledger.change(ch.ID)), "NOT WORKING")
}

func TestAPatchWorks(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	_, x, ch := watched(t, waf.AttackSpec{Lasts: waf.Duration(70 * time.Second)}, "deny 203.0.113.7")
	x.watches(5 * time.Minute)
	require.Equal(t, record.EfficacyUnknown, x.effect(ch).Finding)
	require.Contains(t, x.line(ch), "whether stopped or gone is unknown")
	require.Empty(t, x.findings())
}

func TestAModeWorks(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
