package commands_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// mutes are what is kept.
func (w *world) mutes() []record.Mute {
	w.t.Helper()
	all, err := w.triage.Mutes(w.t.Context(), "acme")
	require.NoError(w.t, err)
	return all
}

func TestMute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.writes(ann, "mute attack="+id, "Muted: attack="+id+" until 2026-11-20 04:00 UTC, by Ann", "Incidents are posted all the same")
	w.writes(ann, "mute source=203.0.113.0/24 app=Shop for=2h", "source=203.0.113.0/24 app=4 until 2026-11-20 05:00 UTC")
	w.writes(bob, "mute type=SQLI", "type=sqli until")
	require.Empty(t, w.lastAudit().Attack)
	all := w.mutes()
	require.Len(t, all, 3)
	for _, m := range all {
		require.Regexp(t, `^m[0-9a-z]{8}$`, m.ID)
	}
	require.Equal(t, record.Mute{ID: all[1].ID, Account: "acme", Source: netip.MustParsePrefix("203.0.113.0/24"), App: 4, Until: w.clock().Add(2 * time.Hour), By: ann}, all[1])
	require.Contains(t, textOf(w.reads(eve, "status")), "Muted, incidents excepted: 3\n")
	require.Contains(t, textOf(w.reads(eve, "status")), "type=sqli until 2026-11-20 04:00 UTC, by Bob "+all[2].ID)
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "Muted: attack="+id)
	require.Len(t, w.program("status")["data"].([]any)[0].(map[string]any)["muted"], 3)

	w.nothing(bob, "mute type=sqli for=30m", "Muted already", "by Bob")
	w.writes(ann, "mute type=sqli for=90m", "until 2026-11-20 04:30 UTC, by Ann")
	require.Len(t, w.mutes(), 3, "of each there is one")

	w.writes(bob, "unmute source=203.0.113.0/24 app=4", "No longer muted: source=203.0.113.0/24 app=4")
	w.writes(bob, "unmute "+all[0].ID[:5], "No longer muted: attack="+id)
	w.nothing(bob, "unmute source=203.0.113.0/24", "no mute on acme")
	w.pass(90 * time.Minute)
	require.NotContains(t, textOf(w.reads(eve, "status")), "Muted")
	w.nothing(bob, "unmute type=sqli")
	w.writes(bob, "mute type=xss")
	require.Len(t, w.mutes(), 1, "what is over is deleted")
	require.Equal(t, []string{id, id}, w.ledger.redrawn, "its card says that it is muted, and no longer")
}

// No mute keeps an incident back, so none is made that says it does.
func TestAnIncidentIsNotMuted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{}})
	w.nothing(ann, "mute attack="+id, "is an incident", "always posted")
	require.Empty(t, w.mutes())
}

func TestMuteNeedsOneThingAndAnEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveForever))
	id := w.attackOn("/login")
	for line, words := range map[string]string{
		"mute": "Missing: one of attack=, source= and type=, and only one", "unmute": "Missing: one of attack=, source= and type=, and only one", "mute app=4": "Missing: one of attack=, source= and type=, and only one", "mute type=sqli source=203.0.113.7": "Missing: one of attack=, source= and type=, and only one", "mute type=sqli attack=" + id: "Missing: one of attack=, source= and type=, and only one",
		"mute app=4 attack=" + id: "app= goes with", "mute source=country:FR": "Invalid IP address or range: country:FR", "mute source=203.0.113.7/24": "Perhaps 203.0.113.0/24", "mute type='a b'": "Invalid type of attack", "mute type=sql": "Invalid type of attack: sql. Example: type=sqli",
		"mute type=sqli for=forever": "Invalid duration: forever. A mute ends. Example: for=1h", "mute type=sqli for=soon": "Invalid duration",
	} {
		w.refuses(ann, line, refusal.ErrUsage, words)
	}
	w.refuses(ann, "mute type=sqli for=31d", refusal.ErrGuarded, "longer than the longest")
	require.Empty(t, w.mutes())
}

func TestAMuteInAThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	in := func(line string) {
		inv := w.asks(ann, line)
		inv.Attack = id
		res, err := w.do(inv)
		require.NoError(t, err, line)
		require.Equal(t, "done", res.Outcome)
	}
	in("mute")
	in("mute type=sqli")
	require.Empty(t, w.lastAudit().Attack)
	require.Equal(t, "mute type=sqli", w.lastAudit().Line)
	all := w.mutes()
	require.Equal(t, []string{id, ""}, []string{all[0].Attack, all[1].Attack})
	in("unmute " + all[1].ID)
	in("unmute")
	require.Empty(t, w.mutes())
}

func TestWhatAMuteCovers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	from := func(hits int64, ips ...string) []apiclient.Source {
		var all []apiclient.Source
		for _, ip := range ips {
			all = append(all, apiclient.Source{IP: netip.MustParseAddr(ip), Hits: apiclient.Known(hits)})
		}
		return all
	}
	attack := apiclient.Attack{ID: "x:1", Type: "sqli", App: apiclient.Known(4), Hits: apiclient.Known(100), SourceCount: apiclient.Known(2), Sources: from(30, "203.0.113.7", "203.0.113.8")}
	with := func(change func(a *apiclient.Attack)) apiclient.Attack { a := attack; change(&a); return a }
	source := record.Mute{Source: netip.MustParsePrefix("203.0.113.0/24")}
	for name, tt := range map[string]struct {
		mute   record.Mute
		attack apiclient.Attack
		want   bool
	}{
		"the attack":                {record.Mute{Attack: record.AttackID("acme", "x:1")}, attack, true},
		"another attack":            {record.Mute{Attack: record.AttackID("acme", "x:2")}, attack, false},
		"the type":                  {record.Mute{Type: "sqli"}, attack, true},
		"another type":              {record.Mute{Type: "xss"}, attack, false},
		"the type there":            {record.Mute{Type: "sqli", App: 4}, attack, true},
		"the type elsewhere":        {record.Mute{Type: "sqli", App: 7}, attack, false},
		"application unknown":       {record.Mute{Type: "sqli", App: 4}, with(func(a *apiclient.Attack) { a.App = apiclient.Figure{} }), false},
		"an incident":               {record.Mute{Type: "sqli"}, with(func(a *apiclient.Attack) { a.VulnID = "8" }), false},
		"over":                      {record.Mute{Type: "sqli", Until: now}, attack, false},
		"all sources":               {source, attack, true},
		"one source elsewhere":      {source, with(func(a *apiclient.Attack) { a.Sources = from(30, "203.0.113.7", "198.51.100.4") }), false},
		"no source":                 {source, with(func(a *apiclient.Attack) { a.Sources, a.SourceCount = nil, apiclient.Known(0) }), false},
		"more, most of it listed":   {source, with(func(a *apiclient.Attack) { a.SourceCount = apiclient.Known(9) }), true},
		"more, little of it listed": {source, with(func(a *apiclient.Attack) { a.SourceCount, a.Hits = apiclient.Known(9), apiclient.Known(121) }), false},
		"more, hits unknown":        {source, with(func(a *apiclient.Attack) { a.SourceCount, a.Hits = apiclient.Known(9), apiclient.Figure{} }), false},
		"number of sources unknown": {source, with(func(a *apiclient.Attack) { a.SourceCount, a.Hits = apiclient.Figure{}, apiclient.Known(1000) }), false},
	} {
		tt.mute.Account = "acme"
		if tt.mute.Until.IsZero() {
			tt.mute.Until = now.Add(time.Second)
		}
		_, muted := policy.Muted([]record.Mute{{Account: "acme", Type: "other", Until: now.Add(time.Hour)}, tt.mute}, tt.attack, now)
		require.Equal(t, tt.want, muted, name)
	}
}

func TestSoManyMutesAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 200 {
		_, err := w.try(ann, fmt.Sprintf("mute source=198.51.100.%d for=1h", i))
		require.NoError(t, err)
	}
	w.refuses(ann, "mute type=xss for=1h", refusal.ErrGuarded, "200 mutes are in force already", "unmute")
	_, err := w.try(ann, "mute source=198.51.100.7 for=2h")
	require.NoError(t, err, "one of them, for longer")
	w.pass(61 * time.Minute)
	_, err = w.try(ann, "mute type=xss for=1h")
	require.NoError(t, err, "the others are over")
}
