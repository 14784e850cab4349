package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// worldVariable has the test binary be the emulated world of a scale run, in a process of its own, so that what it costs is known apart.
const worldVariable = "SCALE_WORLD"

// The secrets of the emulated workspace.
const (
	scaleToken  = "xoxb-scale"
	scaleSecret = "scale-signing-secret"
)

// size is how large a scale run is.
type size struct {
	Accounts, Channels, Attacks int

	Deliver, CertFile string
}

// load is what happens for a while.
type load struct {
	Lasts time.Duration
	Rate  int     // new attacks a second over all
	Cards float64 // the share of them that is worth a card
	Storm bool    // whether there is one in the middle
}

// figures are what was seen since the world was told to forget.
type figures struct {
	Accounts        int             // that are polled
	Gap             time.Duration   // the longest between two polls of one
	Requests        int             // that the service was asked
	Posts, Edits    int             // that Slack took
	Refused         int             // calls with 429
	Wanted, Posted  int             // attacks that are worth a card and were listed; those that have one
	Twice           int             // cards
	Cards, Behind   []time.Duration // from the service's answer to the card; how long after its turn the card came
	Storms          []time.Duration // from the service's answer to the card of a storm
	Acked, Answered []time.Duration // clicks
	Hidden          int             // messages that Slack took and people don't see, as there were too many in a minute
	Unacked         int             // clicks that no replica took
	Unanswered      int             // clicks whose answer isn't there yet
}

// TestScaleWorld is no test: it is the world of TestScale, until its standard input ends.
func TestScaleWorld(t *testing.T) {
	text, ok := os.LookupEnv(worldVariable)
	if !ok {
		t.Skip("TestScale starts it")
	}
	var s size
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	w := &scaleWorld{size: s, crowd: newCrowd(s), cards: map[string]*awaited{}, clicks: map[string]time.Time{}, early: map[string]time.Time{}, storms: map[string]time.Time{}, pace: map[string]*bucket{}}
	w.crowd.listed = w.listed
	mux := http.NewServeMux()
	server := httptest.NewUnstartedServer(mux)
	server.StartTLS()
	defer server.Close()
	require.NoError(t, os.WriteFile(s.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	var err error
	w.url = server.URL + "/slack"
	w.slack, err = workspace.New(s.workspace(w.url))
	require.NoError(t, err)
	defer w.slack.Close()
	mux.Handle("/service/", http.StripPrefix("/service", w.crowd))
	mux.Handle("/slack/", http.StripPrefix("/slack", http.HandlerFunc(w.serveSlack)))
	mux.HandleFunc("/scale/", w.control)
	fmt.Printf("world=%s\n", server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func (s size) workspace(base string) workspace.Config {
	cfg := workspace.Config{
		BaseURL: base, SigningSecret: scaleSecret, BotToken: scaleToken, Deliver: s.Deliver, Ingress: workspace.IngressHTTP,
		Users: []workspace.User{{ID: "U0ROB0002", Name: "rob", RealName: "Rob Diaz", TeamID: "T0SANDBOX"}},
	}
	for n := range s.Channels {
		cfg.Channels = append(cfg.Channels, workspace.Channel{ID: channelOf(n, s.Channels), Name: fmt.Sprintf("waf-%d", n), BotIsMember: true})
	}
	return cfg
}

// scaleWorld is the service and the workspace, and what was seen of both.
type scaleWorld struct {
	size  size
	crowd *crowd
	slack *workspace.Workspace
	url   string

	mu     sync.Mutex
	cards  map[string]*awaited  // by path
	storms map[string]time.Time // by channel, when the service answered with one that has no card yet
	clicks map[string]time.Time // by the path of the response address, those without an answer
	early  map[string]time.Time // likewise, answers that came before the acknowledgement was noted
	pace   map[string]*bucket   // by channel
	last   []clickable          // cards that can be clicked
	seen   figures
}

// awaited is an attack whose card is waited for.
type awaited struct {
	channel string
	listed  time.Time
	storm   bool
	posts   int
}

// clickable is a button.
type clickable struct{ channel, ts, value string }

// bucket is Slack's pace in a channel, as the bot is configured to keep it: four messages at once, then one a second.
type bucket struct {
	tokens float64
	at     time.Time
}

// turn takes a message that was ready then and came now, and returns when its turn was.
func (b *bucket) turn(ready, now time.Time) time.Time {
	const burst = 4
	if b.at.IsZero() {
		b.tokens, b.at = burst, ready
	}
	turn := ready
	if turn.Before(b.at) {
		turn = b.at
	}
	if left := b.tokens + turn.Sub(b.at).Seconds(); left < 1 {
		turn = turn.Add(time.Duration((1 - left) * float64(time.Second)))
	}
	b.tokens = max(0, min(burst, b.tokens+now.Sub(b.at).Seconds())-1)
	b.at = now
	return turn
}

// listed notes that the service answered with a new attack.
func (w *scaleWorld) listed(path string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.cards[path]
	if a == nil {
		return
	}
	if a.listed = at; a.storm && w.storms[a.channel].IsZero() {
		w.storms[a.channel] = at
	}
}

var (
	scalePath   = regexp.MustCompile(`/scale/\d+`)
	scaleButton = regexp.MustCompile(`"value":"((?:ack|deny) [^"]*)"`)
)

// serveSlack gives calls to the workspace, and notes what it takes.
func (w *scaleWorld) serveSlack(out http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		w.answered(r.URL.Path, at)
		w.slack.ServeHTTP(out, r)
		return
	}
	answer := httptest.NewRecorder()
	w.slack.ServeHTTP(answer, r)
	for name, values := range answer.Header() {
		out.Header()[name] = values
	}
	out.WriteHeader(answer.Code)
	_, _ = out.Write(answer.Body.Bytes())
	w.called(strings.TrimPrefix(r.URL.Path, "/api/"), body, answer, at)
}

func (w *scaleWorld) answered(path string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clicked, ok := w.clicks[path]
	if !ok {
		w.early[path] = at
		return
	}
	w.seen.Answered = append(w.seen.Answered, at.Sub(clicked))
	delete(w.clicks, path)
}

// called notes a call of the Web API.
func (w *scaleWorld) called(method string, body []byte, answer *httptest.ResponseRecorder, at time.Time) {
	var said struct {
		OK          bool
		Channel, TS string
	}
	_ = json.Unmarshal(answer.Body.Bytes(), &said)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case answer.Code == http.StatusTooManyRequests:
		w.seen.Refused++
	case said.OK && method == "chat.update":
		w.seen.Edits++
	case said.OK && method == "chat.postMessage":
		w.seen.Posts++
		form, _ := url.ParseQuery(string(body))
		w.posted(form, said.Channel, said.TS, at)
	}
}

// posted notes a message. w.mu must be held.
func (w *scaleWorld) posted(form url.Values, channel, ts string, at time.Time) {
	b := w.pace[channel]
	if b == nil {
		b = &bucket{}
		w.pace[channel] = b
	}
	text := form.Get("blocks") + form.Get("attachments")
	if begun := w.storms[channel]; !begun.IsZero() && strings.Contains(strings.ToLower(text), "storm") {
		w.seen.Storms = append(w.seen.Storms, at.Sub(begun))
		delete(w.storms, channel)
	}
	a := w.cards[scalePath.FindString(text)]
	if a == nil || a.storm || form.Get("thread_ts") != "" {
		b.turn(at, at)
		return
	}
	turn := b.turn(a.listed, at)
	if a.posts++; a.posts > 1 {
		fmt.Fprintf(os.Stderr, "twice in %s, %s after the service's answer: %s %s\n", channel, at.Sub(a.listed), form.Get("metadata"), text)
		return
	}
	fmt.Fprintf(os.Stderr, "card in %s: %s\n", channel, form.Get("metadata"))
	w.seen.Cards, w.seen.Behind = append(w.seen.Cards, at.Sub(a.listed)), append(w.seen.Behind, max(0, at.Sub(turn)))
	for _, m := range scaleButton.FindAllStringSubmatch(text, 2) {
		w.last = append(w.last, clickable{channel, ts, strings.ReplaceAll(m[1], `\"`, `"`)})
	}
}

// control is what the run asks of its world.
func (w *scaleWorld) control(out http.ResponseWriter, r *http.Request) {
	switch strings.TrimPrefix(r.URL.Path, "/scale/") {
	case "limits":
		w.slack.SetRateLimits(true)
	case "load":
		var l load
		if err := json.NewDecoder(r.Body).Decode(&l); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		w.run(l)
	case "mark":
		w.crowd.mark()
	case "marked":
		_ = json.NewEncoder(out).Encode(w.crowd.sinceMark())
		return
	case "forget":
		w.forget()
	case "figures":
		_ = json.NewEncoder(out).Encode(w.figures())
		return
	}
	_, _ = io.WriteString(out, "{}")
}

// forget has figures begin anew, but for those of which attacks have a card.
func (w *scaleWorld) forget() {
	w.crowd.forget()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = figures{}
}

func (w *scaleWorld) figures() figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.seen
	f.Unanswered = len(w.clicks)
	w.crowd.add(&f)
	for n := range w.size.Channels {
		f.Hidden += w.slack.Hidden(channelOf(n, w.size.Channels))
	}
	for _, a := range w.cards {
		if a.storm || a.listed.IsZero() {
			continue
		}
		f.Wanted++
		f.Posted += min(1, a.posts)
		f.Twice += max(0, a.posts-1)
	}
	return f
}

// inStorm are the accounts in which a hundred attacks begin at once in a storm.
const inStorm = 10

// clickEach is how often somebody clicks.
const clickEach = 500 * time.Millisecond

// run has attacks begin and people click for a while.
func (w *scaleWorld) run(l load) {
	var busy sync.WaitGroup
	defer busy.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), l.Lasts)
	defer cancel()
	all := make([]*tenant, 0, len(w.crowd.tenants))
	for n := range w.size.Accounts {
		all = append(all, w.crowd.tenants[tenantToken(n)])
	}
	stormy, apart := all[:inStorm], all[inStorm:] // an attack beside a storm has no card of its own
	dice := rand.New(rand.NewPCG(1, uint64(len(all))))
	attacks, clicks, storm := time.NewTicker(time.Second/time.Duration(l.Rate)), time.NewTicker(clickEach), time.After(l.Lasts/2)
	defer attacks.Stop()
	defer clicks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-attacks.C:
			w.attack(apart[dice.IntN(len(apart))], dice.Float64() < l.Cards, false)
		case <-storm:
			if !l.Storm {
				continue
			}
			for _, t := range stormy {
				for range 100 {
					w.attack(t, true, true)
				}
			}
		case <-clicks.C:
			busy.Go(w.click)
		}
	}
}

// attack begins an attack. Noise is worth no card.
func (w *scaleWorld) attack(t *tenant, card, storm bool) {
	hits := noiseHits
	if card {
		hits = cardHits
	}
	r := w.crowd.record(t, hits, time.Now())
	if card {
		w.mu.Lock()
		w.cards[r.path] = &awaited{channel: t.channel, storm: storm}
		w.mu.Unlock()
	}
	t.begin(r)
}

// click clicks a button of the last card that has one.
func (w *scaleWorld) click() {
	w.mu.Lock()
	if len(w.last) == 0 {
		w.mu.Unlock()
		return
	}
	one := w.last[len(w.last)-1]
	w.last = w.last[:len(w.last)-1]
	w.mu.Unlock()
	clicked := time.Now()
	d, err := w.slack.Click(context.Background(), workspace.Click{User: "rob", Channel: one.channel, TS: one.ts, Button: one.value})
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || !d.Acked {
		w.seen.Unacked++
		return
	}
	w.seen.Acked = append(w.seen.Acked, time.Since(clicked))
	path := strings.TrimPrefix(d.ResponseURL, w.url)
	if at, ok := w.early[path]; ok {
		w.seen.Answered = append(w.seen.Answered, at.Sub(clicked))
		return
	}
	w.clicks[path] = clicked
}
