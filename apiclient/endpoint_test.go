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
		Conditions: []apiclient.Condition{{Type: "equal", Value: "4", Point: apiclient.Part{"instance"}}, {Type: "absent", Point: apiclient.Part{"path", "0"}}}}
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

// endpoint is one method with what sending its request does.
type endpoint struct {
	name, effect string // read, change, once
	call         func(context.Context, *apiclient.Client) error
}

func ignore[T any](_ T, err error) error { return err }

func endpoints() []endpoint {
	from := time.Unix(1795000000, 500)
	return []endpoint{
		{"user", "read", func(ctx context.Context, c *apiclient.Client) error { return ignore(c.User(ctx)) }},
		{"attacks", "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.Attacks(ctx, apiclient.AttackFilter{From: from})))
			}},
		{"incidents", "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.Attacks(ctx, apiclient.AttackFilter{IncidentsOnly: true, PageSize: 7})))
			}},
		{"attacks by day", "read",
			func(ctx context.Context, c *apiclient.Client) error { return ignore(c.AttackDays(ctx, 168)) }},
		{"vulnerabilities", "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.Vulnerabilities(ctx, true)))
			}},
		{"rules", "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.Rules(ctx, 7)))
			}},
		{"conditions", "read",
			func(ctx context.Context, c *apiclient.Client) error { return ignore(drain(c.ConditionSets(ctx))) }},
		{"patch", "once",
			func(ctx context.Context, c *apiclient.Client) error { return ignore(c.CreateRule(ctx, patch())) }},
		{"mode", "once",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(c.CreateRule(ctx, apiclient.Rule{Type: apiclient.RuleMode, Mode: apiclient.ModeBlock}))
			}},
		{"indicator", "once",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(c.CreateRule(ctx, apiclient.Rule{Type: apiclient.RuleRegex, Comment: "c", Regex: "a<b", AttackType: "vpatch", Point: apiclient.Point{{"header", "X"}}}))
			}},
		{"unrule", "change",
			func(ctx context.Context, c *apiclient.Client) error { return c.DeleteRule(ctx, 7) }},
		{"lists", "read",
			func(ctx context.Context, c *apiclient.Client) error {
				return ignore(drain(c.IPRules(ctx, "black")))
			}},
		{"deny", "once",
			func(ctx context.Context, c *apiclient.Client) error { return ignore(c.AddIPRule(ctx, denial(), true)) }},
		{"deny country", "once",
			func(ctx context.Context, c *apiclient.Client) error {
				r := apiclient.IPRule{List: apiclient.ListGray, Kind: apiclient.KindCountry, Values: []string{"FR", "DE"}, Apps: []int{4, -1}, Expires: apiclient.Forever.Add(time.Hour)}
				return ignore(c.AddIPRule(ctx, r, false))
			}},
		{"remove", "once",
			func(ctx context.Context, c *apiclient.Client) error { return c.DeleteIPRules(ctx, 7, 8) }},
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
	rules, err := drain(c.Rules(t.Context(), 0))
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
	entries, err := drain(c.IPRules(t.Context(), ""))
	require.NoError(t, err)
	require.Equal(t, []apiclient.IPRule{want}, entries)
	require.NoError(t, c.DeleteIPRules(t.Context(), entry.ID))
	entries, err = drain(c.IPRules(t.Context(), ""))
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
