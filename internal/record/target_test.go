package record_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

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

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, r := range []record.Role{record.Viewer, record.Responder, record.Admin} {
		got, ok := record.ParseRole(strings.ToUpper(r.String()))
		require.True(t, ok)
		require.Equal(t, r, got)
	}
	for _, name := range []string{"", "none", "owner"} {
		_, ok := record.ParseRole(name)
		require.False(t, ok, name)
	}
}
