package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/webhooks"
	"github.com/wafbot/wafbot/internal/doctor"
)

// Doctor asks at each webhook's address and says what waits for it. It sends no event, and shows no path: that often holds a key.
func TestDoctorChecksWebhooks(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			t.Errorf("%s", r.Method)
		}
		status := http.StatusMethodNotAllowed
		if strings.HasPrefix(r.URL.Path, "/moved") {
			status = http.StatusMovedPermanently
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	const secret = ", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}\n"
	yaml := healthy + "webhooks:\n"
	redis := miniredis.RunT(t)
	for address, age := range map[string]time.Duration{"/key-1": time.Hour, "/key-2": time.Minute} {
		id := webhooks.Webhook{URL: apiclient.Secret(receiver.URL + address)}.ID()
		_, err := redis.XAdd("{a:acme}:webhook:"+id, strconv.FormatInt(time.Now().Add(-age).UnixMilli(), 10)+"-0", []string{"n", "1", "entry", "{}"})
		require.NoError(t, err)
	}
	for _, address := range []string{receiver.URL + "/key-1", receiver.URL + "/key-2", receiver.URL + "/moved/key-3", "http://" + unused + "/key-4"} {
		yaml += "  - {url: '" + address + "'" + secret
	}
	yaml += "  - {url_file: '" + write(t, "http://"+unused+"/key-5") + "'" + secret
	e := newPatient(t, yaml).with("WAFBOT_REDIS_URL=redis://" + redis.Addr() + "/0").examine(t)
	host := strings.TrimPrefix(receiver.URL, "http://")
	requireOne(t, e.of(doctor.OK), "webhook webhooks[0]: "+host+" answers")
	requireOne(t, e.of(doctor.Warn), "webhook webhooks[0]: waiting for it: 1 event, the oldest for 1 h", "/readyz")
	requireOne(t, e.of(doctor.Note), "webhook webhooks[1]: waiting for it: 1 event, the oldest for 1 min")
	requireOne(t, e.of(doctor.Warn), "webhook webhooks[2]: "+host+" sends wafbot elsewhere (status 301)", "check webhooks[2].url")
	requireOne(t, e.of(doctor.Wrong), "webhook webhooks[3]: nothing listens at "+unused+" → check webhooks[3].url")
	requireOne(t, e.of(doctor.Wrong), "webhook webhooks[4]: nothing listens at "+unused+" → check webhooks[4].url_file")
	require.NotContains(t, printed(t, e), "key-")
}

// It asks at each pager's address once, and calls none.
func TestDoctorAsksAtPagers(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 9)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method + " " + r.URL.String() }))
	t.Cleanup(receiver.Close)
	host := strings.TrimPrefix(receiver.URL, "http://")
	const page = "      - {match: {kind: attack}, page: {format: "
	yaml := strings.Replace(healthy, "      - {match: {kind: attack}}\n", strings.Repeat(page+"pagerduty, url: '"+receiver.URL+"/v2/enqueue?routing_key=hidden'}}\n", 2)+
		page+"json, url: 'http://"+unused+"/hidden'}}\n", 1)
	e := newPatient(t, yaml).examine(t)
	requireOne(t, e.of(doctor.OK), "pager accounts[0].routes[1].page: "+host+" answers")
	requireOne(t, e.of(doctor.Wrong), "pager accounts[0].routes[3].page: nothing listens at "+unused+" → check accounts[0].routes[3].page.url")
	require.Equal(t, "HEAD /v2/enqueue", <-asked)
	require.Empty(t, asked)
	require.NotContains(t, printed(t, e), "hidden")
}
