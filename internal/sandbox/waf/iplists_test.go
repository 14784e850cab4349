package waf_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// objects lists entries; query is key=value pairs after the client id.
func (w *world) objects(pairs ...string) []map[string]any {
	w.t.Helper()
	query := url.Values{"filter[clientid]": {"5"}}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	listed := []map[string]any{}
	for _, object := range w.body("GET", "/v4/ip_rules?"+query.Encode(), "").(map[string]any)["objects"].([]any) {
		listed = append(listed, object.(map[string]any))
	}
	return listed
}

// add adds an entry that ends in an hour.
func (w *world) add(list, subnet string) map[string]any {
	w.t.Helper()
	return w.body("POST", "/v4/ip_rules", w.entry(list, `"ip_range","subnet":"`+subnet+`"`, false)).(map[string]any)
}

func (w *world) entry(list, what string, force bool) string {
	return fmt.Sprintf(`{"clientid":5,"force":%v,"ip_rule":{"list":%q,"rule_type":%s,"pools":[0],"expired_at":%d,"reason":"test"}}`,
		force, list, what, w.now().Add(time.Hour).Unix())
}

func TestEntryRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, text := w.request("POST", "/v4/ip_rules", w.entry("black", `"ip_range","subnet":"203.0.113.7"`, false))
	require.Equal(t, 201, code)
	require.JSONEq(t, fmt.Sprintf(`{"status":200,"body":{"id":101,"clientid":5,"rule_type":"ip_range","list":"black","author":"client",
		"event_type":"manual","subnet":"203.0.113.7/32","source_values":[],"pools":[0],"reason":"test","created_at":%d,"expired_at":%d}}`,
		w.now().Unix(), w.now().Add(time.Hour).Unix()), text)
	w.body("POST", "/v4/ip_rules", w.entry("gray", `"country","source_values":["FR","DE"]`, false))
	require.Len(t, w.objects(), 2)
	require.Equal(t, []any{"DE", "FR"}, w.objects("filter[list]", "gray")[0]["source_values"])
	require.EqualValues(t, 101, w.objects("filter[query]", "203.0.113.7")[0]["id"])
	require.Empty(t, w.objects("filter[query]", "203.0.113.8"))

	w.body("DELETE", "/v4/ip_rules", `{"filter":{"clientid":5,"id":[101,999]}}`)
	require.Len(t, w.objects(), 1)
	w.pass(time.Hour)
	require.Empty(t, w.objects(), "expired")
}

func TestEntryExistsAlready(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.add("black", "203.0.113.7/32")
	w.pass(10 * time.Minute)
	code, text := w.request("POST", "/v4/ip_rules", w.entry("black", `"ip_range","subnet":"203.0.113.7"`, false))
	require.Equal(t, 400, code)
	require.JSONEq(t, `{"status":400,"body":"Already exists"}`, text)
	forced := w.body("POST", "/v4/ip_rules", w.entry("black", `"ip_range","subnet":"203.0.113.7"`, true)).(map[string]any)
	require.Equal(t, first["id"], forced["id"])
	require.Greater(t, forced["expired_at"], first["expired_at"])
	require.Len(t, w.objects(), 1)
	w.add("white", "203.0.113.7/32")
	require.Len(t, w.objects(), 2, "another list is another entry")
}

func TestForceOverwritesSharedCountries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.body("POST", "/v4/ip_rules", w.entry("black", `"country","source_values":["FR","DE"]`, false))
	code, _ := w.request("POST", "/v4/ip_rules", w.entry("black", `"country","source_values":["DE","US"]`, false))
	require.Equal(t, 400, code)
	w.body("POST", "/v4/ip_rules", w.entry("black", `"country","source_values":["DE","US"]`, true))
	listed := w.objects()
	require.Equal(t, []any{"FR"}, listed[0]["source_values"])
	require.Equal(t, []any{"DE", "US"}, listed[1]["source_values"])
}

func TestAnEntrysEndInQuotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := w.entry("black", `"ip_range","subnet":"203.0.113.7"`, false)
	end := regexp.MustCompile(`"expired_at":([0-9]+)`)
	w.body("POST", "/v4/ip_rules", end.ReplaceAllString(body, `"expired_at":"$1"`))
	require.Equal(t, end.FindStringSubmatch(body)[1], fmt.Sprintf("%.0f", w.objects()[0]["expired_at"]))
}

func TestEntriesRefused(t *testing.T) {
	t.Parallel()
	future := strconv.FormatInt(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), 10)
	for name, c := range map[string]struct{ rule, field string }{
		"unknown list":       {`"list":"red","rule_type":"ip_range","subnet":"1.2.3.4","pools":[0],"expired_at":` + future, "list"},
		"unknown type":       {`"list":"black","rule_type":"asn","subnet":"1.2.3.4","pools":[0],"expired_at":` + future, "rule_type"},
		"no subnet":          {`"list":"black","rule_type":"ip_range","pools":[0],"expired_at":` + future, "subnet"},
		"no time":            {`"list":"black","rule_type":"ip_range","subnet":"1.2.3.4","pools":[0],"expired_at":"soon"`, "expired_at"},
		"not an address":     {`"list":"black","rule_type":"ip_range","subnet":"1.2.3","pools":[0],"expired_at":` + future, "subnet"},
		"wider than /12":     {`"list":"black","rule_type":"ip_range","subnet":"16.0.0.0/11","pools":[0],"expired_at":` + future, "subnet"},
		"wider than /32":     {`"list":"black","rule_type":"ip_range","subnet":"2001::/31","pools":[0],"expired_at":` + future, "subnet"},
		"no such country":    {`"list":"black","rule_type":"country","source_values":["XX"],"pools":[0],"expired_at":` + future, "source_values"},
		"proxy not writable": {`"list":"black","rule_type":"proxy_type","source_values":["DCH"],"pools":[0],"expired_at":` + future, "source_values"},
		"no such datacenter": {`"list":"black","rule_type":"datacenter","source_values":["docean"],"pools":[0],"expired_at":` + future, "source_values"},
		"no values":          {`"list":"black","rule_type":"country","source_values":[],"pools":[0],"expired_at":` + future, "source_values"},
		"no pools":           {`"list":"black","rule_type":"ip_range","subnet":"1.2.3.4","expired_at":` + future, "pools"},
		"unknown pool":       {`"list":"black","rule_type":"ip_range","subnet":"1.2.3.4","pools":[9],"expired_at":` + future, "pools"},
		"in the past":        {`"list":"black","rule_type":"ip_range","subnet":"1.2.3.4","pools":[0],"expired_at":1`, "expired_at"},
		"after forever":      {`"list":"black","rule_type":"ip_range","subnet":"1.2.3.4","pools":[0],"expired_at":33223139045`, "expired_at"},
		"unknown field":      {`"list":"black","rule_type":"ip_range","subnet":"1.2.3.4","pools":[0],"note":"","expired_at":` + future, "note"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			code, text := w.request("POST", "/v4/ip_rules", `{"clientid":5,"force":true,"ip_rule":{`+c.rule+`}}`)
			require.Equal(t, 400, code, text)
			require.Contains(t, text, `"`+c.field+`":{"error":`)
			require.Empty(t, w.objects())
		})
	}
}

func TestWidestSubnets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, "16.0.0.0/12", w.add("black", "16.1.2.3/12")["subnet"])
	require.Equal(t, "2001:db8::/32", w.add("black", "2001:db8::1/32")["subnet"])
	require.Equal(t, "2001:db8::1/128", w.add("black", "2001:db8::1")["subnet"])
}

func TestEntryPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 310 {
		w.add("black", fmt.Sprintf("198.51.%d.%d", 100+i/200, i%200))
	}
	require.Len(t, w.objects("limit", "1000"), 300)
	require.Len(t, w.objects("limit", "300", "offset", "300"), 10)
	require.Empty(t, w.objects("limit", "300", "offset", "600"))
}

func TestDeleteWithoutIDsDeletesEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("black", "203.0.113.7")
	w.add("white", "203.0.113.8")
	w.body("DELETE", "/v4/ip_rules", `{"filter":{"clientid":5}}`)
	require.Empty(t, w.objects())
}

func TestSeededEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, err := w.SeedIPRule("acme", waf.IPRule{Subnet: "203.0.113.0/24", Reason: "many attacks"})
	require.NoError(t, err)
	entry := w.objects()[0]
	require.EqualValues(t, id, entry["id"])
	require.Equal(t, "automatic", entry["author"])
	require.Equal(t, "33223139044", entry["expired_at"], "may be a string")
	require.True(t, w.state().IPRules[0].InForce)
	_, err = w.SeedIPRule("acme", waf.IPRule{RuleType: "proxy_type", SourceValues: []string{"DCH"}, List: "api_abuse_exceptions"})
	require.NoError(t, err, "read, though not writable")
	for _, wrong := range []waf.IPRule{{}, {Subnet: "1.2.3.4", List: "red"}, {RuleType: "asn"}, {Subnet: "1.2.3.4", Pools: []int{9}}} {
		_, err = w.SeedIPRule("acme", wrong)
		require.Error(t, err)
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.False(t, w.Denied("acme", "203.0.113.7"))
	w.add("black", "203.0.113.0/24")
	require.True(t, w.Denied("acme", "203.0.113.7"))
	require.False(t, w.Denied("globex", "203.0.113.7"))
	require.False(t, w.Denied("acme", "203.0.114.7"))
	w.add("white", "203.0.113.7")
	require.False(t, w.Denied("acme", "203.0.113.7"), "the allowlist wins")
	w.start(waf.AttackSpec{Sources: []waf.SourceSpec{{IP: "198.51.100.1", Proxy: "TOR", PerSecond: 1}}})
	w.body("POST", "/v4/ip_rules", w.entry("black", `"proxy_type","source_values":["TOR"]`, false))
	require.True(t, w.Denied("acme", "198.51.100.1"))
}
