package policy_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

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

// An attack from such an address isn't kept silent with that of a source, and the source is named.
func TestAttacksOfEmbeddedAddressesHaveCards(t *testing.T) {
	t.Parallel()
	quiet := config.Source{Name: "pen test", Deny: config.DenyApproval, Ranges: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}}
	p := policy.Policy{Sources: func() []config.Source { return []config.Source{quiet} }}
	from := func(ip string) apiclient.Attack {
		return apiclient.Attack{Sources: []apiclient.Source{{IP: netip.MustParseAddr(ip)}}, SourceCount: apiclient.Known(int64(1))}
	}
	require.True(t, p.Cardless(from("203.0.113.7")))
	require.False(t, p.Cardless(from("2002:cb00:7107::1")))
	named, ok := p.SourceOf(apiclient.Source{IP: netip.MustParseAddr("2002:cb00:7107::1")})
	require.True(t, ok)
	require.Equal(t, "pen test", named.Name)
}
