package apiclient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

// canned is a transport that answers every request with one text: what is tested is the reading.
type canned struct {
	status int
	text   string
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	w := &http.Response{StatusCode: c.status, Header: http.Header{}, Body: readCloser{strings.NewReader(c.text)}}
	return w, nil
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func reading(t testing.TB, status int, text string) *apiclient.Client {
	return readingBy(t, canned{status, text})
}

func readingBy(t testing.TB, transport http.RoundTripper) *apiclient.Client {
	c, err := apiclient.New(apiclient.Config{BaseURL: "http://service.example.com", Token: goodToken, ClientID: 5, Tries: 1,
		HTTP: &http.Client{Transport: transport}})
	require.NoError(t, err)
	return c
}

func readAttacks(t testing.TB, text string) []apiclient.Attack {
	for p, err := range reading(t, 200, text).Attacks(t.Context(), apiclient.AttackFilter{}) {
		require.NoError(t, err)
		return p.Attacks
	}
	return nil
}

const fullAttack = `{"id":["attacks_x_5_202611_v_1","AM5CP50BU"],"attackid":"attacks_x_5_202611_v_1:AM5CP50BU","clientid":5,
 "domain":"shop.example.com","poolid":4,"method":"POST","parameter":"POST_login_value","path":"/login","type":"sqli",
 "first_time":1795000000,"last_time":1795000600,"hits":1530,"ip_count":14,
 "ip_top":[{"ip":"203.0.113.7","count":1204,"country":"FR"}],"country_top":[{"country":"FR","count":1204}],
 "statuscodes":[200,403],"vulnid":null,"threat":90,"target":"server","vectors_count":43,"block_status":"monitored","state":null}`

func TestAttackFieldsOfOtherTypes(t *testing.T) {
	t.Parallel()
	known, unknown := apiclient.Known, apiclient.Figure{}
	at := time.Unix(1795000000, 0).UTC()
	for _, test := range []struct {
		record string
		get    func(apiclient.Attack) any
		want   any
	}{
		{`{"hits":61818.0}`, hits, known(61818)},
		{`{"hits":"61818.0"}`, hits, known(61818)},
		{`{"hits":"17"}`, hits, known(17)},
		{`{"hits":17.9}`, hits, known(17)},
		{`{"hits":0}`, hits, known(0)},
		{`{"hits":0.5}`, hits, known(0)},
		{`{"hits":1e3}`, hits, known(1000)},
		{`{"hits":9223372036854775807}`, hits, known(9223372036854775807)},
		{`{"hits":9223372036854775808}`, hits, unknown},
		{`{"hits":1e400}`, hits, unknown},
		{`{"hits":"NaN"}`, hits, unknown},
		{`{"hits":"-Infinity"}`, hits, unknown},
		{`{"hits":"many"}`, hits, unknown},
		{`{"hits":null}`, hits, unknown},
		{`{"hits":[1]}`, hits, unknown},
		{`{"hits":true}`, hits, unknown},
		{`{"attackid":77}`, id, "77"},
		{`{"attackid":77.0}`, id, "77"},
		{`{"id":"a"}`, id, "a"},
		{`{"id":["a",7]}`, id, "a:7"},
		{`{"id":["a",null]}`, id, ""},
		{`{"attackid":{"x":1},"id":["a","b"]}`, id, "a:b"},
		{`{"hits":-1}`, hits, unknown},
		{`{"ip_count":-9223372036854775808}`, func(a apiclient.Attack) any { return a.SourceCount }, unknown},
		{`{"vulnid":12}`, vuln, "12"},
		{`{"vulnid":"W-12"}`, vuln, "W-12"},
		{`{"vulnid":0}`, vuln, ""},
		{`{"vulnid":"0"}`, vuln, ""},
		{`{"vulnid":[]}`, vuln, ""},
		{`{"vulnid":[null,null]}`, vuln, ""},
		{`{"vulnid":false}`, vuln, ""},
		{`{"last_time":1795000000.9}`, last, at},
		{`{"last_time":"1795000000"}`, last, at},
		{`{"last_time":"2026-11-18T13:06:40+01:46"}`, last, time.Date(2026, 11, 18, 11, 20, 40, 0, time.UTC)},
		{`{"last_time":0}`, last, time.Time{}},
		{`{"last_time":1e18}`, last, time.Time{}},
		{`{"last_time":"9999-12-31T23:59:59-12:00"}`, last, time.Time{}},
		{`{"last_time":"yesterday"}`, last, time.Time{}},
		{`{"domain":7}`, func(a apiclient.Attack) any { return a.Domain }, "7"},
		{`{"path":["/a"]}`, func(a apiclient.Attack) any { return a.Path }, ""},
		{`{"poolid":"-1"}`, func(a apiclient.Attack) any { return a.App }, known(apiclient.DefaultApp)},
		{`{"statuscodes":["200",null,"x",404.0]}`, func(a apiclient.Attack) any { return a.StatusCodes }, []int{200, 404}},
		{`{"statuscodes":[500,"302",200,302,99,600,-200,200.5,18446744073709551816]}`, func(a apiclient.Attack) any { return a.StatusCodes }, []int{200, 302, 500}},
		{`{"statuscodes":{"200":1}}`, func(a apiclient.Attack) any { return a.StatusCodes }, []int(nil)},
		{`{"ip_top":{"ip":"1.2.3.4"}}`, sources, []apiclient.Source(nil)},
		{`{"ip_top":[7,{"ip":"nowhere"},{"count":3},{"ip":"::ffff:1.2.3.4"},{"ip":"fe80::1%<b>"}]}`, sources,
			[]apiclient.Source{{IP: netip.MustParseAddr("1.2.3.4")}, {IP: netip.MustParseAddr("fe80::1")}}},
		{`{"ip_top":[{"ip":"1.2.3.4","count":7},{"ip":"1.2.3.5"},{"ip":"::ffff:1.2.3.4","count":3}]}`, sources,
			[]apiclient.Source{{IP: netip.MustParseAddr("1.2.3.4"), Hits: known(7)}, {IP: netip.MustParseAddr("1.2.3.5")}}},
		{`{"ip_top":[{"ip":"2001:db8::7","count":7},{"ip":"1.2.3.4","count":5},{"ip":"2001:db8::8","count":3},{"ip":"2001:db8:0:1::8"},{"ip":"2001:db8::9"},{"ip":"2001:db8::7","count":7}]}`,
			sources, []apiclient.Source{{IP: netip.MustParseAddr("2001:db8::"), Hits: apiclient.Figure{N: 10}, Addresses: 3},
				{IP: netip.MustParseAddr("1.2.3.4"), Hits: known(5)}, {IP: netip.MustParseAddr("2001:db8:0:1::8")}}},
	} {
		got := readAttacks(t, `[`+test.record+`]`)
		require.Len(t, got, 1, test.record)
		require.Equal(t, test.want, test.get(got[0]), test.record)
	}
}

// Several addresses of one IPv6 network are its /64; an address alone is itself.
func TestRangesOfSources(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "203.0.113.0": "203.0.113.0", "0.0.0.0": "0.0.0.0",
		"2001:db8:5:6::7": "2001:db8:5:6::7", "2001:db8:5:6::": "2001:db8:5:6::/64", "2001:db8:5:6:1::": "2001:db8:5:6:1::",
	} {
		require.Equal(t, want, apiclient.Source{IP: netip.MustParseAddr(ip)}.String())
	}
	many := apiclient.Attack{Sources: []apiclient.Source{{Addresses: 30}, {}, {}}}
	require.EqualValues(t, 32, many.Listed())
}

// An answer tells something only beside hits that weren't all blocked, and a code that is missing tells nothing.
func TestWhatWasAnswered(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]int{
		`{"block_status":"monitored","statuscodes":[500,302,200]}`:         200,
		`{"block_status":"Partially Blocked","statuscodes":[403,302,404]}`: 302,
		`{"statuscodes":["204"]}`:                                          204,
		`{"block_status":"blocked","statuscodes":[200,403]}`:               0,
		`{"block_status":"monitored","statuscodes":[100,400,403,500]}`:     0,
		`{"block_status":"monitored","statuscodes":[]}`:                    0,
		`{"block_status":"monitored","statuscodes":null}`:                  0,
		`{"block_status":"monitored"}`:                                     0,
	} {
		code, ok := readAttacks(t, `[`+record+`]`)[0].Answered()
		require.Equal(t, want, code, record)
		require.Equal(t, want != 0, ok, record)
	}
}

// Ids come from the service and may be hostile: none equals one of wafbot's own, fills a key or ends a line, and no two
// become equal.
func TestAnIDThatIsNone(t *testing.T) {
	t.Parallel()
	strange := []string{apiclient.OwnID + "C1:1795000000", "a\nb", "a\u0000b", "\u202ea", " a", "a<b>", strings.Repeat("a", 200_000), strings.Repeat("a", 200_001)}
	seen := map[string]bool{}
	for _, served := range strange {
		text, err := json.Marshal(served)
		require.NoError(t, err)
		got := readAttacks(t, `[{"attackid":`+string(text)+`,"id":["a","b"]},{"id":`+string(text)+`}]`)
		require.Equal(t, got[0].ID, got[1].ID)
		require.Regexp(t, `^x:[0-9a-f]{64}$`, got[0].ID, "%.80q", served)
		seen[got[0].ID] = true
	}
	require.Len(t, seen, len(strange))
	require.Equal(t, "x"+apiclient.OwnID, readAttacks(t, `[{"attackid":"x`+apiclient.OwnID+`"}]`)[0].ID)
}

// Only the busiest sources are kept, however many the service lists: each is stored for days, and read in every storm.
func TestTheBusiestSources(t *testing.T) {
	t.Parallel()
	var top []map[string]any
	for i := range 2_000 {
		top = append(top, map[string]any{"ip": fmt.Sprintf("198.18.%d.%d", i/250, i%250), "count": i, "country": strings.Repeat("F", 900)})
	}
	text, err := json.Marshal([]any{map[string]any{"attackid": "a", "ip_top": top, "country_top": top}})
	require.NoError(t, err)
	a := readAttacks(t, string(text))[0]
	require.Len(t, a.Sources, 100)
	require.Len(t, a.Countries, 100)
	require.Equal(t, []apiclient.Figure{apiclient.Known(1_999), apiclient.Known(1_900)}, []apiclient.Figure{a.Sources[0].Hits, a.Sources[99].Hits})
	require.Less(t, len(a.Sources[0].Country), 500)
}

func hits(a apiclient.Attack) any    { return a.Hits }
func id(a apiclient.Attack) any      { return a.ID }
func vuln(a apiclient.Attack) any    { return a.VulnID }
func last(a apiclient.Attack) any    { return a.Last }
func sources(a apiclient.Attack) any { return a.Sources }

func readRules(t testing.TB, text string) (rules []apiclient.Rule) {
	for r, err := range reading(t, 200, text).Rules(t.Context(), 0) {
		if err != nil { // the same page comes again: here it is the end
			return rules[:len(rules)/2]
		}
		rules = append(rules, r)
	}
	return rules
}

func TestRulesAreReadAsTheServiceWritesThem(t *testing.T) {
	t.Parallel()
	rules := readRules(t, `[
	 {"id":"8","actionid":7.0,"type":"vpatch","action":[{"type":"iequal","value":"shop.example.com","point":["header","HOST"]},{"type":"absent","value":null,"point":["path","0"]}],
	  "point":["post","json_doc","hash","x","array",0],"attack_type":"sqli","validated":false,"system":"true","updated_at":1795000000},
	 {"id":8.5,"type":"other","action":[{"type":"equal","value":4,"point":[["instance"]]},"unreadable"],"point":[["get","path"],["base64"]],"mode":null}]`)
	require.Equal(t, []apiclient.Rule{
		{ID: 8, ConditionID: 7, Type: "vpatch", AttackType: "sqli", System: true, Updated: time.Unix(1795000000, 0).UTC(),
			Conditions: []apiclient.Condition{{Type: "iequal", Value: "shop.example.com", Point: apiclient.Part{"header", "HOST"}}, {Type: "absent", Point: apiclient.Part{"path", "0"}}},
			Point:      apiclient.Point{{"post"}, {"json_doc"}, {"hash", "x"}, {"array", "0"}}},
		{Type: "other", Conditions: []apiclient.Condition{{Type: "equal", Value: "4", Point: apiclient.Part{"instance"}}, {}}, Point: apiclient.Point{{"get", "path"}, {"base64"}}},
	}, rules)
	require.False(t, apiclient.SameRule(rules[1], rules[1])) // the unreadable condition is unknown
}

// A part with parsers that wafbot doesn't know is kept to the letter, and never taken for one that could be sent again.
func TestPartsOfRulesThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]struct {
		point      apiclient.Point
		understood bool
	}{
		`["post","gql","gql_query","getUser","gql_var","id"]`: {apiclient.Point{{"post"}, {"gql"}, {"gql_query", "getUser"}, {"gql_var", "id"}}, true},
		`[["post"],["gql"],["gql_mutation","a"]]`:             {apiclient.Point{{"post"}, {"gql"}, {"gql_mutation", "a"}}, true},
		`[["post"],["array","0"]]`:                            {apiclient.Point{{"post"}, {"array", "0"}}, true},
		`["post","brand_new","x"]`:                            {apiclient.Point{{"post"}, {"brand_new"}, {"x"}}, false},
		`[["post"],["brand_new","Array","x"]]`:                {apiclient.Point{{"post"}, {"brand_new", "Array", "x"}}, false},
		`["get"]`:                                             {apiclient.Point{{"get"}}, false},
		`[[]]`:                                                {apiclient.Point{{""}}, false},
	} {
		rule := readRules(t, `[{"id":8,"type":"vpatch","action":[],"point":`+written+`,"attack_type":"sqli"}]`)[0]
		require.Equal(t, want.point, rule.Point, written)
		require.Equal(t, want.understood, rule.Point.Understood(), written)
	}
}

func TestAUserThatIsDisabledOrOdd(t *testing.T) {
	t.Parallel()
	u, err := reading(t, 200, `{"id":9,"clientid":"5","enabled":0}`).User(t.Context())
	require.NoError(t, err)
	require.Equal(t, apiclient.User{ClientID: 5}, u)
	_, err = reading(t, 200, `{"status":200,"body":"welcome"}`).User(t.Context())
	require.Equal(t, apiclient.Server, apiclient.KindOf(err))
}

func FuzzDecodeAttacks(f *testing.F) {
	for _, seed := range []string{`[` + fullAttack + `]`, `{"status":200,"body":[{"id":[]}]}`, `{"data":[{"last_time":"9999-12-31T23:59:59-12:00"}]}`, `[{"ip_top":[{"ip":"::ffff:1.2.3.4%x"}]}]`, `{"status":500}`, `[1e999]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for p, err := range reading(t, 200, text).Attacks(t.Context(), apiclient.AttackFilter{}) {
			if err != nil {
				require.NotZero(t, apiclient.KindOf(err))
				return
			}
			_, err := json.Marshal(p) // what is stored must be storable
			require.NoError(t, err)
			for _, a := range p.Attacks {
				require.True(t, a.Hits.Known || a.Hits.N == 0)
				for _, s := range a.Sources {
					require.True(t, s.IP.IsValid() && !s.IP.Is4In6() && s.IP.Zone() == "")
				}
			}
			return
		}
	})
}

func FuzzDecodeIPRules(f *testing.F) {
	for _, seed := range []string{`{"status":200,"body":{"objects":[{"id":101,"rule_type":"ip_range","list":"black","subnet":"203.0.113.7/32","pools":[0],"expired_at":"33223139044"}]}}`,
		`[{"subnet":"::ffff:1.2.3.4/100"}]`, `[{"subnet":"1.2.3.4/33","pools":"all","source_values":{}}]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for r, err := range reading(t, 200, text).IPRules(t.Context(), "") {
			if err != nil {
				require.NotZero(t, apiclient.KindOf(err))
				return
			}
			_, err := json.Marshal(r)
			require.NoError(t, err)
			require.Equal(t, r.Subnet.Masked(), r.Subnet)
		}
	})
}

func FuzzDecodeError(f *testing.F) {
	for _, seed := range []string{`{"status":400,"body":{"subnet":{"error":"can't be blank"}}}`, `"` + goodToken + `"`, "tok-3f9\x00a8c7e", `<html>`, `{"error":["a",{"error":"b"}]}`, `[]`} {
		f.Add(400, seed)
		f.Add(403, seed)
		f.Add(200, seed)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		if status < 200 || status > 599 {
			return
		}
		_, err := reading(t, status, text).CreateRule(t.Context(), patch())
		if err == nil {
			return
		}
		requireNoToken(t, err)
		e := asError(t, err)
		require.NotEqual(t, "unknown error", e.Kind.String())
		require.LessOrEqual(t, utf8.RuneCountInString(e.Message), 300)
		require.False(t, strings.ContainsFunc(err.Error(), unicode.IsControl), "%q", err.Error())
		require.True(t, status >= 300 || e.OutcomeUnknown || e.Status >= 400)
	})
}

func BenchmarkDecodePage1000(b *testing.B) {
	page := `{"status":200,"body":[` + strings.TrimSuffix(strings.Repeat(fullAttack+",", 1000), ",") + `]}`
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if n := len(readAttacks(b, page)); n != 1000 {
			b.Fatal(fmt.Sprint("read ", n))
		}
	}
}
