package apiclient_test

import (
	"context"
	"iter"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

var until = time.Unix(1795003600, 0).UTC()

func denial() apiclient.IPRule {
	return apiclient.IPRule{List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.7/32"), Reason: "wafbot 1", Expires: until}
}

func patch() apiclient.Rule {
	return apiclient.Rule{Type: apiclient.RulePatch, AttackType: "sqli", Point: apiclient.Point{{"post"}, {"form_urlencoded", "login"}},
		Conditions: []apiclient.Condition{{Type: "equal", Value: "4", Point: []any{"instance"}}, {Type: "absent", Point: []any{"path", 0}}}}
}

func drain[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for v, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

// endpoint is one method with one exact request.
type endpoint struct {
	name, line, body string
	effect           string // read, change, once
	call             func(context.Context, *apiclient.Client) error
}

func ignore[T any](_ T, err error) error { return err }

func endpoints() []endpoint {
	from := time.Unix(1795000000, 500)
	return []endpoint{
		{"user", "POST /v1/user", `{}`, "read", func(ctx context.Context, c *apiclient.Client) error { return ignore(c.User(ctx)) }},
		{"attacks", "POST /v1/objects/attack", `{"filter":{"clientid":[5],"time":[[1795000000,null]]},"offset":0,"limit":100,"order_by":"last_time","order_desc":true}`, "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.Attacks(ctx, apiclient.AttackFilter{From: from})))
			}},
		{"incidents", "POST /v1/objects/attack", `{"filter":{"clientid":[5],"time":[[0,null]],"!vulnid":null},"offset":0,"limit":7,"order_by":"last_time","order_desc":true}`, "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.Attacks(ctx, apiclient.AttackFilter{IncidentsOnly: true, PageSize: 7})))
			}},
		{"attacks by day", "POST /v1/client/5/attack-vectors/security-agg/query", `{"preset":"none","select":["attack_types","hosts","status"],"time_range":"-168h","limit":100}`, "read",
			func(ctx context.Context, c *apiclient.Client) error { return ignore(c.AttackDays(ctx, 168)) }},
		{"vulnerabilities", "POST /v1/objects/vuln", `{"filter":{"clientid":[5],"testrun_id":null,"validated":true,"time":[[0,null]]},"offset":0,"limit":100}`, "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.Vulnerabilities(ctx, apiclient.VulnFilter{ActiveOnly: true})))
			}},
		{"rules", "POST /v1/objects/hint", `{"filter":{"clientid":[5],"actionid":7},"offset":0,"limit":1000,"order_by":"updated_at","order_desc":true}`, "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.Rules(ctx, apiclient.RuleFilter{ConditionID: 7})))
			}},
		{"conditions", "POST /v1/objects/action", `{"filter":{"clientid":[5]},"offset":0,"limit":1000}`, "read",
			func(ctx context.Context, c *apiclient.Client) error { return ignore(drain(c.ConditionSets(ctx))) }},
		{"patch", "POST /v1/objects/hint/create", `{"clientid":5,"type":"vpatch","action":[{"type":"equal","value":"4","point":["instance"]},{"type":"absent","value":null,"point":["path",0]}],"validated":false,"point":[["post"],["form_urlencoded","login"]],"attack_type":"sqli"}`, "once",
			func(ctx context.Context, c *apiclient.Client) error { return ignore(c.CreateRule(ctx, patch())) }},
		{"mode", "POST /v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"block","validated":false,"action":[]}`, "once",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(c.CreateRule(ctx, apiclient.Rule{Type: apiclient.RuleMode, Mode: apiclient.ModeBlock}))
			}},
		{"indicator", "POST /v1/objects/hint/create", `{"clientid":5,"type":"regex","action":[],"validated":false,"comment":"c","point":[["header","X"]],"attack_type":"vpatch","regex":"a<b"}`, "once",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(c.CreateRule(ctx, apiclient.Rule{Type: apiclient.RuleRegex, Comment: "c", Regex: "a<b", AttackType: "vpatch", Point: apiclient.Point{{"header", "X"}}}))
			}},
		{"unrule", "POST /v1/objects/hint/delete", `{"filter":{"clientid":[5],"id":7}}`, "change",
			func(ctx context.Context, c *apiclient.Client) error { return c.DeleteRule(ctx, 7) }},
		{"lists", "GET /v4/ip_rules?filter%5Bclientid%5D=5&filter%5Blist%5D=black&limit=300&offset=0", ``, "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.IPRules(ctx, apiclient.IPRuleFilter{List: "black"})))
			}},
		{"deny", "POST /v4/ip_rules", `{"clientid":5,"force":true,"ip_rule":{"list":"black","rule_type":"ip_range","subnet":"203.0.113.7/32","pools":[0],"expired_at":1795003600,"reason":"wafbot 1"}}`, "once",
			func(ctx context.Context, c *apiclient.Client) error { return ignore(c.AddIPRule(ctx, denial(), true)) }},
		{"deny country", "POST /v4/ip_rules", `{"clientid":5,"force":false,"ip_rule":{"list":"gray","rule_type":"country","source_values":["FR","DE"],"pools":[4,-1],"expired_at":33223139044}}`, "once",
			func(ctx context.Context, c *apiclient.Client) error {
				r := apiclient.IPRule{List: apiclient.ListGray, Kind: apiclient.KindCountry, Values: []string{"FR", "DE"}, Apps: []int{4, -1}, Expires: apiclient.Forever.Add(time.Hour)}
				return ignore(c.AddIPRule(ctx, r, false))
			}},
		{"remove", "DELETE /v4/ip_rules", `{"filter":{"clientid":5,"id":[7,8]}}`, "once",
			func(ctx context.Context, c *apiclient.Client) error { return c.DeleteIPRules(ctx, 7, 8) }},
	}
}

func TestEachCallSendsExactlyItsRequest(t *testing.T) {
	t.Parallel()
	for _, e := range endpoints() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			if e.name == "unrule" {
				s.lists["/v1/objects/hint"] = objects(t, `[{"id":7}]`)
			}
			c := s.start()
			require.NoError(t, e.call(t.Context(), c))
			got := s.requests()
			require.Len(t, got, 1)
			require.Equal(t, e.line, got[0].Line)
			require.Equal(t, goodToken, got[0].Token)
			if e.body == "" {
				require.Empty(t, got[0].Body)
				return
			}
			require.JSONEq(t, e.body, got[0].Body)
		})
	}
}

func TestChangesAreSeenByTheNextListing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.start()

	made, err := c.CreateRule(t.Context(), patch())
	require.NoError(t, err)
	require.Equal(t, int64(101), made.ID)
	require.Equal(t, int64(7), made.ConditionID)
	require.Equal(t, patch().Point, made.Point) // it came back flat
	rules, err := drain(c.Rules(t.Context(), apiclient.RuleFilter{}))
	require.NoError(t, err)
	require.Len(t, rules, 1)
	require.True(t, apiclient.SameRule(patch(), rules[0]))
	require.NoError(t, c.DeleteRule(t.Context(), made.ID))
	err = c.DeleteRule(t.Context(), made.ID)
	require.Equal(t, apiclient.NotFound, apiclient.KindOf(err))
	require.False(t, outcomeUnknown(t, err))

	entry, err := c.AddIPRule(t.Context(), denial(), false)
	require.NoError(t, err)
	want := denial()
	want.ID, want.Author, want.Apps = 102, "client", []int{apiclient.AllApps}
	require.Equal(t, want, entry)
	entries, err := drain(c.IPRules(t.Context(), apiclient.IPRuleFilter{}))
	require.NoError(t, err)
	require.Equal(t, []apiclient.IPRule{want}, entries)
	require.NoError(t, c.DeleteIPRules(t.Context(), entry.ID))
	entries, err = drain(c.IPRules(t.Context(), apiclient.IPRuleFilter{}))
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestIncompleteChangesAreRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.start()
	add := func(change func(*apiclient.IPRule)) error {
		r := denial()
		change(&r)
		return ignore(c.AddIPRule(t.Context(), r, true))
	}
	for field, err := range map[string]error{
		"id":            c.DeleteIPRules(t.Context()),
		"list":          add(func(r *apiclient.IPRule) { r.List = "blue" }),
		"rule_type":     add(func(r *apiclient.IPRule) { r.Kind = "" }),
		"expired_at":    add(func(r *apiclient.IPRule) { r.Expires = time.Time{} }),
		"subnet":        add(func(r *apiclient.IPRule) { r.Subnet = netip.Prefix{} }),
		"source_values": add(func(r *apiclient.IPRule) { r.Kind, r.Subnet = apiclient.KindProxy, netip.Prefix{} }),
		"mode":          ignore(c.CreateRule(t.Context(), apiclient.Rule{Type: apiclient.RuleMode})),
		"point":         ignore(c.CreateRule(t.Context(), apiclient.Rule{Type: apiclient.RulePatch})),
		"regex":         ignore(c.CreateRule(t.Context(), apiclient.Rule{Type: apiclient.RuleRegex})),
		"type":          ignore(c.CreateRule(t.Context(), apiclient.Rule{Type: "overlimit"})),
	} {
		require.Equal(t, apiclient.Invalid, apiclient.KindOf(err), field)
		require.Contains(t, asError(t, err).Fields, field)
		require.False(t, outcomeUnknown(t, err))
	}
	for _, wide := range []string{"0.0.0.0/0", "10.0.0.0/11", "::/0", "2001::/31", "::ffff:0:0/90", "::ffff:10.0.0.0/104"} {
		err := add(func(r *apiclient.IPRule) { r.Subnet = netip.MustParsePrefix(wide) })
		require.Equal(t, apiclient.Invalid, apiclient.KindOf(err), wide)
	}
	require.Error(t, c.DeleteIPRules(t.Context(), 7, 0))
	require.Error(t, c.DeleteRule(t.Context(), 0))
	require.Empty(t, s.requests())
}

func TestClientIDIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.start(func(cfg *apiclient.Config) { cfg.ClientID = 0 })
	done := make(chan error)
	for range 8 {
		go func() { done <- ignore(c.AddIPRule(t.Context(), denial(), true)) }()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
	users := 0
	for _, r := range s.requests() {
		if r.Line == "POST /v1/user" {
			users++
		}
	}
	require.Equal(t, 1, users)

	u, err := c.User(t.Context())
	require.NoError(t, err)
	require.Equal(t, apiclient.User{ClientID: 5, ClientName: "Acme", Enabled: true}, u)
}
