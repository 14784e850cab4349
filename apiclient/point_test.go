package apiclient_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

func TestParametersBecomePoints(t *testing.T) {
	t.Parallel()
	for parameter, want := range map[string]string{
		"GET_x_value":                           "get.x",
		"GET_user_id_value":                     "get.user_id",
		"GET_x_value_value":                     "get.x_value",
		"GET_a.b c_value":                       "get.a%2Eb%20c",
		"GET_id[]_value":                        "get.id[]",
		"GET_x_hash_value":                      "get.x_hash",
		"POST_JSON_DOC_HASH_user_name_value":    "post.json_doc.hash.user_name",
		"POST_FORM_URLENCODED_login_value":      "post.form_urlencoded.login",
		"HEADER_User-Agent_value":               "header.USER-AGENT",
		"HEADER_COOKIE_value":                   "header.COOKIE",
		"URI_value":                             "uri",
		"POST_value":                            "post",
		"PATH_2_value":                          "path.2",
		"ACTION_NAME_value":                     "action_name",
		"POST_login_value":                      "", // the parser of the body is not named
		"GET_x_name":                            "",
		"GET_x":                                 "",
		"GET__value":                            "",
		"GET_value":                             "",
		"GET_x_BASE64_value":                    "", // could be a parameter called x_BASE64
		"POST_JSON_DOC_HASH_a_HASH_b_value":     "",
		"POST_FORM_URLENCODED_id_ARRAY_0_value": "",
		"HEADER_COOKIE_COOKIE_x_value":          "",
		"HEADER_a b_value":                      "",
		"PATH_x_value":                          "",
		"GET_\ufffd_value":                      "",
		"":                                      "",
		"_value":                                "",
		"COOKIE_x_value":                        "",
	} {
		got, ok := apiclient.ParameterPoint(parameter)
		require.Equal(t, want != "", ok, parameter)
		require.Equal(t, want, got.String(), parameter)
	}
}

func TestPointsAreSentAsTheServiceWantsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"get.q": `[["get","q"]]`, "Post.JSON_doc.hash.x": `[["post"],["json_doc"],["hash","x"]]`, "header.x-id": `[["header","X-ID"]]`,
		"uri": `[["uri"]]`, "path.0": `[["path",0]]`, "get.a%2Eb%25": `[["get","a.b%"]]`, "get.q.base64": `[["get","q"],["base64"]]`,
		"post.gql.gql_query.getUser.hash.id": `[["post"],["gql"],["gql_query","getUser"],["hash","id"]]`,
	} {
		p, err := apiclient.ParsePoint(text)
		require.NoError(t, err, text)
		got, err := json.Marshal(p)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got))
	}
	for _, text := range []string{"", ".", "get", "get.", "get.q.", "q", "get.q.x", "hash.x", "path.x", "path.-1", "path.99999999999", "header.a b", "get.%zz", "any", "instance"} {
		_, err := apiclient.ParsePoint(text)
		require.Error(t, err, text)
	}
}

func FuzzParsePoint(f *testing.F) {
	for _, seed := range []string{"get.q", "post.json_doc.hash.a%2Eb", "header.X", "uri", "path.01", "get.%ff", "get.é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := apiclient.ParsePoint(text)
		if err != nil {
			return
		}
		again, err := apiclient.ParsePoint(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		require.Equal(t, p.String(), again.String())
		require.NotContains(t, p.String(), " ")
	})
}

func FuzzParameterPoint(f *testing.F) {
	for _, seed := range []string{"GET_user_id_value", "POST_JSON_DOC_HASH_x_value", "HEADER_X-A_value", "URI_value", "PATH_3_value", "GET_\xff_value", "GET_a.b`<@U1>_value"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, parameter string) {
		p, ok := apiclient.ParameterPoint(parameter)
		if !ok {
			require.Nil(t, p)
			return
		}
		again, err := apiclient.ParsePoint(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}

func TestPatchableTypes(t *testing.T) {
	t.Parallel()
	for _, yes := range []string{"sqli", "xss", "scanner", "invalid_xml"} {
		require.True(t, apiclient.Patchable(yes))
	}
	for _, no := range []string{"", "any", "brute", "bola", "dirbust", "api_abuse", "blocked_source", "SQLI"} {
		require.False(t, apiclient.Patchable(no))
	}
	require.Len(t, apiclient.PatchTypes(), 16)
	require.False(t, slices.Contains(apiclient.PatchTypes(), "any"))
}
