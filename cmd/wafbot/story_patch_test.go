package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// throughOwnCDN is an injection whose source is the customers' way in: what denies it denies them.
func throughOwnCDN() waf.AttackSpec {
	return waf.AttackSpec{
		Type: "xss", Method: "GET", Path: "/shop/comments.php", Parameter: "GET_text_value",
		Sources: []waf.SourceSpec{{IP: "192.0.2.10", Country: "DE", PerSecond: 3}}, Started: waf.Duration(2 * time.Minute),
	}
}

// patched is what a request to create a patch asks for.
type patched struct {
	Type       string  `json:"type"`
	AttackType string  `json:"attack_type"`
	Point      [][]any `json:"point"`
	Action     []struct {
		Type  string `json:"type"`
		Point []any  `json:"point"`
		Value any    `json:"value"`
	} `json:"action"`
}

func (w *world) patched() (p patched) {
	w.t.Helper()
	sent := w.sent()
	require.NotEmpty(w.t, sent)
	last := sent[len(sent)-1]
	require.Equal(w.t, "/v1/objects/hint/create", last.Path)
	require.NoError(w.t, json.Unmarshal([]byte(last.Body), &p))
	return p
}

func TestAPatchWhereDenyingIsNotOffered(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		attack := w.attack(throughOwnCDN())
		card := w.card("192.0.2.10 = our CDN")
		require.Contains(t, card.labels(), "Patch")
		card.click("rob", "Patch")
		w.ephemeral("rob", "Patch exactly GET shop.example.com/shop/comments.php, Shop only, field text", "accepted by the service")

		p := w.patched()
		require.Equal(t, []any{"vpatch", "xss", [][]any{{"get", "text"}}}, []any{p.Type, p.AttackType, p.Point})
		scope := map[string]any{}
		for _, c := range p.Action {
			point, err := json.Marshal(c.Point)
			require.NoError(t, err)
			scope[string(point)] = c.Value
			if c.Value == nil {
				require.Equal(t, "absent", c.Type)
			}
		}
		require.Equal(t, map[string]any{
			`["instance"]`: "4", `["header","HOST"]`: "shop.example.com", `["method"]`: "GET",
			`["path",0]`: "shop", `["path",1]`: nil, `["action_name"]`: "comments", `["action_ext"]`: "php",
		}, scope, "exactly the attack's scope")

		w.until("patch in force", func() bool { r := w.rules("acme", "vpatch"); return len(r) == 1 && r[0].InForce })
		require.Zero(t, w.hits(attack, "192.0.2.10").Through)
		card.undo("rob", "Patch exactly")
		card.undone("Rob Diaz")
		require.Empty(t, w.rules("acme", "vpatch"))
		w.until("hits pass again", func() bool { return w.hits(attack, "192.0.2.10").Through > 0 })
	})
}
