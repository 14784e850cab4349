package main

import (
	"bufio"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// clicker clicks and types for a while and counts what was acknowledged.
type clicker struct {
	acked map[string]bool // texts of notes
	asked int             // clicks of a viewer, each of which is answered
	lost  []string        // what was not acknowledged: Slack said so to the person
}

// TestClicksWhileLinksAreRenewed has Slack renew one link after another while people click and type.
func TestClicksWhileLinksAreRenewed(t *testing.T) {
	t.Parallel()
	renewals := full.Of(2, 4)
	playOver(t, aRedis(t), workspace.IngressSocket, unpaced, func(t *testing.T, w *world) {
		const attacks = 8 // an attack takes a hundred notes
		var ids []string
		for range attacks {
			w.attack(injection())
		}
		w.until("cards", func() bool { return len(w.cards("#waf")) == attacks })
		for _, c := range w.cards("#waf") {
			ids = append(ids, factsOf(c).Payload.Attack)
		}
		card := w.cards("#waf")[0]

		due, clicks := time.NewTicker(time.Second), time.NewTicker(100*time.Millisecond)
		defer due.Stop()
		defer clicks.Stop()
		c := clicker{acked: map[string]bool{}}
		var lock sync.Mutex
		var busy sync.WaitGroup
		for n, renewed := 0, 0; renewed < renewals; {
			select {
			case <-due.C: // one after the other is replaced, and ends as soon after the notice as Slack says
				var stay []string
				for _, l := range w.Slack.Links() {
					if !l.Warned {
						stay = append(stay, l.ID)
					}
				}
				if len(stay) == 2 {
					renewed++
					require.NoError(t, w.Slack.Refresh(10*time.Second, stay[0]))
				}
			case <-clicks.C:
				n++
				busy.Go(func() {
					d, note := w.someClick(n, ids, card)
					lock.Lock()
					defer lock.Unlock()
					switch {
					case d.Status != http.StatusOK:
						c.lost = append(c.lost, d.Warning+d.Err)
					case note != "":
						c.acked[note] = true
					default:
						c.asked++
					}
				})
			}
		}
		busy.Wait()
		require.Empty(t, c.lost, "a link that ends with notice loses nothing")
		require.NotEmpty(t, c.acked)
		w.until("an answer to every click", func() bool { return len(w.ephemerals("vic", "deny needs the role responder")) >= c.asked })
		require.Len(t, w.ephemerals("vic"), c.asked, "one answer each")
		w.requireNotes(c.acked, ids)

		opens := w.called("apps.connections.open")
		require.GreaterOrEqual(t, opens, renewals)
		require.LessOrEqual(t, opens, renewals+4, "as many as were renewed, and the first two")
		t.Logf("%d links renewed, %d opened, %d notes and %d clicks acknowledged", renewals, opens, len(c.acked), c.asked)
	})
}

// mostRefused are the clicks that are refused at most: more than 20 an hour are counted, and not answered.
const mostRefused = 18

// someClick types a note, or clicks what is refused.
func (w *world) someClick(n int, ids []string, card workspace.Message) (d workspace.Delivery, note string) {
	if n%2 == 0 || n > 2*mostRefused {
		note = fmt.Sprintf("note number %d", n)
		d, _ = w.Slack.Command(w.t.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: fmt.Sprintf("note attack=%s %q", ids[n/2%len(ids)], note)})
		return d, note
	}
	d, _ = w.Slack.Click(w.t.Context(), workspace.Click{User: "vic", Channel: card.Channel, TS: card.TS, Button: "Deny " + attacker})
	return d, ""
}

// requireNotes waits until every acknowledged note is written down, and holds that each is once.
func (w *world) requireNotes(acked map[string]bool, ids []string) {
	w.t.Helper()
	opened, err := store.Open(store.Config{Address: address.Options{URL: w.redis.url}})
	require.NoError(w.t, err)
	defer opened.Close()
	require.EventuallyWithT(w.t, func(t *assert.CollectT) {
		var written []string
		for _, id := range ids {
			c, err := opened.Triage.TriageOf(w.t.Context(), "acme", id)
			require.NoError(t, err)
			for _, n := range c.Notes {
				written = append(written, n.Text)
			}
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(acked)), written)
	}, patience, 100*time.Millisecond)
}

// An admin switches Socket Mode off in the app's settings, and on again.
func TestSocketModeIsSwitchedOff(t *testing.T) {
	overOne(t, workspace.IngressSocket, rough, func(t *testing.T, w *world) {
		w.Slack.SetSocketMode(false)
		w.until("the reason is logged", func() bool {
			return w.journal.has("socket mode", "link_disabled") && w.journal.has("socket_mode_not_enabled", "switch it on")
		})
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, "nothing can be received: open link: socket_mode_not_enabled; switch it on")
		status, _ = w.get("/healthz")
		require.Equal(t, http.StatusOK, status, "cards are still posted")
		w.attack(injection())
		w.card(attacker)

		w.Slack.SetSocketMode(true)
		w.until("links", func() bool { return len(w.Slack.Links()) == 2 })
		w.types("vic", "status")
		w.ephemeral("vic", "Status of acme", "Going on: 1 attack")
		status, _ = w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
	})
}

// outside is the emulated world at https://example.com, which no name service leads to: only a proxy does. A CA that
// nobody else has signed its certificate.
type outside struct {
	*httptest.Server

	proxy  *httptest.Server
	passed atomic.Int32 // connections through the proxy
	failed atomic.Int32 // connections to elsewhere that were asked of it
	links  string       // the host of links
}

func openOutside(t *testing.T, world string) *outside {
	t.Helper()
	at, err := url.Parse(world)
	require.NoError(t, err)
	o := &outside{links: "example.com"}
	o.Server = httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) },
		ModifyResponse: func(res *http.Response) error {
			if !strings.HasSuffix(res.Request.URL.Path, "/apps.connections.open") {
				return nil
			}
			text, err := io.ReadAll(res.Body)
			text = bytes.Replace(text, []byte("ws://"+at.Host), []byte("wss://"+o.links), 1)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			res.Header.Del("Content-Length")
			return err
		},
	})
	t.Cleanup(o.Close)
	o.proxy = httptest.NewServer(http.HandlerFunc(o.connect))
	t.Cleanup(o.proxy.Close)
	return o
}

// connect lets a client through to example.com.
func (o *outside) connect(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Host != "example.com:443" {
		o.failed.Add(1)
		http.Error(rw, "no such way", http.StatusBadGateway)
		return
	}
	far, err := net.Dial("tcp", o.Listener.Addr().String())
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	rw.WriteHeader(http.StatusOK)
	near, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	o.passed.Add(1)
	go func() {
		_, _ = io.Copy(far, buffered)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// caFile is what SSL_CERT_FILE must name.
func (o *outside) caFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.Certificate().Raw}), 0o600))
	return file
}

// socks takes a client to the proxy's example.com by SOCKS5, whose name it must be given: the client's name service
// doesn't know it.
func (o *outside) socks(near net.Conn) {
	defer near.Close()
	in := bufio.NewReader(near)
	methods := make([]byte, 2)
	_, _ = io.ReadFull(in, methods)
	_, _ = io.CopyN(io.Discard, in, int64(methods[1]))
	_, _ = near.Write([]byte{5, 0})
	asked := make([]byte, 5+len("example.com")+2)
	if _, err := io.ReadFull(in, asked); err != nil || string(asked[5:len(asked)-2]) != "example.com" {
		o.failed.Add(1)
		return
	}
	far, err := net.Dial("tcp", o.Listener.Addr().String())
	if err != nil {
		return
	}
	defer far.Close()
	o.passed.Add(1)
	_, _ = near.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() {
		_, _ = io.Copy(far, in)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// taking takes connections, each in its own goroutine, and returns the address.
func taking(t *testing.T, take func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go take(conn)
		}
	}()
	return l.Addr().String()
}

// starts starts the bot with a proxy in its environment, behind which its world is.
func (o *outside) starts(t *testing.T, w *world, proxy string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = []string{programVariable + "=" + theBot, "HTTPS_PROXY=" + proxy, "SSL_CERT_FILE=" + o.caFile(t), "SSL_CERT_DIR=/nowhere"}
	for _, variable := range w.Env() {
		if name, value, _ := strings.Cut(variable, "="); name == "WAFBOT_SLACK_API_URL" || name == "WAFBOT_API_URL" {
			variable = name + "=" + strings.Replace(value, w.URL(), "https://example.com", 1)
		}
		cmd.Env = append(cmd.Env, variable)
	}
	cmd.Env = append(cmd.Env, "WAFBOT_LISTEN=127.0.0.1:0")
	cmd.Stdout = w.journal
	launch(t, cmd)
	return cmd
}

func behindProxy(t *testing.T) (*world, *outside) {
	t.Helper()
	w := &world{World: openWorld(t), t: t, journal: newJournal()}
	w.Slack = w.World.Slack
	require.NoError(t, w.Slack.SetIngress(workspace.IngressSocket))
	return w, openOutside(t, w.URL())
}

// Slack, Socket Mode's links and the service are reached through the proxy of the environment, whatever it speaks, by
// the CA of the environment.
func TestThroughAProxyWithAPrivateCA(t *testing.T) {
	t.Parallel()
	for name, proxy := range map[string]func(o *outside) string{
		"http": func(o *outside) string { return o.proxy.URL },
		"https": func(o *outside) string {
			secure := httptest.NewTLSServer(http.HandlerFunc(o.connect))
			t.Cleanup(secure.Close)
			return secure.URL
		},
		"socks5h": func(o *outside) string { return "socks5h://" + taking(t, o.socks) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := behindProxy(t)
			o.starts(t, w, proxy(o))
			w.until("a link", func() bool { return len(w.Slack.Links()) > 0 })
			w.message("#waf", "wafbot watches default") // the service was read
			require.GreaterOrEqual(t, o.passed.Load(), int32(3), "the service, Slack, and a link")
			require.Zero(t, o.failed.Load())
		})
	}
}

// A proxy that lets Slack's methods through and refuses links, with a status line without words, is named with what it
// was asked for. Nothing ends.
func TestAProxyThatRefusesLinks(t *testing.T) {
	t.Parallel()
	w, o := behindProxy(t)
	var linking, refused atomic.Int32
	odd := taking(t, func(near net.Conn) {
		defer near.Close()
		in := bufio.NewReader(near)
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if req.Host == "links.example.com:443" {
			refused.Add(1)
			_, _ = io.WriteString(near, "HTTP/1.1 403\r\n\r\n")
			return
		}
		far, err := net.Dial("tcp", o.Listener.Addr().String())
		if err != nil {
			return
		}
		defer far.Close()
		linking.Add(1)
		_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(far, in); far.Close() }()
		_, _ = io.Copy(near, far)
	})
	o.links = "links.example.com"
	cmd := o.starts(t, w, "http://joe:secret@"+odd)
	w.until("it is named", func() bool {
		return w.journal.has("socket mode", "ask the proxy "+odd+" for links.example.com:443: it refuses: 403")
	})
	require.Eventually(t, func() bool { return refused.Load() >= 4 }, patience, 100*time.Millisecond, "it is asked again")
	require.NoError(t, cmd.Process.Signal(syscall.Signal(0)), "it runs")
	require.False(t, w.journal.has("joe:secret"))
	require.Positive(t, linking.Load())
}

// trips are the round trips to Redis that the bot makes, but for those of its clocks: each is what it sends before it
// waits for an answer.
type trips struct {
	mu    sync.Mutex
	seen  []string
	fresh chan struct{} // closed when another one was seen
}

// watched is a Redis that counts the trips to it.
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

// tripOf is what a chunk asks for, as "hget changes, evalsha lock"; "" for what the bot's clocks send, for what opens a
// connection, and for the turn that a click passes, or asks for, on a machine that is slow.
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

// partOf is which part of a click a trip belongs to: the stream of what was clicked, the click itself, the reply under
// the card, or the redraw.
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

// A click on a button is accepted, planned, carried out and answered in nine round trips to Redis, whatever else is
// stored; its card is redrawn from one reading.
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
