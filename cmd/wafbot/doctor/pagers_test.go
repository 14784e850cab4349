package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
)

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
