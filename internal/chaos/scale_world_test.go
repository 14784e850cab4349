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
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// worldVariable has the test binary be the emulated world of a scale run, in a process of its own, so that what it
// costs is known apart.
const worldVariable = "SCALE_WORLD"

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

// figures are what was seen since the last reset.
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
	w.url = server.URL
	var err error
	w.slack, err = workspace.New(s.workspace(server.URL))
	require.NoError(t, err)
	defer w.slack.Close()
	mux.Handle("/slack/", http.StripPrefix("/slack", http.HandlerFunc(w.serveSlack)))
	mux.Handle("/service/", http.StripPrefix("/service", w.crowd))
	mux.HandleFunc("/scale/", w.control)
	fmt.Printf("world=%s\n", server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
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
	channel  string
	listed   time.Time
	storm    bool
	delivery string // of its first card
	posts    int    // of that
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
	case "reset":
		w.reset()
	case "figures":
		_ = json.NewEncoder(out).Encode(w.figures())
		return
	}
	_, _ = io.WriteString(out, "{}")
}

// reset has figures begin at zero, but for those of which attacks have a card.
func (w *scaleWorld) reset() {
	w.crowd.reset()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = figures{}
}

func (w *scaleWorld) figures() figures {
	f := w.shown()
	w.crowd.add(&f) // after the world is unlocked: a tenant that is polled locks itself, then the world
	return f
}

// shown are the figures of what Slack shows.
func (w *scaleWorld) shown() figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.seen
	f.Unanswered = len(w.clicks)
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
	dice.Shuffle(len(apart), func(i, j int) { apart[i], apart[j] = apart[j], apart[i] })
	next := 0 // in turn: at random some account would have a storm now and then, and no cards in it
	attacks, clicks, storm := time.NewTicker(time.Second/time.Duration(l.Rate)), time.NewTicker(clickEach), time.After(l.Lasts/2)
	defer attacks.Stop()
	defer clicks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-attacks.C:
			w.attack(apart[next%len(apart)], dice.Float64() < l.Cards, false)
			next++
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

// What the workspace and the bot know each other by.
const (
	scaleTeam   = "T0SCALE00"
	scaleToken  = "xoxb-scale"
	scaleSecret = "scale-signing-secret"
	scaleUser   = "U0ROB0002" // who clicks
)

func (s size) workspace(base string) workspace.Config {
	cfg := workspace.Config{
		TeamID: scaleTeam, BaseURL: base + "/slack", SigningSecret: scaleSecret, BotToken: scaleToken, Deliver: s.Deliver, Ingress: workspace.IngressHTTP,
		Users: []workspace.User{{ID: scaleUser, Name: "rob", RealName: "Rob Diaz", TeamID: scaleTeam}},
	}
	for c := range s.Channels {
		cfg.Channels = append(cfg.Channels, workspace.Channel{ID: channelOf(c, s.Channels), Name: fmt.Sprintf("waf-%d", c), BotIsMember: true})
	}
	return cfg
}

// clickable is a button.
type clickable struct {
	channel, ts, value string
}

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
		w.answered("/slack"+r.URL.Path, at)
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
	w.called(strings.TrimPrefix(r.URL.Path, "/api/"), body, answer)
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
func (w *scaleWorld) called(method string, body []byte, answer *httptest.ResponseRecorder) {
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
		w.posted(form, clickable{said.Channel, said.TS, ""})
	}
}

// posted notes a message. w.mu must be held.
func (w *scaleWorld) posted(form url.Values, message clickable) {
	at, channel := time.Now(), message.channel
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
	a, delivery := w.cards[scalePath.FindString(text)], cardDelivery(form)
	if a == nil || a.storm || delivery == "" || a.delivery != "" && a.delivery != delivery {
		b.turn(at, at)
		return
	}
	a.delivery = delivery
	turn := b.turn(a.listed, at)
	if a.posts++; a.posts > 1 {
		fmt.Fprintf(os.Stderr, "twice in %s, %s after the service's answer: %s %s\n", channel, at.Sub(a.listed), form.Get("metadata"), text)
		return
	}
	fmt.Fprintf(os.Stderr, "card in %s: %s\n", channel, form.Get("metadata"))
	w.seen.Cards, w.seen.Behind = append(w.seen.Cards, at.Sub(a.listed)), append(w.seen.Behind, max(0, at.Sub(turn)))
	for _, m := range scaleButton.FindAllStringSubmatch(text, 2) {
		message.value = m[1]
		w.last = append(w.last, message)
	}
}

// cardDelivery is the delivery of a message that is a card; "" of any other. Others name attacks, too: those that began
// in a monitoring gap.
func cardDelivery(form url.Values) string {
	var metadata struct {
		EventType    string `json:"event_type"`
		EventPayload struct {
			Delivery string `json:"delivery"`
		} `json:"event_payload"`
	}
	if err := json.Unmarshal([]byte(form.Get("metadata")), &metadata); err != nil || metadata.EventType != "wafbot_card" {
		return ""
	}
	return metadata.EventPayload.Delivery
}

// The table of a run stands in its document between these.
const (
	tableBegins = "<!-- make scale writes from here -->"
	tableEnds   = "<!-- to here -->"
)

// idleReplica is what a replica without accounts takes, in bytes: docs/reliability.md has it.
const idleReplica = 30 << 20

// row is a line of the table.
type row struct {
	what string
	of   func(m measured) string
}

func percent(used, of time.Duration) string {
	return fmt.Sprintf("%.1f %%", 100*used.Seconds()/of.Seconds())
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

// ratio is a duration in ms, and how many round trips that is.
func ratio(d, trip time.Duration) string {
	return fmt.Sprintf("%s (%.1f)", millis(d), float64(d)/float64(trip))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func (m measured) perAccount(n int64) float64 { return float64(n) / float64(m.size.Accounts) }

func (m measured) perAccountSecond(n int64, in time.Duration) float64 {
	return m.perAccount(n) / in.Seconds()
}

// costRows are what it costs.
func costRows() []row {
	return []row{
		{"**at rest**: processors of all replicas, of one core", func(m measured) string { return percent(m.rest.replicas, m.rest.took) }},
		{"… of an account, µs a second", func(m measured) string {
			return fmt.Sprintf("%.0f", m.perAccountSecond(int64(m.rest.replicas/time.Microsecond), m.rest.took))
		}},
		{"… of Redis' masters; of the emulators", func(m measured) string {
			return percent(m.rest.redis.cpu, m.rest.took) + "; " + percent(m.rest.world, m.rest.took)
		}},
		{"memory of all replicas, MB; of an account beside 30 MB of each replica, kB", func(m measured) string {
			return fmt.Sprintf("%d; %.0f", m.rest.resident>>20, m.perAccount(m.rest.resident-int64(m.replicas)*idleReplica)/1024)
		}},
		{"Redis of an account, kB", func(m measured) string { return fmt.Sprintf("%.1f", m.perAccount(m.rest.redis.memory)/1024) }},
		{"commands a second of an account, those in scripts included; bytes a second", func(m measured) string {
			return fmt.Sprintf("%.1f; %.0f", m.perAccountSecond(m.rest.redis.commands, m.rest.took), m.perAccountSecond(m.rest.redis.bytes, m.rest.took))
		}},
		{"requests of the service a minute of an account", func(m measured) string {
			return fmt.Sprintf("%.1f", 60*m.perAccountSecond(int64(m.restAt.Requests), m.rest.took))
		}},
		{"**under load**: processors of all replicas; of Redis' masters; of the emulators", func(m measured) string {
			return percent(m.busy.replicas, m.busy.took) + "; " + percent(m.busy.redis.cpu, m.busy.took) + "; " + percent(m.busy.world, m.busy.took)
		}},
		{"memory of all replicas, MB", func(m measured) string { return fmt.Sprint(m.busy.resident >> 20) }},
	}
}

// timeRows are how long it takes.
func timeRows() []row {
	return []row{
		{"cards; messages; edits; calls that Slack refused; messages that it hid", func(m measured) string {
			return fmt.Sprintf("%d; %d; %d; %d; %d", len(m.loadSaw.Cards), m.loadSaw.Posts, m.loadSaw.Edits, m.loadSaw.Refused, m.loadSaw.Hidden)
		}},
		{"from the service's answer to the card, ms (round trips): median; of 95 %", func(m measured) string {
			return ratio(part(m.loadSaw.Cards, 0.5), m.httpTrip) + "; " + ratio(part(m.loadSaw.Cards, 0.95), m.httpTrip)
		}},
		{"a card after its turn in its channel, ms: median; of 95 %; the last", func(m measured) string {
			return millis(part(m.loadSaw.Behind, 0.5)) + "; " + millis(part(m.loadSaw.Behind, 0.95)) + "; " + millis(part(m.loadSaw.Behind, 1))
		}},
		{"the storms' cards: how many; the last", func(m measured) string {
			return fmt.Sprintf("%d; %s", len(m.loadSaw.Storms), seconds(part(m.loadSaw.Storms, 1)))
		}},
		{"a click is acknowledged, ms (round trips): median; of 95 %", func(m measured) string {
			return ratio(part(m.loadSaw.Acked, 0.5), m.httpTrip) + "; " + ratio(part(m.loadSaw.Acked, 0.95), m.httpTrip)
		}},
		{"a click is answered, ms (round trips): median; of 95 %", func(m measured) string {
			return ratio(part(m.loadSaw.Answered, 0.5), m.httpTrip) + "; " + ratio(part(m.loadSaw.Answered, 0.95), m.httpTrip)
		}},
		{"**replicas killed**: all its accounts have an owner again", func(m measured) string { return seconds(m.watched) }},
		{"an account of it is polled again: median; the last", func(m measured) string { return seconds(part(m.polled, 0.5)) + "; " + seconds(part(m.polled, 1)) }},
		{"the longest between two polls of an account, every 15 s: under load; with kills", func(m measured) string { return seconds(m.loadSaw.Gap) + "; " + seconds(m.left.Gap) }},
		{"**in the end**: attacks that are worth a card; lost; twice; clicks that nobody took; clicks without an answer", func(m measured) string {
			return fmt.Sprintf("%d; %d; %d; %d; %d", m.left.Wanted, m.left.Wanted-m.left.Posted, m.left.Twice, m.loadSaw.Unacked+m.left.Unacked, m.left.Unanswered)
		}},
	}
}

// scaleTable shows what runs found, each in a column.
func scaleTable(all []measured) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	first := all[0]
	fmt.Fprintf(&b, "%d accounts with %d attacks each, %d channels, %d new attacks a second, %d %% of them worth a card, a click each %s, and a storm in ten accounts at once. %d cores, shared by everything. A round trip over TLS took %s ms, a `PING` of Redis %s ms.\n\n",
		first.size.Accounts, first.size.Attacks, first.size.Channels, *scaleRate, int(100*worthCards()), clickEach, runtime.NumCPU(), millis(first.httpTrip), millis(first.trip))
	b.WriteString("| |")
	for _, m := range all {
		name := map[string]string{"one": "one Redis", "cluster": "a cluster"}[m.kind]
		fmt.Fprintf(&b, " %s, replicas: %d |", name, m.replicas)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, r := range append(costRows(), timeRows()...) {
		b.WriteString("| " + r.what + " |")
		for _, m := range all {
			b.WriteString(" " + r.of(m) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// writeTable replaces the table in a document.
func writeTable(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the document of the scale run: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for a table between %s and %s", file, tableBegins, tableEnds)
	}
	if err := os.WriteFile(file, []byte(before+tableBegins+"\n\n"+table+"\n"+tableEnds+after), 0o644); err != nil { //nolint:gosec // a document
		return fmt.Errorf("write the document of the scale run: %w", err)
	}
	return nil
}
