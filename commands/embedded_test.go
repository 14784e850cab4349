package commands_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// within are ways in which IPv6 writes an IPv4 address: each holds 10.1.2.3, then 192.0.2.9 of the CDN, then
// 203.0.113.7.
var within = map[string][3]string{
	"NAT64":            {"64:ff9b::10.1.2.3", "64:ff9b::192.0.2.9", "64:ff9b::203.0.113.7"},
	"NAT64 of its own": {"64:ff9b:1::10.1.2.3", "64:ff9b:1:7:8::192.0.2.9", "64:ff9b:1:ffff::203.0.113.7"},
	"6to4":             {"2002:a01:203::1", "2002:c000:209:1::/64", "2002:cb00:7107::/48"},
	"v4-mapped":        {"::ffff:10.1.2.3", "::ffff:192.0.2.9", "::ffff:203.0.113.7"},
	"SIIT":             {"::ffff:0:10.1.2.3", "::ffff:0:192.0.2.9", "::ffff:0:203.0.113.7"},
	"v4-compatible":    {"::10.1.2.3", "::192.0.2.9", "::203.0.113.7"},
	"Teredo":           {"2001:0:1234:5678:8000:63bf:f5fe:fdfc", "2001:0:4136:e378::3fff:fdf6", "2001::34ff:8ef8"},
	"ISATAP":           {"2001:db8:1::5efe:10.1.2.3", "2001:db8::200:5efe:192.0.2.9", "fd00:1::5efe:cb00:7107"},
}

func TestIPv4WithinIPv6IsGuardedAsSuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sources(cdn), withoutApproval(config.ApproveBroad))
	for name, of := range within {
		for _, verb := range []string{"deny ", "gray "} {
			w.refuses(root, verb+of[0], refusal.ErrGuarded, "private addresses (10.0.0.0/8), which is never denied")
			w.refuses(root, verb+of[1], refusal.ErrGuarded, "our CDN (192.0.2.0/24), which is never denied")
		}
		if name != "ISATAP" { // that of the last one is in a private network
			w.does(ann, "deny "+of[2])
			w.reads(root, "protect "+of[2])
			w.refuses(root, "gray 203.0.113.7", refusal.ErrGuarded, "protected by Root")
			w.refuses(root, "gray 203.0.113.0/24", refusal.ErrGuarded, "protected by Root")
			w.reads(root, "unprotect "+of[2])
			w.reads(root, "protect 203.0.113.0/28 name=door")
			w.refuses(root, "gray "+of[2], refusal.ErrGuarded, "door")
			w.reads(root, "unprotect 203.0.113.0/28")
			w.does(root, "remove "+of[2])
		}
	}
	w.does(ann, "deny 2001:db8::5eff:10.1.2.3") // not quite ISATAP
}

// What is wider than the part of IPv6 that carries IPv4 contains all of it.
func TestRangesThatCarryIPv4AreJudgedByIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sources(cdn))
	for target, words := range map[string]string{
		"2002::/16": "never denied", "2000::/12": "never denied", "2001::/32": "never denied", "2001::/16": "never denied", "64:ff9b::/96": "never denied",
		"64:ff9b:1::/48": "never denied", "64:ff9b:1::/64": "never denied", "64:ff9b::/32": "never denied", "2002:a00::/24": "never denied",
		"64:ff9b::1000:0/100": "stands for 16.0.0.0/4, which is wider than the service takes (/12)", "2001:0:4136:e378::/65": "never denied",
	} {
		w.refuses(root, "deny "+target, refusal.ErrGuarded, words)
		w.refuses(root, "protect "+target, refusal.ErrGuarded, "too wide to be protected")
	}
	w.refuses(root, "deny ::/0", refusal.ErrUsage)
	w.refuses(root, "deny 2002:c000:200::/39", refusal.ErrGuarded, "our CDN")
	w.waits(ann, "deny 64:ff9b::203.0.0.0/112", "64:ff9b::cb00:0/112 stands for 203.0.0.0/16, which is wider than /24")
	w.waits(ann, "deny 2002:cb00::/32", "stands for 203.0.0.0/16, which is wider than /24")
	w.does(ann, "deny 64:ff9b::203.0.113.0/120")
}

// A named range that stands for all of IPv4 doesn't keep every address from being denied.
func TestAWholeCarrierGuardsItselfAlone(t *testing.T) {
	t.Parallel()
	gateway := source("our NAT64", config.DenyNever, "64:ff9b::/96", "2002::/16")
	w := newWorld(t, sources(gateway))
	w.does(ann, "deny 203.0.113.7")
	w.refuses(root, "deny 64:ff9b::203.0.113.7", refusal.ErrGuarded, "our NAT64")
	w.refuses(root, "deny 2002:cb00:7107::1", refusal.ErrGuarded, "our NAT64")
}

// One address, however it is written, is one target: nobody changes it while its outcome isn't known.
func TestOneAddressIsOneTarget(t *testing.T) {
	t.Parallel()
	denied := func(prefix string) []record.Target {
		return record.Change{ID: prefix, Steps: []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix(prefix)}}}}.Targets()
	}
	require.True(t, record.Overlap(denied("203.0.113.7/32"), denied("64:ff9b::203.0.113.7/128")))
	require.True(t, record.Overlap(denied("2002:cb00:7107::/48"), denied("64:ff9b::203.0.113.0/120")))
	require.True(t, record.Overlap(denied("203.0.113.7/32"), []record.Target{record.RangeTarget(netip.MustParsePrefix("::ffff:203.0.113.7/128"))}))
	require.False(t, record.Overlap(denied("203.0.113.8/32"), denied("64:ff9b::203.0.113.7/128")))
	require.False(t, record.Overlap(denied("2001:db8::/64"), denied("203.0.113.7/32")))
}

// An attack from such an address isn't kept silent with that of a source, and the source is named.
func TestAttacksOfEmbeddedAddressesHaveCards(t *testing.T) {
	t.Parallel()
	quiet := source("pen test", config.DenyApproval, "203.0.113.0/24")
	quiet.Cards = false
	p := policy.Policy{Sources: func() []config.Source { return []config.Source{quiet} }}
	from := func(ip string) apiclient.Attack {
		return apiclient.Attack{Sources: []apiclient.Source{{IP: netip.MustParseAddr(ip)}}, SourceCount: apiclient.Known(int64(1))}
	}
	require.True(t, p.Cardless(from("203.0.113.7")))
	require.False(t, p.Cardless(from("2002:cb00:7107::1")))
	named, ok := p.SourceOf(netip.MustParseAddr("2002:cb00:7107::1"))
	require.True(t, ok)
	require.Equal(t, "pen test", named.Name)
}
