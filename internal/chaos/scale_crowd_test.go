package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// How many hits the routes of the scale run ask for, how many an attack has that is worth a card, and how many noise
// has.
const (
	wantedHits = 30
	cardHits   = 100
	noiseHits  = 5
)

// crowd is the service with very many accounts. What lists attacks, nearly all that polls ask, is written beforehand,
// so that what is measured is not the emulation; the emulated service answers all else.
type crowd struct {
	service http.Handler
	tenants map[string]*tenant // by token
	listed  func(path string, at time.Time)

	mu               sync.Mutex
	requests, serial int
	marked           time.Time
}

// tenant is an account of the service.
type tenant struct {
	number  int
	channel string

	mu      sync.Mutex
	records []*crowdRecord // the newest first
	polled  time.Time
	gap     time.Duration // the longest between two polls
	again   time.Time     // the first poll since the mark
}

type crowdRecord struct {
	text   []byte
	path   string
	listed bool
}

func tenantToken(n int) string { return fmt.Sprintf("token-%05d", n) }

func tenantName(n int) string { return fmt.Sprintf("account-%05d", n) }

func channelOf(n, channels int) string { return fmt.Sprintf("C0SC%05d", n%channels) }

// newCrowd has so many accounts, each with attacks that are over.
func newCrowd(s size) *crowd {
	c := &crowd{tenants: map[string]*tenant{}}
	var accounts []waf.Account
	for n := range s.Accounts {
		accounts = append(accounts, waf.Account{
			Name: tenantName(n), Token: tenantToken(n), ClientID: n + 1, Applications: []waf.Application{{ID: 4, Name: "Shop", Host: "shop.example.com", Mode: "monitoring"}},
		})
		t := &tenant{number: n, channel: channelOf(n, s.Channels)}
		for i := range s.Attacks {
			ago := time.Hour + time.Duration(i)*10*time.Minute%(18*time.Hour)
			t.records = append(t.records, c.record(t, noiseHits, time.Now().Add(-ago)))
		}
		c.tenants[tenantToken(n)] = t
	}
	c.service = waf.New(waf.Config{Accounts: accounts})
	return c
}

// record makes a record of an attack, with so many hits until then.
func (c *crowd) record(t *tenant, hits int, last time.Time) *crowdRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	id := c.serial
	r := &crowdRecord{path: fmt.Sprintf("/scale/%d", id)}
	r.text = fmt.Appendf(nil, `{"id":["attacks_x_%d_202611_v_1","S%08d"],"attackid":"attacks_x_%d_202611_v_1:S%08d","clientid":%d,"domain":"shop.example.com","poolid":4,"method":"POST",`+
		`"parameter":"POST_FORM_URLENCODED_login_value","path":"%s","type":"sqli","first_time":%d,"last_time":%d,"hits":%d,"ip_count":1,"ip_top":[{"ip":"45.%d.%d.%d","count":%d,"country":"FR"}],`+
		`"country_top":[{"country":"FR","count":%d}],"statuscodes":[200],"vulnid":null,"threat":60,"target":"server","vectors_count":1,"block_status":"monitored","state":null}`,
		t.number+1, id, t.number+1, id, t.number+1, r.path, last.Add(-time.Minute).Unix(), last.Unix(), hits, id>>16&255, id>>8&255, id&255, hits, hits)
	return r
}

// begin has an attack be listed.
func (t *tenant) begin(r *crowdRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = slices.Insert(t.records, 0, r)
}

// ServeHTTP implements http.Handler.
func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := c.tenants[r.Header.Get("X-ServiceApi-Token")]
	if t == nil || r.URL.Path != "/v1/objects/attack" {
		c.service.ServeHTTP(w, r)
	} else {
		c.list(w, r, t)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
}

// list is a page of a tenant's attacks. None of them is an incident.
func (c *crowd) list(w http.ResponseWriter, r *http.Request, t *tenant) {
	body, err := io.ReadAll(r.Body)
	var query struct{ Offset, Limit int }
	if err != nil || json.Unmarshal(body, &query) != nil {
		http.Error(w, `{"status":400,"body":"Invalid JSON"}`, http.StatusBadRequest)
		return
	}
	var page [][]byte
	if !bytes.Contains(body, []byte(`"!vulnid"`)) {
		page = c.page(t, query.Offset, query.Limit)
	}
	text := slices.Concat([]byte(`{"status":200,"body":[`), bytes.Join(page, []byte(",")), []byte(`]}`))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

// page notes that the tenant is polled, and what is listed for the first time.
func (c *crowd) page(t *tenant, offset, limit int) (page [][]byte) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if offset == 0 {
		if !t.polled.IsZero() {
			t.gap = max(t.gap, now.Sub(t.polled))
		}
		t.polled = now
		if t.again.IsZero() {
			t.again = now
		}
	}
	for _, r := range t.records[min(offset, len(t.records)):min(offset+limit, len(t.records))] {
		page = append(page, r.text)
		if !r.listed {
			c.listed(r.path, now)
			r.listed = true
		}
	}
	return page
}

// add adds how many accounts were polled ever, and since the last reset what was asked and the longest time between two
// polls of one, up to now.
func (c *crowd) add(f *figures) {
	for _, t := range c.tenants {
		t.mu.Lock()
		if !t.polled.IsZero() {
			f.Accounts++
			f.Gap = max(f.Gap, t.gap, time.Since(t.polled))
		}
		t.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.Requests = c.requests
}

// mark marks now.
func (c *crowd) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marked = time.Now()
	for _, t := range c.tenants {
		t.mu.Lock()
		t.again = time.Time{}
		t.mu.Unlock()
	}
}

// sinceMark is how long after the mark each account was polled, by number; 0: not yet.
func (c *crowd) sinceMark() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]time.Duration, len(c.tenants))
	for _, t := range c.tenants {
		t.mu.Lock()
		if !t.again.IsZero() {
			all[t.number] = t.again.Sub(c.marked)
		}
		t.mu.Unlock()
	}
	return all
}

func (c *crowd) reset() {
	for _, t := range c.tenants {
		t.mu.Lock()
		t.gap = 0
		t.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = 0
}
