package poller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// crowd is a service that lists more attacks than are watched, one a second, and makes each page when it is asked for
// it.
type crowd struct {
	t      *testing.T
	store  *fakeStore
	limits poller.Limits

	mu        sync.Mutex
	newest    int           // the number of the latest attack
	listed    int           // how many of them are listed; below 0: without end
	incidents map[int]int   // hits of incidents, by number
	hits      int           // of the others
	path      string        // what each path begins with
	latest    time.Time     // when number 1,000,000 was hit
	takes     time.Duration // to answer
	fails     int           // from this offset on; 0: never
	asked     int
}

func newCrowd(t *testing.T, listed int) *crowd {
	limits := poller.Limits{Attacks: 500, Bytes: 1 << 20, Time: 5 * time.Minute}
	return &crowd{t: t, store: newStore(t), limits: limits, newest: 1_000_000, listed: listed, incidents: map[int]int{}, hits: 100, path: "/login", latest: time.Now()}
}

// poller is one as after a start of the process.
func (c *crowd) poller() *poller.Poller {
	api, err := apiclient.New(apiclient.Config{BaseURL: "http://service", Token: "s3cret", ClientID: 5, Tries: 1, HTTP: &http.Client{Transport: roundTripper{c}}})
	require.NoError(c.t, err)
	account := accountOf("acme", "C0")
	account.Storm = config.Storm{Over: 10, In: time.Minute}
	return poller.New(poller.Config{
		Account: account, API: api, Store: c.store, Notifier: c.store, Log: slog.New(slog.DiscardHandler), Limits: c.limits,
	})
}

func (c *crowd) change(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// ServeHTTP lists attacks.
func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct{ Offset, Limit int }
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &q)
	c.mu.Lock()
	takes := c.takes
	c.mu.Unlock()
	time.Sleep(takes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if c.fails > 0 && q.Offset >= c.fails {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	var page []string
	if r.URL.Path == attacks && !bytes.Contains(body, []byte(`"!vulnid"`)) {
		for n := q.Offset; n < q.Offset+q.Limit && (n < c.listed || c.listed < 0); n++ {
			page = append(page, c.record(c.newest-n))
		}
	} else if r.URL.Path == attacks && q.Offset == 0 {
		for n := range c.incidents {
			page = append(page, c.record(n))
		}
	}
	_, _ = fmt.Fprintf(w, `{"status":200,"body":[%s]}`, strings.Join(page, ","))
}

func (c *crowd) record(n int) string {
	last, hits, vuln := c.latest.Add(time.Duration(n-1_000_000)*time.Second).Unix(), c.hits, "null"
	if more, ok := c.incidents[n]; ok {
		hits, vuln = more, fmt.Sprint(n)
	}
	return fmt.Sprintf(`{"attackid":"x:%d","domain":"shop.example.com","poolid":4,"method":"POST","path":"%s/%d","type":"sqli","first_time":%d,"last_time":%d,"hits":%d,"ip_count":1,`+
		`"ip_top":[{"ip":"203.0.113.7","count":%d,"country":"FR"}],"block_status":"monitored","vulnid":%s}`, n, c.path, n, last-60, last, hits, hits, vuln)
}

// taken are the events of attacks since the last time, without a storm's.
func (c *crowd) taken() (names []string) {
	for _, e := range c.store.takeEvents() {
		if e.Subject != "" && !record.IsStorm(e.Subject) {
			names = append(names, string(e.Kind)+" "+e.Subject)
		}
	}
	return names
}

func (c *crowd) stored() record.PollState { return c.store.state["acme"] }

// Of a listing without end the newest attacks are watched, and all incidents, however old.
func TestAListingWithoutEnd(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, -1)
	c.incidents = map[int]int{999_000: 100, 999_300: 100}
	p := c.poller()
	require.NoError(t, p.Poll(t.Context()))
	require.LessOrEqual(t, c.asked, 8, "pages of attacks, and two of incidents")
	require.ElementsMatch(t, []string{"new incident x:999300"}, c.taken(), "the other one is over, and was before the first start")
	require.Equal(t, "over 500 attacks in 24 h: only the newest and all incidents are watched", p.Health().Capped)
	require.Len(t, p.Attacks(), 502)
	require.Len(t, c.stored().Attacks, 503, "and the storm")

	c.change(func() { c.newest, c.asked = c.newest+3, 0 })
	require.NoError(t, p.Poll(t.Context()))
	require.LessOrEqual(t, c.asked, 4, "those of the last two minutes")
	require.Len(t, p.Attacks(), 502)
	require.Len(t, c.stored().Attacks, 503)
	require.Empty(t, c.taken(), "they are grouped")

	again := c.poller()
	c.change(func() { c.incidents[999_300] = 100_000; c.incidents[999_100] = 100 })
	require.NoError(t, again.Poll(t.Context()))
	require.ElementsMatch(t, []string{"new incident x:999100", "worsened x:999300"}, c.taken(), "another replica reads everything: nothing else is new")
	require.Equal(t, p.Health().Capped, again.Health().Capped)
	require.Len(t, again.Attacks(), 503)

	c.change(func() { c.latest, c.newest = c.latest.Add(1000*time.Hour), c.newest+2000 })
	require.NoError(t, again.Poll(t.Context()))
	c.change(func() { c.latest, c.newest, c.listed = time.Now().Add(-3000*time.Second), 1_003_003, 10 })
	c.store.takeEvents()
	require.NoError(t, again.Poll(t.Context()))
	require.True(t, again.GoesOn(func(id string) bool { return id == "x:1003003" }), "also after hits that were yet to come")
}

// A cap ends when all attacks fit again, whichever replica polls. What the cap dropped is no event then.
func TestACapEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 505)
		c.latest = time.Now().Add(-time.Hour)
		run := func(d time.Duration) (capped string) {
			ctx, stop := context.WithCancel(t.Context())
			p, ended := c.poller(), make(chan struct{})
			go func() { defer close(ended); _ = p.Run(ctx) }()
			after(d)
			capped = p.Health().Capped
			stop()
			<-ended
			return capped
		}
		require.Equal(t, "over 500 attacks in 24 h: only the newest and all incidents are watched", run(11*time.Minute))
		require.Equal(t, "over 500 attacks in 24 h", c.stored().Cap.Over)
		c.change(func() { c.listed = 440 })
		require.Empty(t, run(time.Minute))
		require.Empty(t, c.stored().Cap.Over)
		c.taken()
		c.change(func() { c.listed = 499 })
		require.Empty(t, run(time.Minute))
		require.Empty(t, c.taken())
	})
}

// An attack that is hit again after the cap dropped it is a new record: its events are others than those before, of
// which people were notified within the hour.
func TestEventsOfADroppedAttackAreNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 0)
		c.limits.Attacks = 1
		p := c.poller()
		poll := func(newest, listed, hits int) []string {
			time.Sleep(time.Minute)
			c.change(func() { c.newest, c.listed, c.hits, c.latest = newest, listed, hits, time.Now().Add(-time.Second) })
			require.NoError(t, p.Poll(t.Context()))
			return c.taken()
		}
		require.Empty(t, poll(1_000_000, 0, 100))
		require.Equal(t, []string{"new attack x:1000000"}, poll(1_000_000, 1, 100))
		require.Equal(t, []string{"worsened x:1000000"}, poll(1_000_000, 1, 1_000))
		require.Contains(t, poll(1_000_001, 2, 1_000), "new attack x:1000001")
		require.NotContains(t, c.stored().Attacks, "x:1000000")
		delete(c.store.ids, record.CardDelivery("acme", "x:1000000")) // the card is the attack's again
		require.Contains(t, poll(1_000_000, 1, 1_000), "new attack x:1000000")
		require.Contains(t, poll(1_000_000, 1, 10_000), "worsened x:1000000", "the store has seen no event twice")
	})
}

// Where the service doesn't say when attacks were hit, what is dropped hides no attack that comes later.
func TestAttacksWithoutTimes(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, -1)
	c.latest = time.Unix(0, 0).Add(-1000 * time.Hour) // which is no time to the client
	p := c.poller()
	require.NoError(t, p.Poll(t.Context()))
	require.NotEmpty(t, p.Health().Capped)
	require.True(t, c.stored().Cap.Edge.IsZero())
	c.change(func() { c.latest, c.newest, c.listed = time.Now(), 1_000_000, 5 })
	require.NoError(t, p.Poll(t.Context()))
	require.Len(t, p.Attacks(), 500)
	require.True(t, p.GoesOn(func(id string) bool { return id == "x:1000000" }))
}

// What a first start finds is judged and stored in parts where it is very much. People are notified of it as a whole,
// also if the service breaks off in between.
func TestAFirstStartWithVeryManyAttacks(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 5_200)                                           // a part is 5,000
	c.limits, c.latest = poller.Limits{}, time.Now().Add(4*time.Hour) // so that all go on
	c.incidents = map[int]int{999_999: 100, 994_850: 100}
	c.fails = 5_100
	p := c.poller()
	require.Error(t, p.Poll(t.Context()))
	events := c.store.takeEvents()
	require.Equal(t, record.NewIncident, events[0].Kind)
	require.Len(t, events, 2, "and the storm")
	require.Zero(t, c.stored().LastGood)

	c.change(func() { c.fails = 0 })
	require.NoError(t, p.Poll(t.Context()))
	events = c.store.takeEvents()
	require.Equal(t, record.FirstStartFacts{Ongoing: 5_200, Grouped: 5_198, Incidents: 2}, first(events, record.FirstStart).Detail)
	require.NotNil(t, first(events, record.NewIncident).Detail, "that was not read before")
	require.Len(t, c.stored().Attacks, 5_201)
	require.NoError(t, p.Poll(t.Context()))
	require.Empty(t, c.store.takeEvents())
}

// first is the first event of a kind.
func first(events []record.Event, kind record.EventKind) (e record.Event) {
	if i := slices.IndexFunc(events, func(e record.Event) bool { return e.Kind == kind }); i >= 0 {
		e = events[i]
	}
	return e
}

// What attackers write counts, too.
func TestAttacksThatAreLong(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 400)
	c.path = "/" + strings.Repeat("a", 8000)
	p := c.poller()
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, "over 1 MB of attacks in 24 h: only the newest and all incidents are watched", p.Health().Capped)
	known := len(p.Attacks())
	require.Equal(t, 200, known, "two pages")
	c.taken()
	again := c.poller()
	require.NoError(t, again.Poll(t.Context()))
	require.Len(t, again.Attacks(), known)
	require.Empty(t, c.taken())
}

// Of a service that lists so slowly that a poll would never end, the newest attacks are watched, and nothing is taken
// for gone.
func TestAServiceThatListsSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 300)
		c.limits = poller.Limits{} // as it is
		p := c.poller()
		require.NoError(t, p.Poll(t.Context()))
		require.Len(t, p.Attacks(), 300)
		c.taken()

		time.Sleep(15 * time.Minute) // a sweep is due
		c.change(func() {
			c.latest, c.newest, c.listed, c.asked, c.takes = time.Now(), 1_010_000, -1, 0, 10*time.Second
			c.incidents[1_005_000] = 100
		})
		begun := time.Now()
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, 5*time.Minute, time.Since(begun))
		require.Equal(t, "more attacks in 24 h than the service lists in 5 min: only the newest and all incidents are watched", p.Health().Capped)
		require.Len(t, p.Attacks(), 300+28*100+1, "two of 30 requests were for incidents")
		require.Contains(t, c.taken(), "new incident x:1005000")

		c.change(func() { c.listed, c.takes = 10, 0 })
		time.Sleep(10 * time.Minute)
		require.NoError(t, p.Poll(t.Context()))
		require.Empty(t, p.Health().Capped)
	})
}
