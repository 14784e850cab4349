package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// TestMain runs more stories at a time than there are processors: they wait more than they compute. Those of files with
// long in their names wait longest, so that these files' names have them begin first.
// Benchmarks run it as one of the programs that they compare.
func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		beProgram(name)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "20")
	}
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// patience is how long a story waits for something before it says that it never came, and Slack for the bot: a busy
// machine takes long.
const patience = 2 * time.Minute

// settled is how long a story waits before an emptied store is rebuilt: what was sent arrives sooner here.
const settled = 100 * time.Millisecond

// world is the emulated world with the bot in it.
type world struct {
	*sandbox.World
	t       *testing.T
	cfg     *config.Config
	speed   float64       // see botOptions
	clocks  *clock.Clocks // see botOptions
	redis   redisServer
	journal *journal
	address string     // the bot's
	stop    func()     // the bot
	ended   chan error // what the bot ended with, unless it was stopped
	rough   bool       // Slack's refusals are part of the story
	hook    *hook      // the pager, where one is part of the story
}

// story plays with the bot in a world of its own, which is prepared before the bot starts. Slack delivers over signed
// HTTP, in make full either way. What differs there has a story overLinks.
func story(t *testing.T, prepare func(w *world), play func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	way := workspace.IngressHTTP
	if full.On() {
		way = workspace.IngressEither
	}
	playOver(t, aRedis(t), way, prepare, play)
}

// overLinks is for stories in which it matters how Slack delivers, some of each kind of delivery: over Socket Mode, in
// make full over HTTP, too.
func overLinks(t *testing.T, prepare func(w *world), play func(t *testing.T, w *world)) {
	t.Helper()
	if !full.On() { // a test within a test starts only when all that wait on the floor above have started
		overOne(t, workspace.IngressSocket, prepare, play)
		return
	}
	for _, way := range []workspace.Ingress{workspace.IngressSocket, workspace.IngressHTTP} {
		t.Run(string(way), func(t *testing.T) { overOne(t, way, prepare, play) })
	}
}

// overOne is for stories that only one way has.
func overOne(t *testing.T, way workspace.Ingress, prepare func(w *world), play func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	playOver(t, aRedis(t), way, prepare, play)
}

func asItIs(*world) {}

func playOver(t *testing.T, redis redisServer, way workspace.Ingress, prepare func(w *world), play func(t *testing.T, w *world)) {
	t.Helper()
	w := newWorld(t, redis, way)
	prepare(w)
	w.starts()
	for _, a := range w.cfg.Accounts {
		w.message(a.Channel, "wafbot watches "+a.Name)
	}
	play(t, w)
}

// orderly has the bot post one message after the other: what is urgent comes first.
func orderly(w *world) {
	w.Slack.SetRateLimits(false)
	w.cfg.Slack.MessagesPerSecond = 10
}

// starts starts the bot for the rest of the story, which must end clean.
func (w *world) starts() {
	w.t.Helper()
	w.start()
	w.t.Cleanup(func() {
		w.stop()
		w.requireClean()
	})
}

// unpaced has Slack take messages as fast as they come.
func unpaced(w *world) {
	w.Slack.SetRateLimits(false)
	w.cfg.Slack.MessagesPerSecond = 0
}

// newWorld is a quiet world for account acme. Nothing polls more often than the bot does here.
func newWorld(t *testing.T, redis redisServer, way workspace.Ingress) *world {
	t.Helper()
	w := &world{World: openWorld(t), t: t, redis: redis, journal: newJournal()}
	var err error
	w.cfg, err = demoConfig(w.World)
	require.NoError(t, err)
	require.NoError(t, w.Slack.SetIngress(way))
	switch way {
	case workspace.IngressHTTP:
		w.cfg.Slack.AppToken = ""
		if !full.On() { // Slack's pace counts over Socket Mode, and in make full over both
			unpaced(w)
		}
	case workspace.IngressSocket:
		w.cfg.Slack.SigningSecret = ""
	}
	for i := range w.cfg.Accounts {
		w.cfg.Accounts[i].PollInterval = 250 * time.Millisecond
	}
	w.cfg.Accounts = w.cfg.Accounts[:1]
	w.cfg.Redis.URL = apiclient.Secret(redis.url)
	return w
}

// start starts the bot on a listener of its own; stop ends it.
func (w *world) start() {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	w.address = "http://" + l.Addr().String()
	w.DeliverTo(w.address)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	w.ended = ended
	log := logAs(w.journal, w.cfg.Log)
	go func() {
		ended <- serve(ctx, w.cfg, l, botOptions{log: log, audit: &lineWriter{out: w.journal}, speed: w.speed, settle: settled, clocks: w.clocks})
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(w.t, <-ended)
	})
	if w.cfg.Slack.SigningSecret != "" {
		w.verifyEvents()
	}
	if w.cfg.Slack.AppToken != "" {
		w.until("links", func() bool { return len(w.Slack.Links()) > 0 })
	}
}

// verifyEvents has Slack verify the events address, as somebody has to once the bot listens.
func (w *world) verifyEvents() {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		d, err := w.Slack.VerifyURL(w.t.Context())
		return err == nil && d.Warning == "" || len(w.ended) > 0
	}, patience, 10*time.Millisecond, "the events address")
}

// until waits for something that the workspace, the service or the bot's log shows.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		slack, service, journal := w.Slack.Watch(), w.WAF.Watch(), w.journal.watch() // before the look, so that nothing falls in between
		if ok() {
			return
		}
		select {
		case <-slack:
		case <-service:
		case <-journal:
		case <-deadline.C:
			w.t.Fatalf("never: %s\n%s", what, w.all())
		}
	}
}

// all is everything that was said, to people and to the log.
func (w *world) all() string { return w.told() + w.journal.String() }

// told is everything that was said to people.
func (w *world) told() string {
	var b strings.Builder
	for _, c := range w.Slack.Channels() {
		for _, m := range w.Slack.Messages(c.ID) {
			fmt.Fprintf(&b, "#%s %s: %s\n%s\n", c.Name, m.TS, m.Text, m.Plain())
		}
	}
	for _, u := range w.Slack.Users() {
		for _, m := range w.Slack.Ephemerals(u.ID) {
			fmt.Fprintf(&b, "to %s: %s\n", u.Name, m.Plain())
		}
	}
	return b.String()
}

// requireClean holds what every story must leave behind: no secret anywhere, and nothing that Slack refused.
func (w *world) requireClean() {
	w.t.Helper()
	requireForPeople(w.t, w.told())
	said := w.all()
	for _, call := range w.Slack.Calls() { // with all that was posted
		said += fmt.Sprintf("%s %v %s\n", call.Method, call.Args, call.Error)
		if !call.OK && !w.rough {
			w.t.Errorf("slack refused %+v", call)
		}
	}
	secrets := []apiclient.Secret{w.cfg.Slack.BotToken, w.cfg.Slack.SigningSecret, w.cfg.Slack.AppToken}
	for _, a := range w.cfg.Accounts {
		secrets = append(secrets, a.Token)
		for _, r := range a.Routes {
			if r.Page != nil {
				secrets = append(secrets, r.Page.URL, r.Page.WebhookSecret)
			}
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			require.NotContains(w.t, said, secret.Reveal(), "a secret was shown")
		}
	}
	require.NotContains(w.t, w.journal.String(), "/response/", "a response address is a key to the channel")
	require.NotContains(w.t, w.journal.String(), "ticket=", "so is the address of a link")
	w.requireHarmless()
	w.requireDocumentedLines()
}

// requireDocumentedLines holds each line of events and of audit entries against the schema that log shippers go by.
func (w *world) requireDocumentedLines() {
	w.t.Helper()
	for line := range strings.Lines(w.journal.String()) {
		for kind, schema := range documented() {
			if strings.HasPrefix(line, `{"`+kind+`":`) {
				doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
				require.NoError(w.t, err)
				require.NoError(w.t, schema.Validate(doc), line)
			}
		}
	}
}

// documented are the schemas of such lines.
var documented = sync.OnceValue(func() map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{}
	for _, kind := range []string{"audit", "event"} {
		all[kind] = jsonschema.NewCompiler().MustCompile(filepath.Join("..", "..", "docs", kind+".schema.json"))
	}
	return all
})

// get asks the bot's own pages, as probes do.
func (w *world) get(path string) (status int, body string) {
	w.t.Helper()
	return fetch(w.t, w.address+path)
}

// fetch gets a page.
func fetch(t testing.TB, address string) (status int, body string) {
	t.Helper()
	res, err := http.Get(address)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}

func (w *world) do(req *http.Request) (status int, body string) {
	w.t.Helper()
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res.StatusCode, string(text)
}

// journal is what the bot writes: its log and its audit lines.
type journal struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.changed)
	j.changed = make(chan struct{})
	return j.text.Write(p)
}

func (j *journal) watch() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// String is all that was written.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// has reports whether one line holds all the parts.
func (j *journal) has(parts ...string) bool {
	for line := range strings.Lines(j.String()) {
		if hasAll(line, parts) {
			return true
		}
	}
	return false
}

func writeConfig(t testing.TB, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wafbot.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	return path
}
