package waf_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestManySlowAttacksDontHitInBursts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 500 {
		w.start(waf.AttackSpec{Path: fmt.Sprintf("/item%d", i), Sources: []waf.SourceSpec{{IP: "203.0.113.7", PerSecond: 0.04}}})
	}
	for range 60 {
		w.pass(time.Second)
	}
	points := w.state().Traffic
	for _, point := range points[len(points)-50 : len(points)-1] {
		require.InDelta(t, 20, point.Through, 3)
	}
}

func TestAllAttacksOfAnAccountEndAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(twoSources())
	w.start(waf.AttackSpec{Path: "/b"})
	other := w.start(waf.AttackSpec{Account: "globex", App: -1, Host: "x.example.net"})
	stopped, err := w.StopAttacks("acme")
	require.NoError(t, err)
	require.Equal(t, 2, stopped)
	stopped, err = w.StopAttacks("")
	require.NoError(t, err)
	require.Equal(t, 1, stopped, "%s ran on until now", other.ID)
	_, err = w.StopAttacks("nobody")
	require.ErrorContains(t, err, "nobody")
}

func TestAFaultEndsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lost := waf.Fault{Account: "acme", Endpoint: "POST /v4/ip_rules", Kind: "status:403", Times: 3}
	require.NoError(t, w.SetFault(lost))
	require.NoError(t, w.SetFault(waf.Fault{Kind: "slow"}))
	lost.Times = 0
	w.ClearFault(lost)
	require.Equal(t, []waf.Fault{{Kind: "slow"}}, w.Faults())
}

func TestAnEntryHasTheTimeItIsInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(twoSources())
	made := w.now()
	entry := w.add("black", "203.0.113.7")
	require.Equal(t, waf.Force{Listed: true, InForceAt: made.Add(time.Minute).Unix()}, w.state().IPRules[0].Force)
	w.pass(2 * time.Minute)
	w.body("DELETE", "/v4/ip_rules", fmt.Sprintf(`{"filter":{"clientid":5,"id":[%v]}}`, entry["id"]))
	require.Equal(t, waf.Force{InForce: true, InForceAt: made.Add(time.Minute).Unix(), EndsAt: made.Add(3 * time.Minute).Unix()}, w.state().IPRules[0].Force)
}
