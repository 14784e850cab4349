package waf_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

const (
	onShop  = `[{"type":"equal","value":"4","point":["instance"]}]`
	onLogin = `[{"type":"equal","value":"login","point":["action_name"]},{"type":"absent","value":null,"point":["action_ext"]},` +
		`{"type":"absent","value":null,"point":["path",0]},{"type":"equal","value":"SHOP.example.com","point":["header","host"]},` +
		`{"type":"equal","value":"4","point":["instance"]}]`
)

func (w *world) createRule(body string) map[string]any {
	w.t.Helper()
	return w.body("POST", "/v1/objects/hint/create", body).(map[string]any)
}

func patch(point, attackType, action string) string {
	return fmt.Sprintf(`{"clientid":5,"type":"vpatch","validated":false,"point":%s,"attack_type":%q,"action":%s}`, point, attackType, action)
}

func TestRuleRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	created := w.createRule(patch(`[["header","host"]]`, "sqli", onLogin))
	require.Equal(t, []any{"header", "HOST"}, created["point"], "flat when read")
	listed := w.list("/v1/objects/hint", fmt.Sprintf(
		`{"filter":{"clientid":[5],"actionid":%v},"order_by":"updated_at","order_desc":true,"limit":1000,"offset":0}`, created["actionid"]))
	require.Equal(t, []map[string]any{created}, listed)
	require.Contains(t, created["action"], map[string]any{
		"type": "iequal", "value": "shop.example.com", "point": []any{"header", "HOST"},
	})
	conditions := w.list("/v1/objects/action", `{"filter":{"clientid":[5]},"limit":1000,"offset":0}`)
	last := conditions[len(conditions)-1]
	require.Equal(t, created["actionid"], last["id"])
	require.Equal(t, created["action"], last["conditions"])

	remove := fmt.Sprintf(`{"filter":{"clientid":[5],"id":%v}}`, created["id"])
	require.Equal(t, []map[string]any{created}, w.list("/v1/objects/hint/delete", remove))
	require.Empty(t, w.list("/v1/objects/hint/delete", remove), "200 with an empty list")
}

func TestOneConditionSetHasOneActionID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const two = `{"type":"equal","value":"4","point":["instance"]}`
	const one = `{"type":"equal","value":"api","point":["path",0]}`
	first := w.createRule(patch(`[["uri"]]`, "any", "["+one+","+two+"]"))
	second := w.createRule(patch(`[["uri"]]`, "any", "["+two+","+one+"]"))
	require.Equal(t, first["actionid"], second["actionid"])
	require.NotEqual(t, first["id"], second["id"], "the same rule twice makes two")
	other := w.createRule(patch(`[["uri"]]`, "any", "["+one+"]"))
	require.NotEqual(t, first["actionid"], other["actionid"])
}

func TestRulesRefused(t *testing.T) {
	t.Parallel()
	const regex = `{"clientid":5,"type":"regex","validated":false,"action":[],"point":[["header","X"]],"attack_type":"vpatch"`
	for name, c := range map[string]struct{ body, field string }{
		"unknown type":       {`{"clientid":5,"type":"brute"}`, "type"},
		"no action":          {`{"clientid":5,"type":"service_mode","mode":"block","validated":false}`, "action"},
		"no validated":       {`{"clientid":5,"type":"service_mode","mode":"block","action":[]}`, "validated"},
		"unknown mode":       {`{"clientid":5,"type":"service_mode","mode":"strict","validated":false,"action":[]}`, "mode"},
		"a field too many":   {`{"clientid":5,"type":"service_mode","mode":"block","validated":false,"action":[],"comment":"x"}`, "comment"},
		"client id an array": {`{"clientid":[5],"type":"service_mode","mode":"block","validated":false,"action":[]}`, "clientid"},
		"flat point":         {patch(`["header","HOST"]`, "any", `[]`), "point"},
		"empty point":        {patch(`[]`, "any", `[]`), "point"},
		"unknown point":      {patch(`[["body"]]`, "any", `[]`), "point"},
		"unpatchable type":   {patch(`[["uri"]]`, "brute", `[]`), "attack_type"},
		"unknown instance":   {patch(`[["uri"]]`, "any", `[{"type":"equal","value":"9","point":["instance"]}]`), "action"},
		"index as string":    {patch(`[["uri"]]`, "any", `[{"type":"equal","value":"api","point":["path","0"]}]`), "action"},
		"two segments":       {patch(`[["uri"]]`, "any", `[{"type":"equal","value":"a/b","point":["path",0]}]`), "action"},
		"unknown condition":  {patch(`[["uri"]]`, "any", `[{"type":"like","value":"a","point":["path",0]}]`), "action"},
		"absent with value":  {patch(`[["uri"]]`, "any", `[{"type":"absent","value":"a","point":["path",0]}]`), "action"},
		"equal without":      {patch(`[["uri"]]`, "any", `[{"type":"equal","value":null,"point":["path",0]}]`), "action"},
		"one point twice": {patch(`[["uri"]]`, "any",
			`[{"type":"equal","value":"a","point":["path",0]},{"type":"absent","value":null,"point":["path",0]}]`), "action"},
		"blank comment": {regex + `,"comment":"","regex":"a"}`, "comment"},
		"broken regex":  {regex + `,"regex":"("}`, "regex"},
		"no regex":      {regex + `}`, "regex"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := len(w.state().Rules)
			code, text := w.request("POST", "/v1/objects/hint/create", c.body)
			require.Equal(t, 400, code, text)
			require.Contains(t, text, `"`+c.field+`":{"error":`)
			require.Len(t, w.state().Rules, before)
		})
	}
}

func TestOtherRulesAreListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	types, system := map[any]bool{}, 0
	for _, r := range w.list("/v1/objects/hint", `{"filter":{"clientid":[5]}}`) {
		types[r["type"]] = true
		if r["system"] == true {
			system++
			require.Empty(t, w.list("/v1/objects/hint/delete", fmt.Sprintf(`{"filter":{"clientid":[5],"id":%v}}`, r["id"])))
		}
	}
	require.Greater(t, len(types), 3)
	require.Positive(t, system)
	require.True(t, types["service_mode"], "Legacy is off by a rule")
}

func TestRuleEffectIsDelayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mode := func() string { return w.state().Applications[0].Mode }
	require.Equal(t, "monitoring", mode())
	require.Equal(t, "off", w.state().Applications[1].Mode)
	rule := w.createRule(`{"clientid":5,"type":"service_mode","mode":"block","validated":false,"action":` + onShop + `}`)
	w.pass(179 * time.Second)
	require.Equal(t, "monitoring", mode())
	w.pass(time.Second)
	require.Equal(t, "block", mode())
	w.list("/v1/objects/hint/delete", fmt.Sprintf(`{"filter":{"clientid":[5],"id":%v}}`, rule["id"]))
	w.pass(179 * time.Second)
	require.Equal(t, "block", mode())
	w.pass(time.Second)
	require.Equal(t, "monitoring", mode())
}

func TestWhichModeWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(mode, action string) {
		w.createRule(fmt.Sprintf(`{"clientid":5,"type":"service_mode","mode":%q,"validated":false,"action":%s}`, mode, action))
		w.pass(3 * time.Minute)
	}
	mode := func() string { return w.state().Applications[0].Mode }
	create("safe_blocking", onShop)
	require.Equal(t, "safe_blocking", mode())
	create("block", onShop)
	require.Equal(t, "block", mode(), "among equals the newest")
	create("off", `[]`)
	require.Equal(t, "block", mode(), "the narrower one before the newer one")
	create("default", onShop)
	require.Equal(t, "block", mode(), "default sets nothing")
}

// modesFor are the modes of the rules that are listed for a set of conditions, in the order in which they were made.
func (w *world) modesFor(actionID any) (modes []any) {
	w.t.Helper()
	for _, r := range w.list("/v1/objects/hint", fmt.Sprintf(`{"filter":{"clientid":[5],"actionid":%v}}`, actionID)) {
		if r["type"] == "service_mode" {
			modes = append(modes, r["mode"])
		}
	}
	return modes
}

// Of two mode rules for the same requests the later holds, and the service may remove the earlier without a word: by seed, or as it is told.
func TestASecondModeForTheSameRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mode := func(mode, action string) map[string]any {
		return w.createRule(fmt.Sprintf(`{"clientid":5,"type":"service_mode","mode":%q,"validated":false,"action":%s}`, mode, action))
	}
	kept, removed := 0, 0
	for range 20 {
		before := len(w.modesFor(mode("block", `[{"type":"equal","value":"x","point":["path",0]}]`)["actionid"]))
		if before == 1 {
			removed++
		} else {
			kept++
		}
	}
	require.Positive(t, kept)
	require.Positive(t, removed)

	require.NoError(t, w.SetFault(waf.Fault{Endpoint: "POST /v1/objects/hint/create", Kind: "mode_replaced"}))
	own := mode("off", `[]`)
	require.Equal(t, []any{"off"}, w.modesFor(own["actionid"]), "the account's own, too")
	require.Empty(t, own["action"])
	narrow := mode("block", `[{"type":"equal","value":"4","point":["instance"]},{"type":"equal","value":"x","point":["path",0]}]`)
	require.Equal(t, []any{"block"}, w.modesFor(narrow["actionid"]))
	require.Equal(t, []any{"off"}, w.modesFor(own["actionid"]), "other requests keep theirs")
	w.createRule(patch(`[["uri"]]`, "any", `[]`))
	require.Equal(t, []any{"off"}, w.modesFor(own["actionid"]), "a patch is none")
	w.ClearFaults()
	require.NoError(t, w.SetFault(waf.Fault{Endpoint: "POST /v1/objects/hint/create", Kind: "mode_kept"}))
	for range 5 {
		mode("block", `[]`)
	}
	require.Equal(t, []any{"off", "block", "block", "block", "block", "block"}, w.modesFor(own["actionid"]))
}
