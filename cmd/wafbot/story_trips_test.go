package main

import (
	"bufio"
	"bytes"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// trips are the round trips to Redis that the bot makes, but for those of its clocks: each is what it sends before it waits for an answer.
type trips struct {
	mu    sync.Mutex
	seen  []string
	fresh chan struct{} // closed when another one was seen
}

// watched is a Redis of which the trips to it are seen.
func (n *trips) watched(t *testing.T, r redisServer) redisServer {
	t.Helper()
	upstream, err := url.Parse(r.url)
	require.NoError(t, err)
	p := proxytest.Start(t, upstream.Host)
	n.fresh = make(chan struct{})
	p.SetFilters(func(chunk []byte) ([]byte, bool) {
		if sent := tripOf(chunk); sent != "" {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.seen = append(n.seen, sent)
			close(n.fresh)
			n.fresh = make(chan struct{})
		}
		return chunk, true
	}, nil)
	r.url = "redis://" + p.Addr() + "/0"
	return r
}

// since are those since the first so many, and what is closed when there is another one.
func (n *trips) since(first int) (seen []string, fresh <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.seen[first:]), n.fresh
}

// until waits until those since the first so many are all that are waited for.
func (n *trips) until(t *testing.T, first int, all func(seen []string) bool) []string {
	t.Helper()
	late := time.After(patience)
	for {
		seen, fresh := n.since(first)
		if all(seen) {
			return seen
		}
		select {
		case <-fresh:
		case <-late:
			require.Fail(t, "not all came", "%s", strings.Join(seen, "\n"))
		}
	}
}

// tripOf is what a chunk asks for, as "hget changes, evalsha lock"; "" for what the bot's clocks send, for what opens a connection, and for the turn that a
// click passes, or asks for, on a machine that is slow.
func tripOf(chunk []byte) string {
	var sent []string
	for r := bufio.NewReader(bytes.NewReader(chunk)); ; {
		words := readCommand(r)
		if len(words) == 0 {
			if len(sent) > 1 && len(slices.Compact(slices.Clone(sent))) == 1 && sent[0] == "evalsha stream" {
				return "" // all shards' work in hand is held once a second
			}
			return strings.Join(sent, ", ")
		}
		name, key := strings.ToLower(words[0]), words[min(1, len(words)-1)]
		if strings.HasPrefix(name, "eval") {
			key = words[3] // behind the script and the number of keys
		}
		clock := slices.ContainsFunc(words, func(w string) bool {
			return strings.HasSuffix(w, ":beats") || strings.HasSuffix(w, ":lease") || strings.HasSuffix(w, ":links")
		})
		if clock || slices.Contains([]string{"hello", "client", "xreadgroup"}, name) || slices.Contains([]string{"pass", "ask"}, words[len(words)-1]) {
			return ""
		}
		_, key, _ = strings.Cut(key, "}:")
		sent = append(sent, name+" "+key)
	}
}

// readCommand reads the words of a command as clients send it.
func readCommand(r *bufio.Reader) (words []string) {
	number := func(sign string) int {
		line, _ := r.ReadString('\n')
		n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, sign)))
		return n
	}
	for range number("*") {
		word := make([]byte, number("$")+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return words
		}
		words = append(words, string(word[:len(word)-2]))
	}
	return words
}

// partOf is which part of a click a trip belongs to: the stream of what was clicked, the click itself, the reply under the card, or the redraw.
func partOf(trip string) string {
	_, key, _ := strings.Cut(trip, " ")
	switch {
	case key == "stream":
		return "stream"
	case key == "redraw", key == "edits", strings.Contains(trip, "hget pages"):
		return "redraw"
	case key == "cards", key == "outbox", key == "pace", key == "changes", strings.HasPrefix(key, "attempt:"):
		return "reply"
	}
	return "click"
}

// A click on a button is accepted, planned, carried out and answered in nine round trips to Redis, whatever else is stored; its card is redrawn from
// one reading.
func TestAClickCostsNineRoundTrips(t *testing.T) {
	var n trips
	story(t, func(w *world) {
		w.redis = n.watched(w.t, w.redis)
		w.cfg.Redis.URL = apiclient.Secret(w.redis.url)
		w.cfg.Accounts[0].PollInterval = time.Minute
		w.attack(injection())
		for path, source := range map[string]string{"/second": "198.51.100.77", "/third": "198.51.100.78"} {
			w.attack(waf.AttackSpec{Path: path, Sources: []waf.SourceSpec{{IP: source, Country: "FR", PerSecond: 4}}, Started: waf.Duration(time.Minute)})
		}
	}, func(t *testing.T, w *world) {
		count := func(seen []string, part string) (of []string) {
			return slices.DeleteFunc(slices.Clone(seen), func(trip string) bool { return partOf(trip) != part })
		}
		finished := func(seen []string) bool { // the request is off the stream, and the card is drawn
			drawn := count(seen, "redraw")
			return len(count(seen, "stream")) >= 2 && slices.Contains(seen, "evalsha redraw") && drawn[len(drawn)-1] == "hgetall redraw"
		}
		before, began := 0, time.Time{}
		for _, card := range []shownCard{w.card("/login"), w.card("/second"), w.card("/third")} { // at the first click Redis is sent the scripts
			seen, _ := n.since(0)
			before, began = len(seen), time.Now()
			card.click("rob", card.labels()[0]) // the others know that the busiest source is denied
			card.says("Rob Diaz", "sent")
			n.until(t, before, finished)
		}
		renewals := int(time.Since(began) / time.Second) // of the piece of work in hand, on a slow machine
		seen, _ := n.since(before)
		draws := len(slices.DeleteFunc(slices.Clone(seen), func(trip string) bool { return trip != "evalsha redraw" }))
		seen = slices.DeleteFunc(seen, func(trip string) bool { return trip == "hgetall redraw" }) // a lease's renewal may have the queue read once more
		for part, most := range map[string]int{"stream": 2 + renewals, "click": 7, "redraw": 3 * draws} {
			require.LessOrEqual(t, len(count(seen, part)), most, "%s:\n%s", part, strings.Join(count(seen, part), "\n"))
		}
	})
}
