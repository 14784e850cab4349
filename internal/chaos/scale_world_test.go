package chaos

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
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
