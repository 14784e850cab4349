package poller_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/poller"
)

func TestWhatGoesOn(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	goesOn := func(p *poller.Poller, ids ...string) bool {
		return p.GoesOn(func(id string) bool { return slices.Contains(ids, id) })
	}
	trying := func(p *poller.Poller, ip string) bool {
		return p.StillTrying([]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr(ip)})
	}
	a.add("x:1", 0)
	a.add("x:over", 16*time.Minute)
	a.add("x:false", 0, func(r *attackRecord) { r.state = "falsepositive" })
	require.NoError(t, p.Poll(t.Context()))
	require.True(t, goesOn(p, "x:0", "x:1"))
	require.False(t, goesOn(p, "x:over", "x:false", "x:0"))
	require.False(t, trying(p, "203.0.113.7"))

	a.at(20 * time.Minute)
	require.NoError(t, p.Poll(t.Context()))
	require.False(t, goesOn(p, "x:1"), "on the service's clock")
	a.add("denied:1", 14*time.Minute, func(r *attackRecord) { r.typ, r.status = "blocked_source", "blocked" })
	require.NoError(t, p.Poll(t.Context()))
	require.True(t, goesOn(p, "x:1"), "its source is still trying")
	require.False(t, goesOn(p, "denied:1"), "that is its result")
	require.True(t, trying(p, "203.0.113.7"))
	require.True(t, trying(p, "::ffff:203.0.113.7"))
	require.False(t, trying(p, "203.0.113.8"))
	another := a.start()
	require.False(t, trying(another, "203.0.113.7"))
	require.NoError(t, another.Poll(t.Context()))
	require.True(t, trying(another, "203.0.113.7"), "the replica that takes over reads it again")

	a.at(22 * time.Minute)
	require.NoError(t, p.Poll(t.Context()))
	require.False(t, trying(p, "203.0.113.7"))
	require.False(t, goesOn(p, "x:1"))
}
