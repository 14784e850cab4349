package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
