package apiclient_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
)

// Each form of a path with its conditions, and paths that are under it and that are not.
func TestPathsInTheConditionLanguage(t *testing.T) {
	t.Parallel()
	for path, form := range map[string]struct {
		conditions []apiclient.Condition
		under, not []string
	}{
		"/x/*":           {[]apiclient.Condition{eq("x", "path", 0), none("path", 1), none("action_ext")}, []string{"/x/a", "/x/"}, []string{"/x", "/x/a.php", "/x/a/b", "/y/a"}},
		"/x/*.*":         {[]apiclient.Condition{eq("x", "path", 0), none("path", 1)}, []string{"/x/a", "/x/", "/x/a.php"}, []string{"/x", "/x/a/b"}},
		"/x/**/*.*":      {[]apiclient.Condition{eq("x", "path", 0)}, []string{"/x/a", "/x/a/b.php", "/x/"}, []string{"/x", "/", "/y/x/a"}},
		"/my/api/**/*.*": {[]apiclient.Condition{eq("my", "path", 0), eq("api", "path", 1)}, []string{"/my/api/a", "/my/api/a/b"}, []string{"/my/api", "/my/a/b"}},
		"/x/**/*":        {[]apiclient.Condition{eq("x", "path", 0), none("action_ext")}, []string{"/x/a/b"}, []string{"/x/a/b.php", "/x"}},
		"/x/*.php":       {[]apiclient.Condition{eq("x", "path", 0), none("path", 1), eq("php", "action_ext")}, []string{"/x/a.php"}, []string{"/x/a", "/x/a.PHP", "/x/a/b.php"}},
		"/**/*.php":      {[]apiclient.Condition{eq("php", "action_ext")}, []string{"/a.php", "/a/b/c.php"}, []string{"/php", "/a.php/b"}},
		"/x/a.*":         {[]apiclient.Condition{eq("x", "path", 0), none("path", 1), eq("a", "action_name")}, []string{"/x/a", "/x/a.php"}, []string{"/x/b", "/x/y/a"}},
		"/**/login":      {[]apiclient.Condition{eq("login", "action_name"), none("action_ext")}, []string{"/login", "/a/b/login"}, []string{"/login.php", "/login/"}},
		"/a/**/b":        {[]apiclient.Condition{eq("a", "path", 0), eq("b", "action_name"), none("action_ext")}, []string{"/a/b", "/a/x/b"}, []string{"/b", "/a/x/b/c"}},
		"/**/*":          {[]apiclient.Condition{none("action_ext")}, []string{"/", "/a/b"}, []string{"/a.b"}},
		"/*":             {[]apiclient.Condition{none("path", 0), none("action_ext")}, []string{"/", "/a"}, []string{"/a.b", "/a/b"}},
		"/*.*":           {[]apiclient.Condition{none("path", 0)}, []string{"/", "/a", "/a.b"}, []string{"/a/b"}},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got, err := apiclient.ScopeConditions(apiclient.Scope{Path: path})
			require.NoError(t, err)
			require.ElementsMatch(t, form.conditions, got)
			back, ok := apiclient.ConditionsScope(form.conditions)
			require.True(t, ok)
			require.Equal(t, path, back.Path)
			for _, under := range form.under {
				require.Equal(t, apiclient.MetYes, apiclient.ConditionsMet(got, apiclient.Attack{Path: under}), under)
			}
			for _, not := range form.not {
				require.Equal(t, apiclient.MetNo, apiclient.ConditionsMet(got, apiclient.Attack{Path: not}), not)
			}
		})
	}
}

func TestASecondAsteriskAloneIsEverythingBelow(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"/x/**": "/x/**/*.*", "/**": "/**/*.*", "": "/**/*.*"} {
		path, err := apiclient.ParsePath(typed)
		require.NoError(t, err)
		require.Equal(t, want, path.String())
	}
}

// What can be read is written the same, and what conditions say of a path is said by that path alone.
func TestPathsSurviveTheWayThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.StringMatching(`/([a-zé %._*]{1,3}/){0,3}([a-z.*]{0,6})`).Draw(t, "path")
		path, err := apiclient.ParsePath(typed)
		if err != nil {
			require.Contains(t, typed, "*", "anything else can be said")
			return
		}
		again, err := apiclient.ParsePath(path.String())
		require.NoError(t, err)
		require.Equal(t, path, again)
		cs, err := apiclient.ScopeConditions(apiclient.Scope{Path: path.String()})
		require.NoError(t, err)
		back, ok := apiclient.ConditionsScope(cs)
		require.True(t, ok)
		if len(cs) > 0 {
			require.Equal(t, path.String(), back.Path)
		}
	})
}

func TestWhatARecordTellsOfConditions(t *testing.T) {
	t.Parallel()
	a := apiclient.Attack{App: apiclient.Known(-1), Domain: "Shop.example.com", Method: "POST", Path: "/api/v1/users.json"}
	for name, of := range map[string]struct {
		c    apiclient.Condition
		want apiclient.Met
	}{
		"its application":     {eq("-1", "instance"), apiclient.MetYes},
		"another application": {eq("4", "instance"), apiclient.MetNo},
		"its host":            {eq("shop.example.com", "header", "host"), apiclient.MetYes},
		"another host":        {apiclient.Condition{Type: "iequal", Value: "x.example.com", Point: apiclient.Part{"header", "HOST"}}, apiclient.MetNo},
		"its method":          {eq("POST", "method"), apiclient.MetYes},
		"another method":      {eq("GET", "method"), apiclient.MetNo},
		"any case":            {apiclient.Condition{Type: "iequal", Value: "API", Point: apiclient.Part{"path", "0"}}, apiclient.MetYes},
		"this case":           {eq("API", "path", 0), apiclient.MetNo},
		"a segment as text":   {eq("v1", "path", "1"), apiclient.MetYes},
		"the last segment":    {eq("users", "path", 2), apiclient.MetNo},
		"no segment":          {none("path", 1), apiclient.MetNo},
		"an absent header":    {none("header", "X-ID"), apiclient.MetUnknown},
		"a pattern":           {apiclient.Condition{Type: "regex", Value: "users", Point: apiclient.Part{"action_name"}}, apiclient.MetUnknown},
		"the whole address":   {eq("/api/v1/users.json", "uri"), apiclient.MetUnknown},
		"no index":            {eq("api", "path", "x"), apiclient.MetUnknown},
		"an index too few":    {eq("api", "path"), apiclient.MetUnknown},
		"an index too many":   {eq("users", "action_name", 0), apiclient.MetUnknown},
		"unreadable":          {apiclient.Condition{}, apiclient.MetUnknown},
	} {
		require.Equal(t, of.want, apiclient.ConditionsMet([]apiclient.Condition{of.c}, a), name)
	}
	require.Equal(t, apiclient.MetYes, apiclient.ConditionsMet(nil, apiclient.Attack{}))
	for _, path := range []string{"", "[multiple]"} {
		require.Equal(t, apiclient.MetUnknown, apiclient.ConditionsMet([]apiclient.Condition{eq("api", "path", 0)}, apiclient.Attack{Path: path}))
		require.Equal(t, apiclient.MetNo, apiclient.ConditionsMet([]apiclient.Condition{eq("api", "path", 0), eq("GET", "method")}, apiclient.Attack{Path: path, Method: "POST"}))
	}
	for _, c := range []apiclient.Condition{eq("4", "instance"), eq("a", "header", "HOST"), eq("GET", "method")} {
		require.Equal(t, apiclient.MetUnknown, apiclient.ConditionsMet([]apiclient.Condition{c}, apiclient.Attack{Path: "/"}))
	}
}
