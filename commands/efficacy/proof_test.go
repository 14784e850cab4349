package efficacy_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	. "github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

// drawn is a source of a generated situation, and what is done about it and seen of it.
type drawn struct {
	denied    string // how: "", ip, range, country, proxy
	allowed   bool
	elsewhere bool // the entry is for another application
	stopped   int  // until which minute; 0: nothing was seen stopped
}

// Whatever was done by whomever: no attack of which all that is seen is covered and stopped reads NOT BLOCKED, and none
// reads MITIGATED without the proof.
func TestTheProof(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := facts(status(rapid.SampledFrom([]string{"monitored", "Partially Blocked"}).Draw(t, "status")))
		a := &f.Attack
		a.Sources, a.Hits = nil, apiclient.Known(int64(rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "hits of others")))
		f.Paused = rapid.Bool().Draw(t, "paused")
		var all []drawn
		for i := range rapid.IntRange(1, 4).Draw(t, "sources") {
			d := drawn{
				denied:    rapid.SampledFrom([]string{"", "ip", "range", "country", "proxy"}).Draw(t, "denied"),
				allowed:   rapid.IntRange(0, 9).Draw(t, "allowed") == 0,
				elsewhere: rapid.IntRange(0, 9).Draw(t, "elsewhere") == 0,
				stopped:   rapid.SampledFrom([]int{0, 15, 25, 29}).Draw(t, "stopped"),
			}
			add(&f, i, d)
			all = append(all, d)
		}
		a.SourceCount = apiclient.Known(int64(len(a.Sources)))
		isPatched := rapid.IntRange(0, 4).Draw(t, "patched") == 0
		patchedUntil := 0
		if isPatched {
			patch(&f)
			patchedUntil = rapid.SampledFrom([]int{0, 15, 29}).Draw(t, "patch stopped until")
			if patchedUntil > 0 {
				patched(patchedUntil)(&f)
			}
		}
		check(t, f, all, patchedUntil)
	})
}

// add adds a source, and the entry that denies it.
func add(f *call.Situation, i int, d drawn) {
	s := f
	country := fmt.Sprintf("%c%c", 'A'+i, 'A'+i)
	source := apiclient.Source{IP: netip.AddrFrom4([4]byte{198, 51, byte(i), 7}), Hits: apiclient.Known(int64(10 + i)),
		Country: country}
	s.Attack.Sources, s.Attack.Hits.N = append(s.Attack.Sources, source), s.Attack.Hits.N+source.Hits.N
	before := len(s.Entries)
	switch d.denied {
	case "ip":
		deny(apiclient.KindRange, source.IP.String()+"/32")(f)
	case "range":
		deny(apiclient.KindRange, netip.PrefixFrom(source.IP, 24).Masked().String())(f)
	case "country":
		deny(apiclient.KindCountry, country)(f)
	case "proxy":
		deny(apiclient.KindProxy, "TOR")(f)
	}
	if d.elsewhere && len(s.Entries) > before {
		s.Entries[before].Apps = []int{5}
	}
	if d.allowed {
		allow(apiclient.KindCountry, country)(f)
	}
	if d.stopped > 0 {
		stopped(d.stopped, source.IP)(f)
	}
}

// check holds a headline against what was generated. The last hit got through at 03:20.
func check(t *rapid.T, f call.Situation, all []drawn, patchedUntil int) {
	covered, last, hits := true, patchedUntil, int64(0)
	ofProxies := false // such an entry is for whatever was seen stopped and is in no other
	for _, d := range all {
		ofProxies = ofProxies || d.denied == "proxy" && !d.elsewhere
	}
	allowed := false
	for i, d := range all {
		last, allowed = max(last, d.stopped), allowed || d.allowed
		denied := !d.elsewhere && d.denied != "" && d.denied != "proxy" || ofProxies &&
			(d.denied == "" || d.denied == "proxy") && d.stopped > 0
		if denied {
			hits += f.Attack.Sources[i].Hits.N
		}
		covered = covered && denied && !d.allowed && d.stopped > 20
	}
	f.Others = efficacy.Others(f, 0)
	got := efficacy.Headline(f)
	if covered || patchedUntil > 20 {
		require.NotEqual(t, NotBlocked, got.State, "all that is seen is covered and stopped")
	}
	if f.Paused {
		require.Contains(t, []State{Mitigated, Quiet}, got.State)
	}
	if got.State == Mitigated {
		require.True(t, f.Paused)
		require.Greater(t, last, 20, "something was stopped since a hit got through")
		require.False(t, allowed)
		require.True(t, patchedUntil > 20 || hits == f.Attack.Hits.N, "%d hits of %v are of denied sources", hits,
			f.Attack.Hits)
	}
	require.Equal(t, record.SeverityHigh, got.Severity)
}
