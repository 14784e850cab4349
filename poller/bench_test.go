package poller_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

// BenchmarkPollUnchanged1000 is a poll that finds a thousand records as they were; "roundtrips" is its cost in bare
// round trips over loopback of the same page, measured in the same run.
func BenchmarkPollUnchanged1000(b *testing.B) {
	a := newAccount(b)
	for i := range 1000 {
		a.add(fmt.Sprintf("x:%03d", i), time.Hour+time.Duration(i)*time.Second)
	}
	var page []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		first := !bytes.Contains(body, []byte(`"!vulnid"`)) && !bytes.Contains(body, []byte(`"offset":1`))
		if page != nil && first { // made once, so that what is measured is not the emulation
			_, _ = w.Write(page)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		a.ServeHTTP(w, r)
	}))
	b.Cleanup(server.Close)
	api, err := apiclient.New(apiclient.Config{BaseURL: server.URL, Token: "s3cret", ClientID: 5, HTTP: server.Client()})
	require.NoError(b, err)
	a.api = api
	p := a.start()
	require.NoError(b, p.Poll(b.Context()))
	recorded := httptest.NewRecorder()
	query := httptest.NewRequest(http.MethodPost, "/v1/objects/attack", bytes.NewReader([]byte(
		`{"limit":100,"order_by":"last_time","order_desc":true,"filter":{"time":[[0,null]]}}`)))
	query.Header.Set("X-ServiceApi-Token", "s3cret")
	a.ServeHTTP(recorded, query)
	page = recorded.Body.Bytes()

	const trips = 200
	begin := time.Now()
	for range trips {
		r, err := server.Client().Post(server.URL, "application/json", http.NoBody)
		require.NoError(b, err)
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	trip := time.Since(begin) / trips
	for b.Loop() {
		require.NoError(b, p.Poll(b.Context()))
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(trip), "roundtrips")
}
