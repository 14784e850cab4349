package waf_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// FuzzRequests sends whatever body to every endpoint: the answer is always JSON, never a panic, and never a server error.
func FuzzRequests(f *testing.F) {
	f.Add(`{"filter":{"clientid":[5],"id":[1],"time":[[1,null]],"!vulnid":null},"order_by":"hits","limit":1}`)
	f.Add(`{"clientid":5,"force":true,"ip_rule":{"list":"black","rule_type":"ip_range","subnet":"1.2.3.4","pools":[0],"expired_at":33223139044}}`)
	f.Add(patch(`[["post"],["json_doc"],["array",0],["hash","x"]]`, "sqli", onLogin))
	f.Add(patch(`[["header",{}]]`, "any", `[{"type":"equal","value":"","point":[["path"],0]}]`))
	f.Add(`{"preset":"none","select":["status"],"time_range":"-9223372036854775807h"}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := newWorld(t)
		w.start(waf.AttackSpec{})
		for _, path := range []string{
			"/v1/user", "/v1/objects/attack", "/v1/objects/vuln", "/v1/objects/hint", "/v1/objects/action", "/v1/objects/hint/create",
			"/v1/objects/hint/delete", "/v4/ip_rules", "/v1/client/5/attack-vectors/security-agg/query",
		} {
			code, text := w.request("POST", path, body)
			require.Less(t, code, 500)
			require.True(t, json.Valid([]byte(text)))
		}
		w.request("DELETE", "/v4/ip_rules", body)
		w.pass(200 * time.Second)
		w.state()
	})
}

func TestUseAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attack := w.start(waf.AttackSpec{})
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for j := range 20 {
				w.add("black", fmt.Sprintf("198.51.%d.%d", i, j))
				w.pass(time.Second)
				assert.NoError(t, w.AddHits(attack.ID, 5))
				w.list(attacks, `{"filter":{"clientid":[5]}}`)
				w.state()
				w.Denied("acme", "203.0.113.7")
			}
		})
	}
	users.Wait()
	require.EqualValues(t, 1+8*20*(2+5), w.state().Attacks[0].Hits)
}
