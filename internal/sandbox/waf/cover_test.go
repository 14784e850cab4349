package waf_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// conditionsOf writes conditions in short: "path 0=api, action_ext absent".
func conditionsOf(short string) string {
	var items []string
	for item := range strings.SplitSeq(short, ", ") {
		name, value, equal := strings.Cut(item, "=")
		kind, content := "equal", fmt.Sprintf("%q", value)
		if !equal {
			name, kind, content = strings.TrimSuffix(item, " absent"), "absent", "null"
		}
		point := fmt.Sprintf("[%q]", name)
		if index, ok := strings.CutPrefix(name, "path "); ok {
			point = `["path",` + index + `]`
		}
		items = append(items, fmt.Sprintf(`{"type":%q,"value":%s,"point":%s}`, kind, content, point))
	}
	return "[" + strings.Join(items, ",") + "]"
}

func TestPathsCovered(t *testing.T) {
	t.Parallel()
	paths := []string{"/", "/users", "/api/users", "/a/b/c.php", "/my/api", "/my/api/x", "/my/api/x.php", "/my/api/x/y", "/my/api/", "[multiple]"}
	for conditions, covered := range map[string][]string{
		"action_name=, action_ext absent, path 0 absent":                   {"/"},
		"action_name=users, action_ext absent, path 0 absent":              {"/users"},
		"path 0=api, path 1 absent, action_name=users, action_ext absent":  {"/api/users"},
		"path 0=a, path 1=b, path 2 absent, action_name=c, action_ext=php": {"/a/b/c.php"},
		"path 0=my, path 1=api":                                            {"/my/api/x", "/my/api/x.php", "/my/api/x/y", "/my/api/"},
		"path 0=my, path 1=api, path 2 absent":                             {"/my/api/x", "/my/api/x.php", "/my/api/"},
		"path 0=my, path 1=api, path 2 absent, action_ext absent":          {"/my/api/x", "/my/api/"},
		"path 0=my, action_ext=php":                                        {"/my/api/x.php"},
		"action_ext=php":                                                   {"/a/b/c.php", "/my/api/x.php"},
		"action_name=x, action_ext absent":                                 {"/my/api/x"},
		"path 0=my, action_name=x":                                         {"/my/api/x", "/my/api/x.php"},
		"path 0=my, path 1 absent, action_name=api":                        {"/my/api"},
		"uri=/my/api/x":           {"/my/api/x"},
		"instance=4, method=POST": paths,
		"method=GET":              nil,
	} {
		t.Run(conditions, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, path := range paths {
				w.start(waf.AttackSpec{Path: path})
			}
			w.createRule(patch(`[["header","HOST"]]`, "any", conditionsOf(conditions)))
			w.pass(182 * time.Second)
			var blocked []string
			for _, attack := range w.state().Attacks {
				if attack.Sources[0].Blocked > 0 {
					blocked = append(blocked, attack.Path)
				}
			}
			require.Equal(t, covered, blocked)
		})
	}
}

func TestPartsCovered(t *testing.T) {
	t.Parallel()
	for parameter, point := range map[string]string{
		"GET_q_value":                      `[["get","q"]]`,
		"GET_user_value_value":             `[["get","user_value"]]`,
		"POST_JSON_DOC_HASH_user_value":    `[["post"],["json_doc"],["hash","user"]]`,
		"POST_FORM_URLENCODED_login_value": `[["post"],["form_urlencoded","login"]]`,
		"POST_login_value":                 `[["post"],["form_urlencoded","login"]]`,
		"HEADER_x-debug_value":             `[["header","X-Debug"]]`,
		"URI_value":                        `[["uri"]]`,
	} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			for _, other := range []string{point, `[["get","other"]]`} {
				w := newWorld(t)
				w.start(waf.AttackSpec{Parameter: parameter})
				w.createRule(patch(other, "sqli", `[]`))
				w.pass(3 * time.Minute)
				require.Equal(t, other == point, w.sent(10 * time.Second)["203.0.113.7"].Blocked > 0, other)
			}
		})
	}
}

func TestUnknownPartIsNeverCovered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(waf.AttackSpec{Parameter: "SOMETHING_ELSE"})
	w.createRule(patch(`[["post"]]`, "any", `[]`))
	w.pass(3 * time.Minute)
	require.Zero(t, w.sent(10 * time.Second)["203.0.113.7"].Blocked)
}

func TestOtherSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(waf.AttackSpec{OtherSources: 40, Sources: []waf.SourceSpec{{IP: "203.0.113.7", PerSecond: 100}}})
	w.pass(100 * time.Second)
	attack := w.state().Attacks[0]
	require.InDelta(t, 110, attack.PerSecond, 0.001)
	require.InDelta(t, 1000, attack.OtherSources.Through, 50)
	require.InDelta(t, 10_000, attack.Sources[0].Through, 5)
	record := w.list(attacks, `{"filter":{"clientid":[5]}}`)[0]
	require.EqualValues(t, 41, record["ip_count"])
	require.Len(t, record["ip_top"], 1)
}

func TestTopSourcesAreCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var spec waf.AttackSpec
	for i := range 15 {
		spec.Sources = append(spec.Sources, waf.SourceSpec{IP: fmt.Sprintf("203.0.113.%d", i), PerSecond: float64(1 + i)})
	}
	w.start(spec)
	w.pass(time.Minute)
	record := w.list(attacks, `{"filter":{"clientid":[5]}}`)[0]
	top := record["ip_top"].([]any)
	require.Len(t, top, 10)
	require.Equal(t, "203.0.113.14", top[0].(map[string]any)["ip"])
	require.Nil(t, top[0].(map[string]any)["country"])
	require.Empty(t, record["country_top"])
	require.EqualValues(t, 15, record["ip_count"])
}

func TestHitsAtOnceMeetTheDenial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attack := w.start(twoSources())
	w.add("black", "203.0.113.7")
	w.pass(time.Minute)
	before := w.state().Attacks[0]
	require.NoError(t, w.AddHits(attack.ID, 1000))
	after := w.state().Attacks[0]
	require.EqualValues(t, 200, after.Hits-before.Hits)
	require.EqualValues(t, 800, after.Sources[0].Blocked-before.Sources[0].Blocked)
}
