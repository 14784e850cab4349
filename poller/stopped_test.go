package poller_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// result is a record of a mitigation at work against the attacks of these tests: its hits began with the second of that
// many minutes after noon.
func result(typ string, app int) func(*attackRecord) {
	return func(r *attackRecord) { r.typ, r.status, r.app, r.hits, r.begun = typ, "blocked", app, 10, time.Second }
}

// says is what the card of x:1 says where others deny a country.
func (a *account) says(denied string) words.State {
	s := a.store.state[a.name].Attacks["x:1"]
	entry := apiclient.IPRule{ID: 1, List: apiclient.ListDeny, Kind: apiclient.KindCountry, Values: []string{denied}, Apps: []int{apiclient.AllApps}, Created: noon.Add(time.Minute)}
	var stopped record.Stopped
	if s.Stopped != nil {
		stopped = *s.Stopped
	}
	now := call.Situation{
		Quiet:   s.Quiet,
		Account: &config.Account{OngoingFor: 15 * time.Minute}, ID: "a1", Attack: s.Attack, Paused: s.Paused, Stopped: stopped, ResumedAt: s.ResumedAt, Severity: s.Severity,
		Entries: []apiclient.IPRule{entry}, Now: a.now(), ListsReadAt: a.now(),
	}
	now.Others = efficacy.Others(now, 0)
	return efficacy.Headline(now).State
}

// An admin denies a country in the service's console. wafbot made no change, and the card follows what is observed all
// the same.
func TestACountryThatOthersDeny(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0)
	require.Equal(t, []string{"new attack x:1"}, polls(t, a, p, 0))
	require.Equal(t, words.NotBlocked, a.says("FR"))

	a.at(2 * time.Minute)
	a.add("denied:1", 0, result(apiclient.TypeBlockedSource, 4))
	a.add("elsewhere:1", 0, result(apiclient.TypeBlockedSource, 5), func(r *attackRecord) { r.hits = 999 })
	require.Equal(t, []string{"grew x:1"}, polls(t, a, p, 2*time.Minute), "the first try that was stopped is shown at once")
	require.Equal(t, words.PartlyBlocked, a.says("FR"), "it works, and it is too early to say that all is stopped")
	require.Equal(t, words.NotBlocked, a.says("DE"))
	source := netip.MustParseAddr("203.0.113.7")
	require.Equal(t, int64(10), a.store.state[a.name].Attacks["x:1"].Stopped.Sources[source].N, "those of another application are not counted")

	hit(a, "denied:1", 3*time.Minute, 12)
	require.Empty(t, polls(t, a, p, 3*time.Minute), "two more aren't worth an edit")
	hit(a, "denied:1", 4*time.Minute, 40)
	require.Equal(t, []string{"grew x:1"}, polls(t, a, p, 4*time.Minute))
	require.Equal(t, []string{"grew x:1"}, polls(t, a, p, 7*time.Minute), "nothing is seen getting through")
	require.Equal(t, words.Mitigated, a.says("FR"))
	require.Equal(t, words.Quiet, a.says("DE"), "its silence has another cause, as far as is known")

	p = a.start() // another replica
	require.Empty(t, polls(t, a, p, 7*time.Minute))
	require.Equal(t, int64(40), a.store.state[a.name].Attacks["x:1"].Stopped.Sources[source].N, "nothing is counted twice")
	hit(a, "denied:1", 14*time.Minute, 60)
	require.Equal(t, []string{"grew x:1"}, polls(t, a, p, 14*time.Minute))
	require.Empty(t, polls(t, a, p, 16*time.Minute), "it isn't over while tries are stopped")
	require.Equal(t, words.Mitigated, a.says("FR"))
	require.Contains(t, append(polls(t, a, p, 29*time.Minute), polls(t, a, p, 30*time.Minute)...), "quiet x:1")
	require.Equal(t, words.Ended, a.says("FR"))
}

// Each denied address of a /64 has a record of its own; an attack from several of them lists their network.
func TestTriesFromANetworkOfIPv6(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0, func(r *attackRecord) { r.sources = []string{"2001:db8::1", "2001:db8::2"} })
	polls(t, a, p, 0)
	a.at(2 * time.Minute)
	a.add("denied:1", 0, result(apiclient.TypeBlockedSource, 4), func(r *attackRecord) { r.sources = []string{"2001:db8::1"} })
	a.add("denied:2", 0, result(apiclient.TypeBlockedSource, 4), func(r *attackRecord) { r.sources = []string{"2001:db8::3"} })
	polls(t, a, p, 2*time.Minute)
	state := a.store.state[a.name].Attacks["x:1"]
	require.EqualValues(t, 10, state.Stopped.Sources[netip.MustParseAddr("2001:db8::")].N)
	polls(t, a, p, 16*time.Minute)
	require.False(t, a.store.state[a.name].Attacks["x:1"].Quiet, "its sources are still trying")
}

// A virtual patch that others made stops tries at the attack's place; its records name no source of it.
func TestWhatAPatchOfOthersStops(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0)
	require.Equal(t, []string{"new attack x:1"}, polls(t, a, p, 0))
	a.at(2 * time.Minute)
	a.add("patched:1", 0, result(apiclient.TypeVirtualPatch, 4), func(r *attackRecord) { r.sources = []string{"198.51.100.77"} })
	require.Equal(t, []string{"grew x:1"}, polls(t, a, p, 2*time.Minute))
	s := a.store.state[a.name].Attacks["x:1"].Stopped
	require.Equal(t, []any{int64(10), 0}, []any{s.Patched.N, len(s.Sources)})
	hit(a, "patched:1", 14*time.Minute, 60)
	polls(t, a, p, 14*time.Minute)
	require.NotContains(t, append(polls(t, a, p, 16*time.Minute), polls(t, a, p, 20*time.Minute)...), "quiet x:1", "its tries go on")
}

// Hits after it was silent ring once, and not at each poll. A slow attack isn't silent between two hits.
func TestAnAttackThatResumes(t *testing.T) {
	t.Parallel()
	a, _ := watching(t)
	a.routes = []config.Route{{Mention: "S0ONCALL"}}
	p := a.start()
	a.store.takeEvents()
	a.add("x:1", -time.Second)
	rung := func(after time.Duration, hits int) (rung []string) {
		a.at(after)
		if hits > 0 {
			hit(a, "x:1", after, hits)
		}
		require.NoError(t, p.Poll(t.Context()))
		for _, e := range a.store.takeEvents() {
			if e.Subject != "" {
				rung = append(rung, string(e.Kind)+" "+map[bool]string{true: "silently", false: e.Said().Mention}[e.Kind == record.Grew])
			}
		}
		return rung
	}
	state := func() record.AttackState { return a.store.state[a.name].Attacks["x:1"] }
	require.Equal(t, []string{"new attack S0ONCALL"}, rung(time.Second, 0))
	require.Equal(t, []string{"grew silently"}, rung(2*time.Minute, 200))
	require.Empty(t, rung(150*time.Second, 0))
	require.Equal(t, []string{"grew silently"}, rung(4*time.Minute, 0), "no hit in a minute")
	require.Empty(t, rung(6*time.Minute, 0))
	require.Equal(t, []string{"grew silently"}, rung(8*time.Minute, 0), "nothing is seen for its window")
	require.True(t, state().Paused)
	require.Empty(t, rung(9*time.Minute, 0))

	require.Equal(t, []string{"resumed S0ONCALL"}, rung(10*time.Minute, 201))
	require.Equal(t, []any{false, noon.Add(10 * time.Minute).UTC()}, []any{state().Paused, state().ResumedAt.UTC()})
	require.Empty(t, rung(10*time.Minute+15*time.Second, 202))
	require.Equal(t, []string{"grew silently"}, rung(12*time.Minute, 203))
	p = a.start()
	require.Empty(t, rung(12*time.Minute+15*time.Second, 0), "another replica rings no second time")
	for minute := 18; minute < 60; minute += 6 { // a hit each six minutes
		require.NotContains(t, rung(time.Duration(minute)*time.Minute, 203+minute/6), "resumed S0ONCALL", "minute %d", minute)
	}
	require.Equal(t, record.SeverityHigh, state().Severity)
}
