package chaos

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

var (
	scales        = flag.Bool("scale", false, "whether TestScale runs")
	scaleAccounts = flag.Int("scale.accounts", 1000, "how many accounts there are")
	scaleChannels = flag.Int("scale.channels", 300, "how many channels they share")
	scaleAttacks  = flag.Int("scale.attacks", 100, "how many attacks of the last hours each has")
	scaleRate     = flag.Int("scale.rate", 50, "how many attacks begin a second, over all")
	scaleReplicas = flag.String("scale.replicas", "1,2,4", "with how many replicas it runs, each in a run of its own")
	scaleRedis    = flag.String("scale.redis", "one,cluster", "with which Redis, likewise")
	scaleFor      = flag.Duration("scale.for", time.Minute, "how long it is measured at rest, and how long under load")
	scaleKills    = flag.Int("scale.kills", 3, "how many replicas are killed, one each half minute")
	scaleDoc      = flag.String("scale.doc", "", "the document that gets the table; empty: it is printed alone")
)

// postsOfWorkspace is how many cards a second the workspace can be given for long: Slack takes some 300 messages a
// minute there, and others need room.
const postsOfWorkspace = 4

// TestScale runs the shipped program with very many accounts, and measures what that costs.
func TestScale(t *testing.T) {
	if !*scales {
		t.Skip("takes half an hour: make scale")
	}
	require.Less(t, worthCards()*float64(*scaleRate)*60/float64(max(1, *scaleAccounts-inStorm)), 8.0, "so many attacks of one account a minute are a storm, and have no cards: take more accounts, or a lower rate")
	binary := build(t)
	var all []measured
	for kind := range strings.SplitSeq(*scaleRedis, ",") {
		for n := range strings.SplitSeq(*scaleReplicas, ",") {
			replicas, err := strconv.Atoi(n)
			require.NoError(t, err)
			t.Run(kind+"/"+n, func(t *testing.T) {
				m := openScale(t, binary, kind, replicas).measure()
				all = append(all, m)
				fmt.Println(scaleTable([]measured{m}))
				require.Equal(t, m.left.Wanted, m.left.Posted, "cards are missing")
				require.Zero(t, m.left.Twice)
			})
		}
	}
	if *scaleDoc != "" && !t.Failed() {
		require.NoError(t, writeTable(*scaleDoc, scaleTable(all)))
	}
}

// scale is a run with so many replicas.
type scale struct {
	t        *testing.T
	size     size
	kind     string
	world    *process
	url      string
	http     *http.Client
	replicas []*replica
	servers  []string // of Redis, that take writes
	redis    redis.UniversalClient
	empty    usage // what the servers of Redis took before
}

var worldAt = regexp.MustCompile(`world=(\S+)`)

// openScale starts everything and waits until each account is polled.
func openScale(t *testing.T, binary, kind string, replicas int) *scale {
	t.Helper()
	dir := logsOf(t, "scale")
	s := &scale{t: t, kind: kind}
	s.size = size{Accounts: *scaleAccounts, Channels: *scaleChannels, Attacks: *scaleAttacks, CertFile: filepath.Join(dir, "ca.pem")}
	s.size.Deliver = balance(t, func() []*replica { return s.replicas })
	t.Setenv("SSL_CERT_FILE", s.size.CertFile)
	s.openWorld(dir)
	url := s.openRedis()
	config := filepath.Join(dir, "wafbot.yaml")
	require.NoError(t, os.WriteFile(config, []byte(s.config(url)), 0o600))
	s.empty = s.redisUsage()
	for n := range replicas {
		one := &replica{t: t, number: n, binary: binary, config: config, logs: dir}
		require.NoError(t, one.start())
		s.replicas = append(s.replicas, one)
	}
	require.Eventually(t, func() bool { return s.figures().Accounts == s.size.Accounts }, 5*time.Minute, time.Second, "not all accounts are polled")
	s.settle()
	s.ask("limits", struct{}{})
	return s
}

// openWorld starts the emulated service and workspace in a process of their own, over TLS.
func (s *scale) openWorld(dir string) {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	text, err := json.Marshal(s.size)
	require.NoError(s.t, err)
	cmd := exec.Command(self, "-test.run=^TestScaleWorld$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), worldVariable+"="+string(text), "GOGC=400")
	_, err = cmd.StdinPipe()
	require.NoError(s.t, err)
	s.world, s.url, err = start(s.t, dir, "world", cmd, worldAt)
	require.NoError(s.t, err)
	s.http = trusting(s.t, s.size.CertFile)
}

// openRedis starts the run's Redis, and returns its address.
func (s *scale) openRedis() (url string) {
	s.t.Helper()
	switch s.kind {
	case "one":
		one := redistest.StartDurable(s.t)
		s.servers, url = []string{one.Addr}, one.URL()
		s.redis = redis.NewClient(&redis.Options{Addr: one.Addr})
	case "cluster":
		set := redistest.StartCluster(s.t, nil)
		for _, m := range set.Masters() {
			s.servers = append(s.servers, m.Addr)
		}
		url = set.URL
		s.redis = redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.servers})
	default:
		s.t.Fatalf("there is no Redis %q", s.kind)
	}
	s.t.Cleanup(func() { require.NoError(s.t, s.redis.Close()) })
	return url
}

// config is the replicas' configuration.
func (s *scale) config(redis string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "slack: {bot_token: %s, signing_secret: %s, api_url: \"%s/slack/api/\"}\n", scaleToken, scaleSecret, s.url)
	fmt.Fprintf(&b, `
redis: {url: "%s"}
sources: []
policy: {changes: on, viewers: [], admins: [%s]}
account_defaults:
  api_url: "%s/service"
  poll_interval: 15s
  routes: [{match: {kind: incident}}, {match: {kind: attack, min_hits: %d}}]
accounts:
`, redis, scaleUser, s.url, wantedHits)
	for n := range s.size.Accounts {
		fmt.Fprintf(&b, "  - {name: %s, token: %s, client_id: %d, channel: %s}\n", tenantName(n), tenantToken(n), n+1, channelOf(n, s.size.Channels))
	}
	return b.String()
}

// ask asks the world for something, and returns what it answers.
func (s *scale) ask(what string, body any) []byte {
	s.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(s.t, err)
	res, err := s.http.Post(s.url+"/scale/"+what, "application/json", bytes.NewReader(text))
	require.NoError(s.t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, res.StatusCode, "%s", answer)
	return answer
}

func (s *scale) figures() (f figures) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal(s.ask("figures", struct{}{}), &f))
	return f
}

// settle waits until no message was posted for five seconds: each account has said that it is watched.
func (s *scale) settle() {
	s.t.Helper()
	quiet, before := 0, 0
	require.Eventually(s.t, func() bool {
		if quiet++; s.figures().Posts > before {
			quiet, before = 0, s.figures().Posts
		}
		return quiet >= 5
	}, 10*time.Minute, time.Second, "messages go on")
}

// worthCards is the share of new attacks that is worth a card: as many as the workspace takes.
func worthCards() float64 { return min(1, postsOfWorkspace/float64(*scaleRate)) }

// measured is what a run found.
type measured struct {
	kind            string
	replicas        int
	size            size
	rest, busy      spent
	restAt, loadSaw figures
	httpTrip, trip  time.Duration
	watched         time.Duration   // until all accounts of a killed replica were owned again
	polled          []time.Duration // how long after it each of them was polled
	left            figures         // at the end
}

// measure measures at rest, under load, and while replicas are killed.
func (s *scale) measure() (m measured) {
	m.kind, m.replicas, m.size = s.kind, len(s.replicas), s.size
	m.httpTrip, m.trip = s.trips()
	s.ask("reset", struct{}{})
	m.rest = s.during(func() { pause(s.t.Context(), *scaleFor) })
	m.restAt = s.figures()
	s.ask("reset", struct{}{})
	m.busy = s.during(func() { s.ask("load", load{Lasts: *scaleFor, Rate: *scaleRate, Cards: worthCards(), Storm: true}) })
	s.settle()
	m.loadSaw = s.figures()
	s.ask("reset", struct{}{})
	m.watched, m.polled = s.kills()
	for end := time.Now().Add(2 * time.Minute); ; pause(s.t.Context(), time.Second) { // what was listed while an owner died is posted by the next one, and the last click is answered
		if m.left = s.figures(); m.left.Posted == m.left.Wanted && m.left.Unanswered == 0 || time.Now().After(end) {
			break
		}
	}
	return m
}

// killEvery is how long after a replica the next one is killed.
const killEvery = 30 * time.Second

// kills kills one replica after another under load, and has it back ten seconds later, or at once where it is the only
// one.
func (s *scale) kills() (watched time.Duration, polled []time.Duration) {
	if *scaleKills == 0 {
		return 0, nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ask("load", load{Lasts: time.Duration(*scaleKills) * killEvery, Rate: *scaleRate, Cards: worthCards()})
	}()
	for n := range *scaleKills {
		next := time.After(killEvery)
		one := s.replicas[n%len(s.replicas)]
		before := s.owners()
		s.ask("mark", struct{}{})
		killed := time.Now()
		one.kill()
		if len(s.replicas) == 1 {
			require.NoError(s.t, one.start())
		}
		last, orphans := s.owned(before, killed)
		watched = max(watched, last)
		if len(s.replicas) > 1 {
			pause(s.t.Context(), time.Until(killed.Add(10*time.Second)))
			require.NoError(s.t, one.start())
		}
		<-next
		var since []time.Duration
		require.NoError(s.t, json.Unmarshal(s.ask("marked", struct{}{}), &since))
		for n := range orphans {
			polled = append(polled, since[n])
		}
	}
	<-done
	return watched, polled
}

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

// trusting is a client that trusts a certificate.
func trusting(t testing.TB, file string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(text))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// usage is what the servers of Redis have been asked, and take.
type usage struct {
	commands, bytes, memory int64
	cpu                     time.Duration
}

func (s *scale) redisUsage() (u usage) {
	s.t.Helper()
	for _, addr := range s.servers {
		v, err := askRedis(addr, "INFO")
		require.NoError(s.t, err)
		fields := map[string]string{}
		for line := range strings.Lines(v.words[0]) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			fields[name] = value
		}
		number := func(name string) float64 {
			n, err := strconv.ParseFloat(fields[name], 64)
			require.NoError(s.t, err, name)
			return n
		}
		u.commands += int64(number("total_commands_processed"))
		u.bytes += int64(number("total_net_input_bytes") + number("total_net_output_bytes"))
		u.memory += int64(number("used_memory"))
		u.cpu += time.Duration((number("used_cpu_user") + number("used_cpu_sys")) * float64(time.Second))
	}
	return u
}

// spent is what was used in a time.
type spent struct {
	took            time.Duration
	replicas, world time.Duration // of processors
	redis           usage         // but its memory: in the end
	resident        int64         // bytes of all replicas, in the end
}

// during is what everything used while something went on.
func (s *scale) during(do func()) (u spent) {
	s.t.Helper()
	begun, replicas, world, redis := time.Now(), s.cpu(), cpuOf(s.t, s.world), s.redisUsage()
	do()
	after := s.redisUsage()
	u.took, u.replicas, u.world = time.Since(begun), s.cpu()-replicas, cpuOf(s.t, s.world)-world
	u.redis = usage{after.commands - redis.commands, after.bytes - redis.bytes, after.memory - s.empty.memory, after.cpu - redis.cpu}
	for _, one := range s.replicas {
		u.resident += residentOf(s.t, one.process)
	}
	return u
}

func (s *scale) cpu() (sum time.Duration) {
	for _, one := range s.replicas {
		sum += cpuOf(s.t, one.process)
	}
	return sum
}

// cpuOf is the processor time that a process has used. Linux counts hundredths of a second.
func cpuOf(t testing.TB, p *process) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name
	fields := strings.Fields(rest)
	user, err := strconv.ParseInt(fields[11], 10, 64)
	require.NoError(t, err)
	system, err := strconv.ParseInt(fields[12], 10, 64)
	require.NoError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// residentOf is the memory of a process, in bytes.
func residentOf(t testing.TB, p *process) int64 {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// trips are the machine's own round trips: over TLS to the world, and to Redis. They are medians.
func (s *scale) trips() (http, redis time.Duration) {
	s.t.Helper()
	var https, pings []time.Duration
	for range 300 {
		begun := time.Now()
		res, err := s.http.Get(s.url + "/scale/nothing")
		require.NoError(s.t, err)
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(s.t, err)
		res.Body.Close()
		https = append(https, time.Since(begun))
		begun = time.Now()
		require.NoError(s.t, s.redis.Ping(s.t.Context()).Err())
		pings = append(pings, time.Since(begun))
	}
	return part(https, 0.5), part(pings, 0.5)
}

// part is the duration that a part of all don't exceed; 0 of none.
func part(all []time.Duration, of float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(of*float64(len(sorted))))]
}

// owners are the tokens of all accounts' leases, by number; "": none.
func (s *scale) owners() []string {
	s.t.Helper()
	p := s.redis.Pipeline()
	asked := make([]*redis.StringCmd, s.size.Accounts)
	for n := range asked {
		asked[n] = p.Get(context.Background(), fmt.Sprintf("{a:%s}:lease", tenantName(n)))
	}
	_, _ = p.Exec(context.Background()) // of leases that aren't there it says so
	tokens := make([]string, len(asked))
	for n, one := range asked {
		tokens[n] = one.Val()
	}
	return tokens
}

// owned waits until each account that lost its owner has another one, and returns how long after the kill the last of
// them had, and which they are.
func (s *scale) owned(before []string, killed time.Time) (last time.Duration, found map[int]bool) {
	s.t.Helper()
	const watch = 8 * time.Second // a lease ends within four
	found = map[int]bool{}
	for without := 1; without > 0 || time.Since(killed) < watch; pause(s.t.Context(), 100*time.Millisecond) {
		require.Less(s.t, time.Since(killed), 2*time.Minute, "accounts without an owner: %d", without)
		without = 0
		for n, token := range s.owners() {
			switch {
			case token == "":
				without++
			case token != before[n] && !found[n]:
				found[n] = true
				last = time.Since(killed)
			}
		}
	}
	return last, found
}
