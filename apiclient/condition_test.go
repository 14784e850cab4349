package apiclient_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
)

func eq(value string, point ...any) apiclient.Condition {
	return apiclient.Condition{Type: "equal", Value: value, Point: part(point)}
}

func none(point ...any) apiclient.Condition {
	return apiclient.Condition{Type: "absent", Point: part(point)}
}

func part(items []any) (p apiclient.Part) {
	for _, item := range items {
		p = append(p, fmt.Sprint(item))
	}
	return p
}

func TestPathsBecomeConditions(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]apiclient.Condition{
		"":           nil,
		"/**/*.*":    nil,
		"/":          {eq("", "action_name"), none("action_ext"), none("path", 0)},
		"/users":     {eq("users", "action_name"), none("action_ext"), none("path", 0)},
		"/api/users": {eq("api", "path", 0), none("path", 1), eq("users", "action_name"), none("action_ext")},
		"/api/":      {eq("api", "path", 0), none("path", 1), eq("", "action_name"), none("action_ext")},
		"/a/b/c.php": {eq("a", "path", 0), eq("b", "path", 1), none("path", 2), eq("c", "action_name"), eq("php", "action_ext")},
		"/c.tar.gz":  {none("path", 0), eq("c", "action_name"), eq("tar.gz", "action_ext")},
	} {
		got, err := apiclient.ScopeConditions(apiclient.Scope{Path: path})
		require.NoError(t, err, path)
		require.ElementsMatch(t, want, got, path)
		back, ok := apiclient.ConditionsScope(got)
		require.True(t, ok, path)
		require.Equal(t, strings.TrimPrefix(path, "/**/*.*"), back.Path)
	}
}

func TestAScopeGoesThereAndBack(t *testing.T) {
	t.Parallel()
	scope := apiclient.Scope{App: apiclient.Known(apiclient.DefaultApp), Host: "Shop.example.com:8443", Path: "/login", Method: "post"}
	cs, err := apiclient.ScopeConditions(scope)
	require.NoError(t, err)
	require.ElementsMatch(t, []apiclient.Condition{eq("-1", "instance"), eq("shop.example.com:8443", "header", "HOST"), eq("POST", "method"),
		eq("login", "action_name"), none("action_ext"), none("path", 0)}, cs)

	// as it comes back from the service, and from a store as JSON
	for i := range cs {
		if len(cs[i].Point) == 2 && cs[i].Point[0] == "header" {
			cs[i].Type, cs[i].Point[1] = "iequal", "host"
		}
	}
	text, err := json.Marshal(cs)
	require.NoError(t, err)
	var stored []apiclient.Condition
	require.NoError(t, json.Unmarshal(text, &stored))
	back, ok := apiclient.ConditionsScope(stored)
	require.True(t, ok)
	require.Equal(t, apiclient.Scope{App: apiclient.Known(-1), Host: "shop.example.com:8443", Path: "/login", Method: "POST"}, back)
}

func TestScopesThatCanNotBeExpressedAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []apiclient.Scope{
		{Path: "[multiple]"}, {Path: "/[multiple]"}, {Path: "login"}, {Path: "/a?b=c"}, {Path: "/a#b"}, {Path: "/a/*/b"}, {Path: "/a*"}, {Path: "/a/*b"}, {Path: "/a/**/b/c"}, {Path: "/**.php"}, {Path: "/a.*.*"}, {Path: "/***"},
		{Path: "//a"}, {Path: "/a\n"}, {Path: "*"}, {Host: "*.example.com"}, {Host: "[multiple]"}, {Host: "a/b"}, {Host: "a b"}, {Host: "u@h"},
		{Method: "GET POST"}, {Method: "*"}, {App: apiclient.Known(apiclient.AllApps)}, {App: apiclient.Known(-2)},
	} {
		_, err := apiclient.ScopeConditions(s)
		require.Error(t, err, "%+v", s)
	}
	_, err := apiclient.ScopeConditions(apiclient.Scope{Host: "[2001:db8::1]:443"})
	require.NoError(t, err)
}

func TestConditionsOfAnotherFormHaveNoScope(t *testing.T) {
	t.Parallel()
	for name, cs := range map[string][]apiclient.Condition{
		"regex":            {{Type: "regex", Value: "a", Point: apiclient.Part{"action_name"}}},
		"another header":   {eq("x", "header", "X-ID")},
		"uri":              {eq("/a", "uri")},
		"a hole":           {eq("b", "path", 1)},
		"the end is wrong": {eq("a", "path", 0), none("path", 2)},
		"a segment is **":  {eq("**", "path", 0)},
		"ext is the star":  {eq("*", "action_ext")},
		"name any case":    {{Type: "iequal", Value: "a", Point: apiclient.Part{"action_name"}}},
		"ext by regex":     {{Type: "regex", Value: "php[0-9]", Point: apiclient.Part{"action_ext"}}},
		"absent name":      {none("action_name")},
		"a query":          {eq("1", "get", "q")},
		"scheme":           {eq("https", "scheme")},
		"host by regex":    {{Type: "regex", Value: "[.]example[.]com$", Point: apiclient.Part{"header", "HOST"}}},
		"no host":          {none("header", "HOST")},
		"two hosts":        {eq("a", "header", "HOST"), eq("b", "header", "HOST")},
		"odd instance":     {eq("04", "instance")},
		"path any case":    {{Type: "iequal", Value: "a", Point: apiclient.Part{"path", "0"}}},
		"unreadable":       {{}},
		"only an absence":  {none("path", 1)},
		"name with a dot":  {eq("a.b", "action_name"), none("action_ext"), none("path", 0)},
		"name is the star": {eq("*", "action_name"), none("action_ext"), none("path", 0)},
		"lower method":     {eq("post", "method")},
	} {
		_, ok := apiclient.ConditionsScope(cs)
		require.False(t, ok, name)
	}
}

func TestScopesSurviveTheWayThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := apiclient.Scope{Host: rapid.SampledFrom([]string{"", "a.b", "x:1"}).Draw(t, "host"), Path: rapid.StringMatching(`|/([a-zé %._]{1,4}/){0,3}([a-z.]{0,6}|\*|\*\*/\*\.\*)`).Draw(t, "path")}
		if rapid.Bool().Draw(t, "app") {
			s.App = apiclient.Known(rapid.Int64Range(1, 9).Draw(t, "id"))
		}
		cs, err := apiclient.ScopeConditions(s)
		require.NoError(t, err)
		back, ok := apiclient.ConditionsScope(cs)
		require.True(t, ok)
		if s.Path == "/**/*.*" {
			s.Path = ""
		}
		require.Equal(t, s, back)
		shuffled := rapid.Permutation(cs).Draw(t, "order")
		require.True(t, sameConditions(cs, shuffled))
	})
}

// sameConditions reports whether two rules that differ in their conditions at most are the same.
func sameConditions(a, b []apiclient.Condition) bool {
	return apiclient.SameRule(apiclient.Rule{Conditions: a}, apiclient.Rule{Conditions: b})
}

func TestSameConditionsAndRules(t *testing.T) {
	t.Parallel()
	a := []apiclient.Condition{eq("Shop.Example.com", "header", "host"), eq("a", "path", 0), none("action_ext")}
	b := []apiclient.Condition{{Type: "absent", Value: "null", Point: apiclient.Part{"action_ext"}}, eq("a", "path", 0.0), {Type: "iequal", Value: "shop.example.com", Point: apiclient.Part{"header", "HOST"}}}
	require.True(t, sameConditions(a, b))
	b[1].Point = apiclient.Part{"path", "0"}
	require.True(t, sameConditions(a, b))
	require.True(t, sameConditions(nil, []apiclient.Condition{}))
	for _, other := range [][]apiclient.Condition{nil, a[:2], {a[0], eq("A", "path", 0), a[2]}, {a[0], eq("a", "path", 1), a[2]}, {a[0], {Type: "iequal", Value: "a", Point: apiclient.Part{"path", "0"}}, a[2]}} {
		require.False(t, sameConditions(a, other))
	}
	require.False(t, sameConditions([]apiclient.Condition{eq("a\x00b", "uri")}, []apiclient.Condition{eq("a", "b", "uri")}))

	rule := apiclient.Rule{ID: 1, Type: "vpatch", Conditions: a, Point: apiclient.Point{{"header", "x-id"}}, AttackType: "sqli", Comment: "mine"}
	same := apiclient.Rule{ID: 2, Type: "vpatch", Conditions: b, Point: apiclient.Point{{"header", "X-ID"}}, AttackType: "sqli"}
	require.True(t, apiclient.SameRule(rule, same))
	named := func(value, kind string) []apiclient.Condition {
		return []apiclient.Condition{{Type: kind, Value: value, Point: apiclient.Part{"action_name"}}}
	}
	require.True(t, sameConditions(named("Login", "iequal"), named("login", "iequal")))
	require.False(t, sameConditions(named("Login", "equal"), named("login", "equal")))
	require.False(t, sameConditions(named("login", "iequal"), named("login", "equal")))
	for _, change := range []func(*apiclient.Rule){
		func(r *apiclient.Rule) { r.Type = "regex" }, func(r *apiclient.Rule) { r.AttackType = "any" }, func(r *apiclient.Rule) { r.Regex = "x" },
		func(r *apiclient.Rule) { r.Mode = "off" }, func(r *apiclient.Rule) { r.Point = nil }, func(r *apiclient.Rule) { r.Conditions = b[:2] },
	} {
		other := same
		change(&other)
		require.False(t, apiclient.SameRule(rule, other))
	}
}
