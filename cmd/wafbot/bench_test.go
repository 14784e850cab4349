package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// BenchmarkOneByOne is two hundred attacks one by one, at twenty a second: from the service's answer with it to the arrival of its card at Slack, by
// wafbot and by a careless poller.
func BenchmarkOneByOne(b *testing.B) {
	const attacks = 200
	var bot, careless durations
	sample(b, 1, func(int) {
		bot = append(bot, oneByOne(b, theBot, attacks)...)
		careless = append(careless, oneByOne(b, carelessPoller, attacks)...)
	})
	reportBeside(b, "", bot, careless)
}

func oneByOne(b *testing.B, name string, attacks int) (took durations) {
	b.Helper()
	s := newStage(b, unlimited())
	s.listing.prepare(b, s.waf, nil)
	p := s.run(b, name)
	defer p.stop()
	s.listing.awaitPolls(2)
	s.listing.prepare(b, s.waf, shownRow{attacks: attacks}.specs())
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range attacks {
		<-tick.C
		s.listing.reveal(1)
	}
	require.True(b, s.seen.until("posted", attacks), "not all were posted")
	listed, _ := s.seen.first("listed")
	posted, _ := s.seen.first("posted")
	for path, at := range posted {
		took.add(at.Sub(listed[path]))
	}
	return took
}

// BenchmarkColdStart is from the start of the built binary to its first answer on /healthz, and what memory it holds after some polls.
func BenchmarkColdStart(b *testing.B) {
	s := newStage(b, unlimited())
	binary := filepath.Join(b.TempDir(), "wafbot")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, string(out))
	var starts durations
	var memory []float64
	sample(b, 5, func(int) {
		started, resident := s.coldStart(b, binary)
		starts.add(started)
		memory = append(memory, resident)
	})
	slices.Sort(memory)
	b.ReportMetric(starts.median().Seconds()*1000, "ms")
	b.ReportMetric(memory[len(memory)/2], "MB")
	b.ReportMetric(0, "ns/op")
}

// enough samples make a median of what is fast.
const enough = 25

// longEnough is after how long a sample isn't taken again for the sake of its median: what lasts so long varies little.
const longEnough = time.Minute

func sample(b *testing.B, least int, take func(n int)) {
	begun, n := time.Now(), 0
	for b.Loop() {
		take(n)
		n++
	}
	for ; n < least && time.Since(begun) < longEnough; n++ {
		take(n)
	}
}

type durations []time.Duration

func (d *durations) add(one time.Duration) { *d = append(*d, one) }

func (d durations) median() time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// reportBeside reports the median of what wafbot took, and what that is as a ratio to a careless bot.
func reportBeside(b *testing.B, of string, bot, careless durations) {
	b.ReportMetric(float64(bot.median().Microseconds()), of+"µs")
	b.ReportMetric(float64(careless.median().Microseconds()), of+"careless-µs")
	b.ReportMetric(float64(bot.median())/float64(careless.median()), of+"x-careless")
	b.ReportMetric(0, "ns/op") // it has waiting in it
}

// coldStart runs the binary once: how long until it answers, and how many MB it holds after two seconds of polls.
func (s *stage) coldStart(b *testing.B, binary string) (started time.Duration, resident float64) {
	b.Helper()
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(slices.Clone(s.environ), "WAFBOT_LISTEN=127.0.0.1:0")
	begun := time.Now()
	address, kill := launch(b, cmd)
	defer kill()
	status, _ := fetch(b, "http://"+address+"/healthz")
	started = time.Since(begun)
	require.Equal(b, http.StatusOK, status)
	s.listing.awaitPolls(7) // one each 250 ms
	return started, memoryMB(b, cmd.Process.Pid, "VmRSS")
}

// memoryMB is the memory that a process holds (VmRSS), or has held at most (VmHWM); 0 where the system doesn't report it in Linux' way.
func memoryMB(b testing.TB, pid int, field string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if runtime.GOOS != "linux" {
		return 0
	}
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(status), field+":")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(b, err)
	return kb * 1024 / 1e6
}

// careless is a bot as one would write it first. It stores and verifies nothing: it lists attacks and posts a line
// about each that it doesn't know, again after each failure; it acknowledges a click, calls the service and updates the
// card.
type careless struct {
	url     string // of the stage
	posts   *http.Client
	service *apiclient.Client
	slack   *slack.Client
	known   map[string]bool // attacks, by id
}

func newCareless(stage string) *careless {
	service, err := apiclient.New(apiclient.Config{BaseURL: stage + "/service", Token: "token", ClientID: 5})
	if err != nil {
		panic(err) // it is a constant address
	}
	return &careless{
		url: stage, posts: &http.Client{Timeout: 250 * time.Millisecond}, service: service,
		slack: slack.New("xoxb-bench", slack.OptionAPIURL(stage+"/slack/api/")), known: map[string]bool{},
	}
}

// poll lists attacks as often as wafbot does. What it finds first was there before it.
func (c *careless) poll() {
	for before := true; ; time.Sleep(250 * time.Millisecond) {
		if err := c.pollOnce(before); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		before = false
	}
}

func (c *careless) pollOnce(before bool) error {
	const limit = 100
	for offset := 0; ; offset += limit {
		query := fmt.Sprintf(`{"filter":{"clientid":[5]},"order_by":"last_time","order_desc":true,"offset":%d,"limit":%d}`, offset, limit)
		req, err := http.NewRequest(http.MethodPost, c.url+"/service/v1/objects/attack", strings.NewReader(query))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Serviceapi-Token": {"token"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		var page struct {
			Body []struct{ AttackID, Path string }
		}
		err = json.NewDecoder(res.Body).Decode(&page)
		res.Body.Close()
		if err != nil {
			return err
		}
		for _, a := range page.Body {
			if !c.known[a.AttackID] && !before {
				c.post("attack on " + a.Path)
			}
			c.known[a.AttackID] = true
		}
		if len(page.Body) < limit {
			return nil
		}
	}
}

// post posts a line until Slack says that it has it.
func (c *careless) post(text string) {
	for {
		res, err := c.posts.PostForm(c.url+"/slack/api/chat.postMessage", url.Values{"token": {"xoxb-bench"}, "channel": {"C0WAF0001"}, "text": {text}})
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
		pause, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		time.Sleep(time.Duration(pause) * time.Second)
	}
}

// takeClick acknowledges a click at once.
func (c *careless) takeClick(w http.ResponseWriter, r *http.Request) {
	verifier, err := slack.NewSecretsVerifier(r.Header, benchSecret)
	body, _ := io.ReadAll(io.TeeReader(r.Body, &verifier))
	if err != nil || verifier.Ensure() != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	go func() {
		if err := c.deny(string(body)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
}

func (c *careless) deny(body string) error {
	form, err := url.ParseQuery(body)
	if err != nil {
		return err
	}
	var p slack.InteractionCallback
	if err := json.Unmarshal([]byte(form.Get("payload")), &p); err != nil {
		return err
	}
	address := strings.Fields(p.ActionCallback.BlockActions[0].Value)[1]
	entry := apiclient.IPRule{
		List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.PrefixFrom(netip.MustParseAddr(address), 32), Apps: []int{apiclient.AllApps},
		Reason: "careless", Expires: time.Now().Add(4 * time.Hour),
	}
	if _, err := c.service.AddIPRule(context.Background(), entry, false); err != nil {
		return err
	}
	words := fmt.Sprintf("Deny %s everywhere for 4 h: accepted by the service", address)
	section := slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, words, false, false), nil, nil)
	if _, _, _, err := c.slack.UpdateMessage(p.Channel.ID, p.Container.MessageTs, slack.MsgOptionBlocks(section)); err != nil {
		return err
	}
	res, err := http.Post(p.ResponseURL, "application/json", bytes.NewReader([]byte(words)))
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// undoPatch creates a patch and at once deletes what is listed of it.
func (c *careless) undoPatch(ctx context.Context, patch apiclient.Rule) error {
	if _, err := c.service.CreateRule(ctx, patch); err != nil {
		return err
	}
	for rule, err := range c.service.Rules(ctx, 0) {
		if err != nil {
			return err
		}
		if rule.Type == patch.Type {
			if err := c.service.DeleteRule(ctx, rule.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// The programs that are compared. Each runs in a process of its own, so that it can be killed, and that what it costs is known without the emulation.
// All are the test binary, told which by a variable.
const (
	theBot          = "wafbot"
	carelessPoller  = "careless poller"
	carelessClicker = "careless clicker"

	programVariable = "BENCH_PROGRAM"
	stageVariable   = "BENCH_STAGE" // where careless ones find the service and the workspace
)

// beProgram runs a program in place of the tests, and doesn't return.
func beProgram(name string) {
	if name == theBot {
		os.Args = []string{"wafbot", "serve"}
		main()
	}
	c := newCareless(os.Getenv(stageVariable))
	if name == carelessPoller {
		go c.poll()
	}
	l, err := net.Listen("tcp", os.Getenv("WAFBOT_LISTEN"))
	if err == nil {
		fmt.Fprintln(os.Stderr, "msg=listening address="+l.Addr().String())
		err = http.Serve(l, http.HandlerFunc(c.takeClick))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(exitFailed)
}

// program is a program that runs.
type program struct {
	cmd     *exec.Cmd
	address string
	stop    func() // kills it
}

// run starts a program that works on the stage, until it is stopped or the benchmark ends.
func (s *stage) run(b testing.TB, name string) *program {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(cmp.Or(s.binary, self), "serve")
	cmd.Env = append(slices.Clone(s.environ), "WAFBOT_LISTEN=127.0.0.1:0", programVariable+"="+name, stageVariable+"="+s.url)
	cmd.Stdout = s.logs
	address, kill := launch(b, cmd)
	p := &program{cmd: cmd, address: "http://" + address, stop: kill}
	if name == theBot {
		s.slack.DeliverTo(p.address)
	}
	return p
}

// listening is the line that a program logs when it does, and where.
var listening = regexp.MustCompile(`(?i)msg="?listening.* address=(\S+)`)

// launch starts a process and returns when and where it listens. What it logs goes where its output goes.
func launch(b testing.TB, cmd *exec.Cmd) (address string, kill func()) {
	b.Helper()
	logs, err := cmd.StderrPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	b.Cleanup(kill)
	lines := bufio.NewReader(logs)
	for said := ""; ; {
		line, err := lines.ReadString('\n')
		said += line
		if found := listening.FindStringSubmatch(line); found != nil {
			address = found[1]
			break
		}
		require.NoError(b, err, said)
	}
	go func() { _, _ = io.Copy(cmp.Or(cmd.Stdout, io.Discard), lines) }()
	return address, kill
}

// cpu is the processor time that the program has used; 0 where the system doesn't report it in Linux' way.
func (p *program) cpu(b *testing.B) time.Duration {
	b.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name
	fields := strings.Fields(rest)
	var ticks int64
	for _, field := range fields[11:13] { // in user mode and in the kernel
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // Linux counts hundredths of a second
}

// waiting reports whether wafbot has events left to be notified: what is in doubt could still come twice.
func (p *program) waiting(b *testing.B) bool {
	b.Helper()
	_, text := fetch(b, p.address+"/metrics")
	return regexp.MustCompile(`(?m)^wafbot_events_waiting\{.*\} [1-9]`).MatchString(text)
}

// awaitRecorded waits until wafbot has no events left to be notified.
func (p *program) awaitRecorded(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(patienceOfBench); p.waiting(b); time.Sleep(20 * time.Millisecond) {
		require.True(b, time.Now().Before(deadline), "events are left to be notified")
	}
}

const benchSecret = "bench-signing-secret"

// stage is a service and a workspace, both seen through: what is measured is the program that works between them.
type stage struct {
	waf     *waf.Service
	slack   *workspace.Workspace
	url     string
	binary  string    // wafbot; "": this test is
	environ []string  // of wafbot
	logs    io.Writer // takes what programs write; nil: nothing does
	listing *listing
	service http.Handler // answers in the service's place; a trouble comes before it
	posts   http.Handler // takes posts in the workspace's place; a trouble comes before it
	links   http.Handler // opens Socket Mode links in the workspace's place
	seen    *sightings

	requests, bytes atomic.Int64 // that the service was asked, and answered
}

// limits are what holds wafbot back, as it is configured.
type limits struct{ slack, storm string }

func unlimited() limits {
	return limits{"{messages_per_second: 0}", "{over: 100000}"}
}

func asIntended() limits {
	return limits{"{messages_per_second: 1}", "{over: 10, in: 1m}"}
}

func newStage(b testing.TB, limits limits) *stage {
	b.Helper()
	s := &stage{seen: newSightings()}
	s.waf = waf.New(waf.Config{Accounts: []waf.Account{{
		Name: "default", Token: "token", ClientID: 5, Applications: []waf.Application{{ID: 4, Name: "Shop", Host: "shop.example.com", Mode: "monitoring"}},
	}}})
	s.listing = &listing{service: s.waf, polls: make(chan struct{}), seen: s.seen}
	s.service, s.posts = s.listing, http.HandlerFunc(s.post)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	s.url = server.URL
	users := []workspace.User{
		{ID: theClicker, Name: "rob", RealName: "Rob Diaz", TeamID: "T0SANDBOX"}, {ID: otherClicker, Name: "ann", RealName: "Ann Lee", TeamID: "T0SANDBOX"},
		{ID: theGuest, Name: "gus", TeamID: "T0SANDBOX", Restricted: true},
	}
	for _, id := range theStrangers() {
		users = append(users, workspace.User{ID: id, Name: "sam" + id, TeamID: "T0ELSEWHERE", Stranger: true})
	}
	var err error
	s.slack, err = workspace.New(workspace.Config{
		BaseURL: s.url + "/slack", SigningSecret: benchSecret, BotToken: "xoxb-bench", Users: users,
		Channels: []workspace.Channel{{ID: "C0WAF0001", Name: "waf", BotIsMember: true}},
	})
	require.NoError(b, err)
	s.links = s.slack
	mux.HandleFunc("/answer", s.answer)
	mux.Handle("/slack/", http.StripPrefix("/slack", http.HandlerFunc(s.serveSlack)))
	mux.Handle("/service/", http.StripPrefix("/service", http.HandlerFunc(s.serveService)))
	s.environ = []string{
		"WAFBOT_SLACK_BOT_TOKEN=xoxb-bench", "WAFBOT_SLACK_SIGNING_SECRET=" + benchSecret, "WAFBOT_SLACK_API_URL=" + s.url + "/slack/api/",
		"WAFBOT_REDIS_URL=" + benchRedis(b), "WAFBOT_CHANGES=on", "WAFBOT_NEVER_DENY=", "WAFBOT_RESPONDERS=*",
		"WAFBOT_CONFIG=" + writeConfig(b, fmt.Sprintf(`
slack: %s
accounts:
  - {name: default, api_url: "%s/service", token: token, client_id: 5, channel: C0WAF0001, poll_interval: 250ms, storm: %s, applications: {4: Shop}}
`, limits.slack, s.url, limits.storm)),
	}
	return s
}

// benchRedis is the address of a real redis-server that keeps nothing, where there is one, else of the emulated one; then it says so.
func benchRedis(b testing.TB) string {
	b.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		b.Log("there is no redis-server: with miniredis")
		return miniRedis(b).url
	}
	return redistest.Start(b).URL()
}

var (
	shownPath = regexp.MustCompile(`/shown/\d+`)
	clickedIP = regexp.MustCompile(`45\.0\.\d+\.\d+`)
)

// serveService notes each change that arrives at the service, and what answers cost.
func (s *stage) serveService(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	if r.Method == http.MethodPost && r.URL.Path == "/v4/ip_rules" {
		s.seen.add("called", clickedIP.FindString(string(readBody(r))), at)
	}
	counted := &countingWriter{ResponseWriter: w}
	s.service.ServeHTTP(counted, r)
	s.requests.Add(1)
	s.bytes.Add(counted.written)
}

// serveSlack notes each redrawn card. Posts go their own way.
func (s *stage) serveSlack(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	switch r.URL.Path {
	case "/api/chat.postMessage":
		s.posts.ServeHTTP(w, r)
		return
	case "/api/apps.connections.open":
		s.links.ServeHTTP(w, r)
		return
	case "/api/chat.update":
		s.seen.add("drawn", "", at)
	}
	s.slack.ServeHTTP(w, r)
}

// post gives a post to the workspace, and notes when one arrived that it takes: about an attack, or in a thread about a click.
func (s *stage) post(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	form, _ := url.ParseQuery(string(readBody(r)))
	answer := httptest.NewRecorder()
	s.slack.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
	text := form.Get("text") + form.Get("blocks")
	path, source := shownPath.FindString(text), clickedIP.FindString(text)
	switch taken := bytes.Contains(answer.Body.Bytes(), []byte(`"ok":true`)); {
	case taken && form.Get("thread_ts") == "" && path != "":
		s.seen.add("posted", path, at)
	case taken && form.Get("thread_ts") != "" && source != "":
		s.seen.add("replied", source, at)
	}
}

// answer takes the answers to clicks.
func (s *stage) answer(_ http.ResponseWriter, r *http.Request) {
	at, text := time.Now(), string(readBody(r))
	if strings.Contains(text, "accepted by the service") {
		s.seen.add("answered", clickedIP.FindString(text), at)
	}
}

// readBody reads a request's body and puts it back.
func readBody(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// countingWriter counts an answer's bytes.
type countingWriter struct {
	http.ResponseWriter
	written int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	c.written += int64(len(p))
	return c.ResponseWriter.Write(p)
}

// sightings are when something was seen: an attack, by its path, "listed" and "posted"; a click, by its source, "called",
// "answered" and "replied" to; a card "drawn".
type sightings struct {
	mu    sync.Mutex
	at    map[string]map[string][]time.Time // by what happened and to what
	fresh chan struct{}                     // closed when there is another one
}

func newSightings() *sightings {
	return &sightings{at: map[string]map[string][]time.Time{}, fresh: make(chan struct{})}
}

func (s *sightings) add(what, of string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at[what] == nil {
		s.at[what] = map[string][]time.Time{}
	}
	s.at[what][of] = append(s.at[what][of], at)
	close(s.fresh)
	s.fresh = make(chan struct{})
}

// first is when it first happened to each, and how often it happened more than once.
func (s *sightings) first(what string) (at map[string]time.Time, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = map[string]time.Time{}
	for of, times := range s.at[what] {
		at[of] = times[0]
		twice += len(times) - 1
	}
	return at, twice
}

// patienceOfBench is how long a benchmark waits for what may never come.
const patienceOfBench = 2 * time.Minute

// until waits until it happened to so many, and reports whether it did.
func (s *sightings) until(what string, count int) bool {
	for late := time.After(patienceOfBench); ; {
		s.mu.Lock()
		there, fresh := len(s.at[what]), s.fresh
		s.mu.Unlock()
		if there >= count {
			return true
		}
		select {
		case <-fresh:
		case <-late:
			return false
		}
	}
}

// await is when it first happened to that one.
func (s *sightings) await(b *testing.B, what, of string) time.Time {
	b.Helper()
	return s.awaitAfter(b, what, of, time.Time{})
}

// awaitAfter is when it first happened to that one after a time.
func (s *sightings) awaitAfter(b *testing.B, what, of string, after time.Time) time.Time {
	b.Helper()
	for late := time.After(patienceOfBench); ; {
		s.mu.Lock()
		times, fresh := s.at[what][of], s.fresh
		s.mu.Unlock()
		if i := slices.IndexFunc(times, func(at time.Time) bool { return at.After(after) }); i >= 0 {
			return times[i]
		}
		select {
		case <-fresh:
		case <-late:
			require.Fail(b, "never "+what, of)
		}
	}
}
