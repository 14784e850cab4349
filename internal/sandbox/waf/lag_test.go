package waf_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// patches lists the ids of acme's virtual patches.
func (w *world) patches() (ids []any) {
	w.t.Helper()
	for _, rule := range w.list("/v1/objects/hint", `{"filter":{"clientid":[5]},"limit":1000,"offset":0}`) {
		if rule["type"] == "vpatch" {
			ids = append(ids, rule["id"])
		}
	}
	return ids
}

func TestListingsLagBehindWrites(t *testing.T) {
	t.Parallel()
	w := newLaggingWorld(t, 0)
	entry, rule := w.add("black", "203.0.113.7"), w.createRule(patch(`[["header","host"]]`, "sqli", onLogin))
	require.Empty(t, w.objects(), "a replica lists what was two seconds ago")
	require.Empty(t, w.patches())
	require.Len(t, w.state().IPRules, 1, "the service has it")
	code, _ := w.request("POST", "/v4/ip_rules", w.entry("black", `"ip_range","subnet":"203.0.113.7"`, false))
	require.Equal(t, 400, code, "and refuses it a second time")

	w.advance(1900 * time.Millisecond)
	require.Empty(t, w.objects())
	w.advance(200 * time.Millisecond)
	require.Equal(t, entry["id"], w.objects()[0]["id"])
	require.Equal(t, []any{rule["id"]}, w.patches())

	w.body("POST", "/v4/ip_rules", w.entry("black", `"ip_range","subnet":"203.0.113.7"`, true))
	require.Equal(t, entry["expired_at"], w.objects()[0]["expired_at"], "overwritten, and listed as it was")
	w.advance(3 * time.Second)
	require.Greater(t, w.objects()[0]["expired_at"], entry["expired_at"])

	w.body("DELETE", "/v4/ip_rules", `{"filter":{"clientid":5,"id":[101]}}`)
	w.body("POST", "/v1/objects/hint/delete", `{"filter":{"clientid":[5],"id":[`+fmt.Sprint(rule["id"])+`]}}`)
	require.Len(t, w.objects(), 1, "deleted, and still listed")
	require.Len(t, w.patches(), 1)
	w.advance(3 * time.Second)
	require.Empty(t, w.objects())
	require.Empty(t, w.patches())
}

func TestTheFaultLaggingAddsToTheLag(t *testing.T) {
	t.Parallel()
	w := newLaggingWorld(t, 0)
	w.add("black", "203.0.113.7")
	w.advance(5 * time.Second)
	require.NoError(t, w.SetFault(waf.Fault{Endpoint: "GET /v4/ip_rules", Kind: "lagging", Times: 2}))
	require.Empty(t, w.objects())
	w.advance(6 * time.Second)
	require.Len(t, w.objects(), 1, "10 s after it was written")
	w.add("black", "203.0.113.8")
	w.advance(3 * time.Second)
	require.Len(t, w.objects(), 2, "the fault is used up")
}
