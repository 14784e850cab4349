package poller_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// BenchmarkPollBurst is a thousand new attacks at once: what the poll costs that finds them, and each further one while
// they are within what every poll reads again. The ratios are to a careless poller in the same run.
func BenchmarkPollBurst(b *testing.B) {
	const burst = 1000
	var found, again figures
	sample(b, func() {
		s := newFlood(b, 0)
		s.add(burst, 0)
		found.add(s.race(b, burst))
		for range 8 {
			again.add(s.race(b, 0))
		}
	})
	found.report(b, "", burst)
	again.report(b, "-again", burst)
}

// BenchmarkPollDeepListing is 200 new attacks above 20,000 older ones, of which each poll reads all again.
func BenchmarkPollDeepListing(b *testing.B) {
	var found figures
	sample(b, func() {
		s := newFlood(b, 20_000)
		s.add(200, 20_000)
		found.add(s.race(b, 200))
	})
	found.report(b, "", 200)
}

// BenchmarkPollOneByOne is 200 attacks one after another: from the answer of the service that has one to when it is
// passed on.
func BenchmarkPollOneByOne(b *testing.B) {
	var passed, careless durations
	sample(b, func() {
		s := newFlood(b, 200)
		for i := range 200 {
			s.add(1, 200+i)
			own, bare := s.race(b, 1)
			passed, careless = append(passed, own.passed), append(careless, bare.passed)
		}
	})
	b.ReportMetric(median(passed)/median(careless), "careless")
	b.ReportMetric(median(passed)/float64(time.Microsecond), "µs")
	b.ReportMetric(0, "ns/op")
}

type durations = []time.Duration

// sample measures as long as a benchmark lasts, and a few times at least.
func sample(b *testing.B, measure func()) {
	n := 0
	for b.Loop() {
		measure()
		n++
	}
	for ; n < 3; n++ {
		measure()
	}
}

// cost is what one poll took.
type cost struct {
	took, passed    time.Duration // until all is found, from the beginning and from the first answer
	requests, bytes int
}

// figures are what polls took, and careless ones beside them.
type figures struct{ own, careless []cost }

func (f *figures) add(own, careless cost) {
	f.own, f.careless = append(f.own, own), append(f.careless, careless)
}

func (f *figures) report(b *testing.B, of string, attacks int) {
	took := func(all []cost) (d durations) {
		for _, c := range all {
			d = append(d, c.took)
		}
		return d
	}
	b.ReportMetric(median(took(f.own))/median(took(f.careless)), "careless"+of)
	b.ReportMetric(median(took(f.own))/float64(attacks)/float64(time.Microsecond), "µs/attack"+of)
	b.ReportMetric(float64(f.own[0].requests), "requests"+of)
	b.ReportMetric(float64(f.own[0].bytes)/1e6, "MB"+of)
	b.ReportMetric(float64(f.own[0].bytes)/float64(f.careless[0].bytes), "careless-bytes"+of)
	b.ReportMetric(0, "ns/op")
}

// flood is a service whose records are written beforehand, polled by a poller and by a careless one.
type flood struct {
	own      *poller.Poller
	careless carelessPoller

	mu       sync.Mutex
	records  [][]byte // the newest first
	answered time.Time
	cost     cost
	found    int
	at       time.Time // when the last one was found
}

// newFlood is a service with that many attacks, hit a minute ago, which both pollers know.
func newFlood(b *testing.B, known int) *flood {
	s := &flood{}
	server := httptest.NewServer(s)
	b.Cleanup(server.Close)
	c, err := apiclient.New(apiclient.Config{BaseURL: server.URL, Token: "s3cret", ClientID: 5})
	require.NoError(b, err)
	store := fixedStore{record.PollState{LastGood: time.Now(), FirstStart: time.Now()}}
	s.own = poller.New(poller.Config{Account: accountOf("acme", "C0"), API: c, Store: store, Notifier: s})
	s.careless = carelessPoller{url: server.URL, known: map[string]bool{}}
	s.add(known, 0)
	for range 2 { // the second is no sweep
		require.NoError(b, s.own.Poll(b.Context()))
		s.careless.poll(b, s.passOn)
	}
	return s
}

// add puts new attacks above the known ones.
func (s *flood) add(n, known int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var added [][]byte
	for i := range n {
		r := stillRecord(8*(known+i), time.Now())
		r.last = time.Now().Add(-time.Minute)
		added = append(added, []byte(r.json()))
	}
	s.records = append(added, s.records...)
}

// race has both pollers poll once, until each has found so many new attacks.
func (s *flood) race(b *testing.B, attacks int) (own, careless cost) {
	one := func(poll func()) cost {
		s.mu.Lock()
		s.cost, s.found = cost{}, 0
		s.mu.Unlock()
		begun := time.Now()
		poll()
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Equal(b, attacks, s.found)
		if s.cost.took = time.Since(begun); attacks > 0 {
			s.cost.took, s.cost.passed = s.at.Sub(begun), s.at.Sub(s.answered)
		}
		return s.cost
	}
	own = one(func() { require.NoError(b, s.own.Poll(b.Context())) })
	return own, one(func() { s.careless.poll(b, s.passOn) })
}

func (s *flood) passOn(attacks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found += attacks; attacks > 0 {
		s.at = time.Now()
	}
}

// Saved implements poller.Notifier.
func (s *flood) Saved(_ string, u record.PollUpdate) { s.passOn(len(u.Events)) }

// ServeHTTP lists attacks.
func (s *flood) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var query struct{ Offset, Limit int }
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &query)
	s.mu.Lock()
	defer s.mu.Unlock()
	page := s.records[min(query.Offset, len(s.records)):min(query.Offset+query.Limit, len(s.records))]
	if bytes.Contains(body, []byte(`"!vulnid"`)) {
		page = nil
	}
	answer := slices.Concat([]byte(`{"status":200,"body":[`), bytes.Join(page, []byte(",")), []byte("]}"))
	s.cost.requests++
	s.cost.bytes += len(answer)
	if query.Offset == 0 {
		s.answered = time.Now()
	}
	_, _ = w.Write(answer)
}

// carelessPoller posts what it has not seen, and forgets nothing.
type carelessPoller struct {
	url   string
	known map[string]bool
}

func (p carelessPoller) poll(b *testing.B, passOn func(attacks int)) {
	for offset := 0; ; {
		found := 0
		res, err := http.Post(p.url+attacks, "application/json", strings.NewReader(fmt.Sprintf(`{"offset":%d,"limit":100}`, offset)))
		require.NoError(b, err)
		var page struct {
			Body []struct {
				ID   string `json:"attackid"`
				Path string `json:"path"`
				Hits int    `json:"hits"`
			}
		}
		require.NoError(b, json.NewDecoder(res.Body).Decode(&page))
		res.Body.Close()
		for _, a := range page.Body {
			if !p.known[a.ID] {
				p.known[a.ID] = true
				found++
			}
		}
		passOn(found)
		if offset += len(page.Body); len(page.Body) == 0 {
			return
		}
	}
}
