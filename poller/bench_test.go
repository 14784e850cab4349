package poller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// BenchmarkPollUnchanged is a poll that finds everything as it was; "roundtrips" is its cost in bare round trips over
// loopback of the same page in the same run, both at the median. It must not grow with what is known.
func BenchmarkPollUnchanged(b *testing.B) {
	for _, known := range []int{100, 10_000, 50_000} {
		b.Run(fmt.Sprint(known), func(b *testing.B) {
			s := newStill(b, known)
			p := s.poller(b, s.client(b, apiclient.NewHTTP()))
			require.NoError(b, p.Poll(b.Context()))
			require.Len(b, p.Attacks(), known)
			var polls, trips []time.Duration
			requests := int64(0)
			for b.Loop() { // in turn, so that whatever else the machine does weighs on both
				trips = append(trips, s.trip(b))
				before := s.asked.Load()
				begun := time.Now()
				require.NoError(b, p.Poll(b.Context()))
				polls = append(polls, time.Since(begun))
				requests += s.asked.Load() - before
			}
			b.ReportMetric(median(polls)/median(trips), "roundtrips")
			b.ReportMetric(median(polls)/float64(time.Microsecond), "µs")
			b.ReportMetric(float64(requests)/float64(len(polls)), "requests")
			b.ReportMetric(0, "ns/op") // it has the bare ones in it
		})
	}
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// still is a service where nothing changes. Its answers are made beforehand, so that what is measured is not the
// emulation.
type still struct {
	url   string
	pages [][]byte
	asked atomic.Int64
}

const (
	perPage = 100
	nothing = `{"status":200,"body":[]}`
)

// newStill has the records of which poller knows.
func newStill(t testing.TB, known int) *still {
	s := &still{}
	now := time.Now()
	for i := 0; i < known; i += perPage {
		var list []string
		for n := i; n < min(i+perPage, known); n++ {
			list = append(list, stillRecord(n, now).json())
		}
		s.pages = append(s.pages, fmt.Appendf(nil, `{"status":200,"body":[%s]}`, strings.Join(list, ",")))
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// stillRecord is the nth record: of eight, four go on, one is a denied source that is still trying, one is an incident;
// the latest hits were four minutes ago, which is past what each poll reads again.
func stillRecord(n int, now time.Time) attackRecord {
	r := attackRecord{id: strconv.Itoa(n), typ: "sqli", status: "monitored", hits: 100 + n, last: now.Add(-4*time.Minute - time.Duration(n)*time.Millisecond)}
	r.sources = []string{fmt.Sprintf("203.0.113.%d", n%250), fmt.Sprintf("198.51.%d.%d", n/250%250, n%250)}
	switch n % 8 {
	case 5:
		r.typ = apiclient.TypeBlockedSource
	case 6:
		r.vuln = n
	case 7:
		r.status = "blocked"
	}
	return r
}

func (s *still) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.asked.Add(1)
	answer := []byte(nothing)
	if r.URL.Path == attacks && !bytes.Contains(body, []byte(`"!vulnid"`)) {
		var query struct{ Offset int }
		_ = json.Unmarshal(body, &query)
		if n := query.Offset / perPage; n < len(s.pages) {
			answer = s.pages[n]
		}
	}
	_, _ = w.Write(answer)
}

// trip is a bare round trip for the first page.
func (s *still) trip(b *testing.B) time.Duration {
	begun := time.Now()
	r, err := http.Post(s.url+attacks, "application/json", strings.NewReader(`{"offset":0}`))
	require.NoError(b, err)
	_, err = io.Copy(io.Discard, r.Body)
	require.NoError(b, err)
	return time.Since(begun)
}

func (s *still) client(t testing.TB, shared *http.Client) *apiclient.Client {
	t.Cleanup(shared.CloseIdleConnections)
	c, err := apiclient.New(apiclient.Config{BaseURL: s.url, Token: "s3cret", ClientID: 5, HTTP: shared})
	require.NoError(t, err)
	return c
}

// poller has been watching for a while: a third of what is known has a card that says it goes on, another third one
// that says it is over.
func (s *still) poller(t testing.TB, api poller.API) *poller.Poller {
	r := record.PollState{LastGood: time.Now(), Attacks: map[string]record.AttackState{}}
	for p, err := range api.Attacks(t.Context(), apiclient.AttackFilter{}) {
		require.NoError(t, err)
		for _, a := range p.Attacks {
			if a.Result() {
				continue
			}
			shown := record.AttackState{Attack: a, ObservedAt: r.LastGood, Notified: len(r.Attacks)%3 > 0, Quiet: len(r.Attacks)%3 > 1, Revision: 1}
			shown.Baseline = record.Baseline{Hits: a.Hits, Status: a.Status(), Incident: a.Incident()}
			r.Attacks[a.ID] = shown
		}
	}
	account := accountOf("acme", "C0")
	account.Routes = []config.Route{}
	return poller.New(poller.Config{Account: account, API: api, Store: fixedStore{r}, Notifier: fixedStore{}})
}

// fixedStore is a store that costs nothing.
type fixedStore struct{ record.PollState }

func (r fixedStore) Load(context.Context, string) (record.PollState, error) {
	return r.PollState, nil
}
func (fixedStore) Save(context.Context, string, record.PollUpdate) error { return nil }
func (fixedStore) Saved(string, record.PollUpdate)                       {}
func (fixedStore) Waiting(context.Context, string) ([]record.Event, error) {
	return nil, nil
}
