package apiclient_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

func TestCoversPatch(t *testing.T) {
	t.Parallel()
	rule := func(kind string, point apiclient.Point, scope apiclient.Scope, without ...int) apiclient.Rule {
		conditions, err := apiclient.ScopeConditions(scope)
		require.NoError(t, err)
		r := apiclient.Rule{Type: apiclient.RulePatch, AttackType: kind, Point: point}
		for i, c := range conditions {
			if len(without) == 0 || i < without[0] {
				r.Conditions = append(r.Conditions, c)
			}
		}
		return r
	}
	login := apiclient.Scope{App: apiclient.Known(4), Host: "shop.example.com", Method: "POST", Path: "/login"}
	q, host := apiclient.Point{{"get", "q"}}, apiclient.Point{{"header", "HOST"}}
	patch := rule("sqli", q, login)
	everyMethod := login
	everyMethod.Method = ""
	other := login
	other.Path = "/logout"
	at := func(path string) apiclient.Rule {
		wide := everyMethod
		wide.Path = path
		return rule("sqli", q, wide)
	}
	for name, tt := range map[string]struct {
		wide   apiclient.Rule
		covers bool
	}{
		"the same":             {patch, true},
		"every method":         {rule("sqli", q, everyMethod), true},
		"everywhere":           {rule("sqli", q, login, 0), true},
		"closed":               {rule("any", host, login), true},
		"any attack there":     {rule("any", q, everyMethod), true},
		"any in another part":  {rule("any", apiclient.Point{{"get", "x"}}, login), false},
		"every path":           {at("/**/*.*"), true},
		"its level":            {at("/*"), true},
		"its name anywhere":    {at("/**/login"), true},
		"below another path":   {at("/login/**/*.*"), false},
		"an extension":         {at("/*.php"), false},
		"another type":         {rule("xss", q, everyMethod), false},
		"another part":         {rule("sqli", apiclient.Point{{"get", "x"}}, everyMethod), false},
		"another path":         {rule("sqli", q, other), false},
		"a host's patch there": {rule("sqli", host, login), false},
		"no patch":             {apiclient.Rule{Type: apiclient.RuleRegex, AttackType: "sqli", Point: q}, false},
	} {
		require.Equal(t, tt.covers, apiclient.CoversPatch(tt.wide, patch), name)
	}
	require.False(t, apiclient.CoversPatch(patch, rule("sqli", q, everyMethod)), "narrower")
	anyCase := rule("sqli", q, login)
	for i, c := range anyCase.Conditions {
		if c.Value == "login" {
			anyCase.Conditions[i].Type, anyCase.Conditions[i].Value = "iequal", "LOGIN"
		}
	}
	require.True(t, apiclient.CoversPatch(anyCase, patch), "in any case")
	require.False(t, apiclient.CoversPatch(patch, anyCase), "in its case only")
}
