package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/wrongclock"
)

// world is the emulated service and workspace in their own process, driven through the JSON API.
type world struct {
	url  string
	env  map[string]string // what points a bot at it
	http *http.Client
}

// The world prints what points a bot at it, then an empty line.
var (
	environment = regexp.MustCompile(`(?s)(WAFBOT_.*?)\n\n`)
	variable    = regexp.MustCompile(`(?m)^(\w+)=(.*)$`)
)

// openWorld starts the emulated world; signed requests go to an address.
func openWorld(t testing.TB, binary, logs, deliver string) *world {
	t.Helper()
	_, said, err := start(t, logs, "sandbox", exec.Command(binary, "sandbox", "--deliver", deliver), environment)
	require.NoError(t, err)
	w := &world{env: map[string]string{}, http: &http.Client{Timeout: 20 * time.Second}}
	t.Cleanup(w.http.CloseIdleConnections)
	for _, m := range variable.FindAllStringSubmatch(said, -1) {
		w.env[m[1]] = m[2]
	}
	w.url = strings.TrimSuffix(w.env["WAFBOT_SLACK_API_URL"], "/slack/api/")
	return w
}

// get reads from the world's JSON API.
func (w *world) get(path string, answer any) error {
	res, err := w.http.Get(w.url + "/sandbox" + path)
	return read(path, res, err, answer)
}

// post sends to the world's JSON API.
func (w *world) post(path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	res, err := w.http.Post(w.url+"/sandbox"+path, "application/json", bytes.NewReader(text))
	return read(path, res, err, answer)
}

func read(path string, res *http.Response, err error, answer any) error {
	if err != nil {
		return fmt.Errorf("ask the world: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("ask the world %s: %w", path, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the world %s: %d %s", path, res.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}

// accounts are those of the world, each with the channel that its config names.
func accounts() []account {
	return []account{
		{name: "acme", client: 5, channel: "C0WAF0001", apps: []int{4, 7}},
		{name: "globex", client: 9, channel: "C0WAF0002", apps: []int{2}},
	}
}

type account struct {
	name    string
	client  int
	channel string
	apps    []int
}

// elsewhere is a channel that a route names.
const elsewhere = "C0RANDOM3"

// channels lists the channels that the bot posts to.
func channels() []string { return []string{"C0WAF0001", "C0WAF0002", elsewhere} }

// people lists the users that act.
func people() []string { return []string{"U0ANN0001", "U0ROB0002", "U0VIC0003"} }

// state is the service's side of an account.
type state struct {
	Attacks []struct {
		ID       string    `json:"id"`
		Path     string    `json:"path"`
		Running  bool      `json:"running"`
		LastTime time.Time `json:"last_time"`
	} `json:"attacks"`
	IPRules []entry `json:"ip_rules"`
	Rules   []rule  `json:"rules"`
}

type entry struct {
	ID     int64    `json:"id"`
	List   string   `json:"list"`
	Type   string   `json:"rule_type"`
	Subnet string   `json:"subnet"`
	Values []string `json:"source_values"` // of countries and the like
	Reason string   `json:"reason"`
	Made   int64    `json:"created_at"` // Unix time
	Ends   int64    `json:"expired_at"` // likewise
	Listed bool     `json:"listed"`
}

type rule struct {
	ID     int64  `json:"id"`
	Type   string `json:"type"`
	Words  string `json:"words"`
	Listed bool   `json:"listed"`
}

// message is a message that a person sees.
type message struct {
	Channel   string          `json:"channel"`
	TS        string          `json:"ts"`
	Thread    string          `json:"thread_ts"`
	Bot       string          `json:"bot_id"`
	Text      string          `json:"text"`
	Blocks    json.RawMessage `json:"blocks"`
	Ephemeral bool            `json:"ephemeral"`
	Answers   string          `json:"answers"` // the response address that it came by
	Metadata  struct {
		Type    string `json:"event_type"`
		Payload struct {
			Account  string `json:"account"`
			Attack   string `json:"attack"`
			Delivery string `json:"delivery"`
		} `json:"event_payload"`
	} `json:"metadata"`
}

// says is the whole text of a message.
func (m message) says() string { return m.Text + "\n" + string(m.Blocks) }

// card reports whether it is an attack's.
func (m message) card() bool { return m.Metadata.Type == "wafbot_card" }

// button is what can be clicked: its value is the line that it runs.
type button struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// buttons are a message's.
func (m message) buttons() (lines []string) {
	var blocks []struct {
		Elements  []button `json:"elements"`
		Accessory button   `json:"accessory"`
	}
	if json.Unmarshal(m.Blocks, &blocks) != nil {
		return nil // a message without blocks
	}
	for _, b := range blocks {
		for _, e := range append(b.Elements, b.Accessory) {
			if e.Type == "button" && e.Value != "" {
				lines = append(lines, e.Value)
			}
		}
	}
	return lines
}

// messages are what a person sees in a channel.
func (w *world) messages(user, channel string) ([]message, error) {
	var all struct{ Messages []message }
	err := w.get("/slack/messages?user="+user+"&channel="+channel, &all)
	return all.Messages, err
}

func (w *world) service(account string) (s state, err error) {
	return s, w.get("/service/"+account, &s)
}

// delivery is the result of a click or a command.
type delivery struct {
	ID          int       `json:"id"`
	Acked       bool      `json:"acked"`
	Status      int       `json:"status"` // why it wasn't
	Body        string    `json:"body"`
	Err         string    `json:"err"`
	ResponseURL string    `json:"response_url"`
	Twin        *delivery `json:"twin"`
}

func (d delivery) acknowledged() bool { return d.Acked || d.Twin != nil && d.Twin.Acked }

// received lists the messages whose events the bot acknowledged, by timestamp.
func (w *world) received() (map[string]bool, error) {
	var all struct {
		Events []struct {
			Attempts []delivery
			Payload  struct{ Event struct{ TS string } }
		}
	}
	err := w.get("/slack/events", &all)
	received := map[string]bool{}
	for _, e := range all.Events {
		if slices.ContainsFunc(e.Attempts, delivery.acknowledged) {
			received[e.Payload.Event.TS] = true
		}
	}
	return received, err
}

// startPatience is how long a program may take to say that it is ready.
const startPatience = time.Minute

// logsOf is a directory for logs, which stay when the test fails.
func logsOf(t testing.TB, of string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wafbot-"+of+"-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			fmt.Printf("%s: the logs of %s are kept in %s\n", of, t.Name(), dir)
			return
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	return dir
}

// process is a program that was started. What it prints goes into files.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts a program, waits until it prints a match of the pattern, and returns the pattern's group. Its logs are
// NAME.out and NAME.err.
func start(t testing.TB, logs, name string, cmd *exec.Cmd, ready *regexp.Regexp) (*process, string, error) {
	out, err := os.Create(filepath.Join(logs, name+".out"))
	if err != nil {
		return nil, "", err
	}
	stderr, err := os.Create(filepath.Join(logs, name+".err"))
	if err != nil {
		return nil, "", err
	}
	said := &watched{pattern: ready, found: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, said), io.MultiWriter(stderr, said)
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is in its log
		_ = out.Close()
		_ = stderr.Close()
	}()
	t.Cleanup(p.kill)
	select {
	case found := <-said.found:
		return p, found, nil
	case <-p.ended:
		return nil, "", fmt.Errorf("start %s: it ended, see its log", name)
	case <-time.After(startPatience):
		p.kill()
		return nil, "", fmt.Errorf("start %s: it was not ready within %s", name, startPatience)
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop asks the process to end, and kills it when it doesn't; that is reported.
func (p *process) stop(patience time.Duration) error {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("%s did not end within %s of SIGTERM", p.cmd.Path, patience)
	}
}

// watched waits for a pattern in what is written.
type watched struct {
	pattern *regexp.Regexp
	found   chan string

	mu   sync.Mutex
	text bytes.Buffer
	done bool
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return len(p), nil
	}
	w.text.Write(p)
	if m := w.pattern.FindSubmatch(w.text.Bytes()); m != nil {
		w.done = true
		w.found <- string(m[1])
	}
	return len(p), nil
}

// stopPatience is more than a replica may take to stop.
const stopPatience = 30 * time.Second

// replica is one wafbot serve, killed and started again and again. Only one fault at a time is on it.
type replica struct {
	t      testing.TB
	number int
	binary string
	config string
	logs   string
	clock  string // of its machine, as wrongclock reads it; "": it is right

	mu      sync.Mutex
	lives   int
	process *process // nil: dead
	address string
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// start starts the replica on a free port.
func (r *replica) start() error {
	r.lives++
	cmd := exec.Command(r.binary, "serve", "--config", r.config)
	cmd.Env = append(os.Environ(), "WAFBOT_LISTEN=127.0.0.1:0", wrongclock.Variable+"="+r.clock)
	p, address, err := start(r.t, r.logs, fmt.Sprintf("replica%d.%03d", r.number, r.lives), cmd, listening)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.address = p, address
	return nil
}

// add starts one more replica of the round.
func (r *round) add(binary, config, clock string) *replica {
	r.t.Helper()
	one := &replica{t: r.t, number: len(r.replicas), binary: binary, config: config, logs: r.logs, clock: clock}
	require.NoError(r.t, one.start())
	r.replicas = append(r.replicas, one)
	return one
}

// gone removes the process, so that nothing is delivered to it any more.
func (r *replica) gone() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.process
	r.process, r.address = nil, ""
	return p
}

func (r *replica) kill() { r.gone().kill() }

// terminate stops it as a rolling update does. It gets deliveries until it refuses connections.
func (r *replica) terminate() error {
	err := r.process.stop(stopPatience)
	r.gone()
	return err
}

func (r *replica) pause()  { r.process.signal(syscall.SIGSTOP) }
func (r *replica) resume() { r.process.signal(syscall.SIGCONT) }

// at is where it takes requests; "" while it is dead.
func (r *replica) at() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// balance opens an address whose requests go to some replica that takes connections, as behind a load balancer without
// health checks of its own.
func balance(t testing.TB, replicas func() []*replica) string {
	t.Helper()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		err := errors.New("no replica is there")
		all := replicas()
		for _, i := range rand.Perm(len(all)) {
			if address := all[i].at(); address != "" {
				var conn net.Conn
				if conn, err = (&net.Dialer{}).DialContext(ctx, network, address); err == nil {
					return conn, nil
				}
			}
		}
		return nil, err
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "replicas"}) },
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		ErrorLog:  log.New(io.Discard, "", 0), // replicas are killed on purpose
	})
	t.Cleanup(server.Close)
	return server.URL
}
