package doctor_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestDoctorNamesApplicationsThatHaveNoName(t *testing.T) {
	t.Parallel()
	e := newPatient(t, strings.ReplaceAll(healthy, "{4: Shop, 7: Legacy}", "{4: {can_block: false}}")).examine(t)
	requireOne(t, e.of(doctor.Note), "account acme: applications without a name, with their attacks of the last 24 h: 4 (1)")
}

func TestDoctorChecksTheTokensOwnerAndTheClock(t *testing.T) {
	t.Parallel()
	world := openWorld(t)
	later := changing(t, world.Accounts()[0].APIURL, func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		text, err := io.ReadAll(r.Body)
		if r.Request.Header.Get("X-ServiceApi-Token") == "sandbox-token-globex" {
			text = bytes.Replace(text, []byte(`"enabled":true`), []byte(`"enabled":   0`), 1) // of the same length
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		return err
	})
	path := write(t, `accounts:
  - {name: acme, api_url: "`+later+`", token: sandbox-token-acme, channel: C0WAF0001}
  - {name: globex, api_url: "`+later+`", token: sandbox-token-globex, channel: C0WAF0002}
`)
	d := patient{World: world}
	for _, variable := range world.Env() {
		if !strings.HasPrefix(variable, "WAFBOT_API_") && !strings.HasPrefix(variable, "WAFBOT_CHANNEL") {
			d.environ = append(d.environ, variable)
		}
	}
	e := d.examineWith(t, doctor.Options{Config: path})
	require.Len(t, e.of(doctor.Wrong), 1)
	requireOne(t, e.of(doctor.Wrong), "account globex: the token's user is disabled, at client 9 Globex", "enable the user")
	requireOne(t, e.of(doctor.OK), "account acme: the token is of client 5 Acme")
	requireOne(t, e.of(doctor.Warn), "account acme: its clock is off this machine's by", "NTP")
	requireOne(t, e.of(doctor.Warn), "account globex: its clock is off")
}

func TestDoctorWarnsOfASlowService(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy)
	require.NoError(t, d.WAF.SetFault(waf.Fault{Endpoint: "GET /v4/ip_rules", Kind: "slow"}))
	e := d.examine(t)
	require.True(t, e.OK)
	requireOne(t, e.of(doctor.Warn), "account acme (GET /v4/ip_rules): slow: an answer took 3")
}

// The host that Slack names for links is reached, too: refused, silent or unknown it is wrong, with every host that
// must be reachable.
func TestDoctorReachesTheHostOfLinks(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and says nothing of TLS
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	world := newPatient(t, "")
	named, err := url.Parse(world.URL())
	require.NoError(t, err)
	for host, words := range map[string]string{
		silent.Addr().String(): "gave no answer in time",
		gone.Addr().String():   "nothing listens at",
		"links.invalid":        "the host links.invalid can't be found",
	} {
		d := world.with("WAFBOT_SLACK_API_URL=" + changing(t, world.URL()+"/slack/api/", func(res *http.Response) error {
			if !strings.HasSuffix(res.Request.URL.Path, "/apps.connections.open") {
				return nil
			}
			text, err := io.ReadAll(res.Body)
			text = bytes.Replace(text, []byte("ws://"+named.Host), []byte("wss://"+host), 1)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			res.Header.Del("Content-Length")
			return err
		}))
		e := d.examineWith(t, doctor.Options{Patience: time.Second})
		require.False(t, e.OK)
		requireOne(t, e.of(doctor.Wrong), "host "+host, words, "reach every host: ", host)
		requireOne(t, e.of(doctor.Note), "must be reachable: ")
		require.NotContains(t, printed(t, e), "ticket")
	}
}

// Names of people, groups, channels and the workspace, and the words in which Slack or the service refuses, are printed
// by doctor and do nothing.
func TestDoctorPrintsHostileText(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy)
	for i, sample := range full.Some(4, hostiletext.Samples()) {
		saying := func(r *http.Response) error {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			var doc map[string]any
			if json.Unmarshal(text, &doc) == nil {
				if i%3 == 0 {
					doc["ok"], doc["error"], doc["needed"] = false, sample.Text, sample.Text
				}
				text, err = json.Marshal(renamed(doc, sample.Text))
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Del("Content-Length")
			return err
		}
		hostile := d.with("WAFBOT_SLACK_API_URL=" + changing(t, d.URL()+"/slack/api/", saying))
		require.NoError(t, hostiletext.Lines(printed(t, hostile.examine(t)), hostiletext.Plain), sample.Purpose)
	}
}

// renamed is a value in which everything bears another name.
func renamed(v any, name string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = renamed(v[i], name)
		}
	case map[string]any:
		for key, inner := range v {
			if _, text := inner.(string); text && slices.Contains([]string{"name", "name_normalized", "handle", "team", "user", "real_name", "display_name", "url"}, key) {
				v[key] = name
			} else {
				v[key] = renamed(inner, name)
			}
		}
	}
	return v
}

// Doctor asks at each pager's address once, and calls none. It shows no path: that often holds a key.
func TestDoctorAsksAtPagers(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 9)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusMethodNotAllowed
		if asked <- r.Method + " " + r.URL.String(); strings.HasPrefix(r.URL.Path, "/moved") {
			status = http.StatusMovedPermanently
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	host := strings.TrimPrefix(receiver.URL, "http://")
	const page = "      - {match: {kind: attack}, page: {format: "
	yaml := strings.Replace(healthy, "      - {match: {kind: attack}}\n", strings.Repeat(page+"pagerduty, url: '"+receiver.URL+"/v2/enqueue?routing_key=hidden'}}\n", 2)+
		page+"json, url: 'http://"+unused+"/hidden'}}\n"+page+"json, url: '"+receiver.URL+"/moved/hidden'}}\n"+
		page+"json, url_file: '"+write(t, "http://"+unused+"/hidden-2")+"'}}\n", 1)
	e := newPatient(t, yaml).examine(t)
	requireOne(t, e.of(doctor.OK), "pager accounts[0].routes[1].page: "+host+" answers")
	requireOne(t, e.of(doctor.Wrong), "pager accounts[0].routes[3].page: nothing listens at "+unused+" → check accounts[0].routes[3].page.url")
	requireOne(t, e.of(doctor.Warn), "pager accounts[0].routes[4].page: "+host+" sends wafbot elsewhere (status 301)", "check accounts[0].routes[4].page.url")
	requireOne(t, e.of(doctor.Wrong), "pager accounts[0].routes[5].page: nothing listens at "+unused+" → check accounts[0].routes[5].page.url_file")
	require.ElementsMatch(t, []string{"HEAD /v2/enqueue", "HEAD /moved/hidden"}, []string{<-asked, <-asked})
	require.Empty(t, asked)
	require.NotContains(t, printed(t, e), "hidden")
}
