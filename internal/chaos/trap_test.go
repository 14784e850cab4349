package chaos

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wafbot/wafbot/internal/proxytest"
)

// step is one thing that a replica sends in a story: the N-th of its kind.
type step struct {
	kind string
	n    int
}

// String is a step for the report.
func (s step) String() string { return fmt.Sprintf("%s #%d", s.kind, s.n) }

// moment is when a strike hits: before the step's bytes are passed on, or when the answer is about to come back.
type moment string

// The moments.
const (
	before moment = "before"
	after  moment = "after"
)

// blow is what is done to the replica, and which replica goes on.
type blow string

// The blows.
const (
	killed    blow = "killed, another goes on"
	restarted blow = "killed and restarted"
	stopped   blow = "stopped, another goes on, woken"
	heldUp    blow = "held up, another goes on" // the one call: what else it does goes on, and it keeps what it holds
)

// holdFor is less than a call to Redis may take, and more than another replica needs to meet what the one that is held
// up has decided.
const holdFor = 700 * time.Millisecond

// stopFor is longer than a lease lasts and its successor needs to take it.
const stopFor = 6 * time.Second

// strike is the fault of a play.
type strike struct {
	step   step
	moment moment
	blow   blow
}

// String is a strike for the report.
func (s strike) String() string { return fmt.Sprintf("%s, %s %s", s.blow, s.moment, s.step) }

// trap sees every step of one replica, and strikes it at one of them.
type trap struct {
	strike strike // the zero one never strikes

	mu     sync.Mutex
	armed  bool
	counts map[string]int
	steps  []step
	begun  chan struct{} // closed when it strikes
	struck chan struct{} // closed when the strike is over
	target *replica
}

func newTrap() *trap {
	return &trap{counts: map[string]int{}, begun: make(chan struct{}), struck: make(chan struct{})}
}

// arm begins to count.
func (t *trap) arm(target *replica, s strike) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed, t.target, t.strike, t.counts, t.steps = true, target, s, map[string]int{}, nil
}

// before counts a step. It reports whether its bytes are passed on.
func (t *trap) before(kind string) (n int, pass bool) {
	t.mu.Lock()
	if !t.armed || kind == "" {
		t.mu.Unlock()
		return 0, true
	}
	t.counts[kind]++
	n = t.counts[kind]
	t.steps = append(t.steps, step{kind, n})
	t.mu.Unlock()
	return n, t.hit(kind, n, before)
}

// uncount removes a step that did nothing.
func (t *trap) uncount(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.armed || t.counts[kind] == 0 {
		return
	}
	t.steps = slices.DeleteFunc(t.steps, func(s step) bool { return s == step{kind, t.counts[kind]} })
	t.counts[kind]--
}

// after reports whether the answer is passed on.
func (t *trap) after(kind string, n int) bool { return n == 0 || t.hit(kind, n, after) }

// hit strikes if this is the step, and reports whether the replica lives.
func (t *trap) hit(kind string, n int, m moment) bool {
	t.mu.Lock()
	is := t.strike == strike{step{kind, n}, m, t.strike.blow} && !closed(t.begun)
	if is {
		close(t.begun)
	}
	t.mu.Unlock()
	if !is {
		return true
	}
	defer close(t.struck)
	switch t.strike.blow {
	case heldUp:
		pause(context.Background(), holdFor)
		return true
	case stopped:
		t.target.pause()
		pause(context.Background(), stopFor)
		t.target.resume()
		return true
	}
	t.target.kill()
	return false
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// seen are the steps since it was armed.
func (t *trap) seen() []step {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.steps)
}

// tap is a proxy between one replica and Redis, Slack and the service. It reports each step to a trap.
type tap struct {
	trap  *trap
	redis string // as the replica sees it
	world string
}

func newTap(t testing.TB, redis, world string, trap *trap) *tap {
	t.Helper()
	tap := &tap{trap: trap}
	tap.redis = betweenRedis(t, redis, tap.command)
	upstream, err := url.Parse(world)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport: tap,
		ErrorLog:  log.New(io.Discard, "", 0), // a killed replica closes its connections
	})
	t.Cleanup(server.CloseClientConnections)
	tap.world = server.URL
	return tap
}

// betweenRedis opens an address whose connections go to Redis, and returns it. Commands are answered one after another,
// in their order: answer passes each on, or not. An error of its ends the connection, after what it returned was
// written.
func betweenRedis(t testing.TB, redis string, answer func(command value, on func() (value, error)) (raw []byte, err error)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	pass := func(near net.Conn) {
		defer near.Close()
		far, err := net.Dial("tcp", redis)
		if err != nil {
			return
		}
		defer far.Close()
		commands, answers := bufio.NewReader(near), bufio.NewReader(far)
		for {
			command, err := readValue(commands)
			if err != nil || len(command.words) == 0 { // a test of another package took this port for that of its own dead server
				return
			}
			raw, err := answer(command, func() (value, error) {
				if _, err := far.Write(command.raw); err != nil {
					return value{}, err
				}
				return readValue(answers)
			})
			if _, failed := near.Write(raw); failed != nil || err != nil {
				return
			}
		}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go pass(conn)
		}
	}()
	return l.Addr().String()
}

// command passes one command on and returns the answer.
func (tap *tap) command(command value, on func() (value, error)) (raw []byte, err error) {
	kind := command.kind()
	n, pass := tap.trap.before(kind)
	if !pass {
		return nil, errKilled
	}
	answer, err := on()
	switch {
	case err != nil:
		return nil, err
	case answer.unknownScript():
		tap.trap.uncount(kind)
	case !tap.trap.after(kind, n):
		return nil, errKilled
	}
	return answer.raw, nil
}

var errKilled = errors.New("the replica is dead")

// number is the part of an address that is another one in each play.
var number = regexp.MustCompile(`/\d+`)

// RoundTrip implements http.RoundTripper. A request that was sent arrives even if its sender is killed.
func (tap *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	kind := req.Method + " " + number.ReplaceAllString(req.URL.Path, "/*")
	n, pass := tap.trap.before(kind)
	if !pass {
		return nil, errKilled
	}
	sent := req.Clone(context.WithoutCancel(req.Context()))
	sent.Body = io.NopCloser(bytes.NewReader(body))
	res, err := http.DefaultTransport.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	if !tap.trap.after(kind, n) {
		res.Body.Close()
		return nil, errKilled
	}
	return res, nil
}

// wire is the network between the replicas and something they talk to.
type wire struct {
	name  string
	proxy *proxytest.Proxy
}

func newWire(t testing.TB, name, upstream string) *wire {
	t.Helper()
	return &wire{name: name, proxy: proxytest.Start(t, upstream)}
}

// disturb makes the wire misbehave for a while.
func (w *wire) disturb(ctx context.Context, how disturbance, lasts time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	how(ctx, w.proxy)
	<-ctx.Done()
	return w.proxy.Restore()
}

// disturbance is something wrong with a wire that is there. It starts, and may go on until the context ends.
type disturbance func(ctx context.Context, proxy *proxytest.Proxy)

// disturbances are the disturbances, by name in the report.
func disturbances() map[string]disturbance {
	return map[string]disturbance{
		"cut": func(_ context.Context, proxy *proxytest.Proxy) { proxy.Refuse() },
		"slow": func(_ context.Context, proxy *proxytest.Proxy) {
			proxy.SetDelay(func() time.Duration { return 100*time.Millisecond + rand.N(time.Second) })
		},
		"reset": func(ctx context.Context, proxy *proxytest.Proxy) {
			proxy.SetFilters(proxytest.Drop, proxytest.Drop)
			for ctx.Err() == nil {
				pause(ctx, 50*time.Millisecond)
				proxy.Reset()
			}
		},
		"answers lost": func(_ context.Context, proxy *proxytest.Proxy) {
			proxy.SetReplyFilters(func() proxytest.Filter { return limit(40) })
		},
		"hangs": func(_ context.Context, proxy *proxytest.Proxy) { proxy.SetFilters(nil, proxytest.Drop) },
	}
}

// limit passes so many bytes on, and then closes the connection.
func limit(left int) proxytest.Filter {
	return func(chunk []byte) ([]byte, bool) {
		chunk = chunk[:min(left, len(chunk))]
		left -= len(chunk)
		return chunk, left > 0
	}
}

// pause waits, but no longer than the context lasts.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// value is one value of Redis' protocol: its bytes as they came, and all the strings in it.
type value struct {
	raw   []byte
	words []string
}

// readValue reads one value of any type.
func readValue(r *bufio.Reader) (v value, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return v, err
	}
	v.raw = line
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	switch line[0] {
	case '$', '=', '!':
		if n < 0 {
			return v, nil
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return v, err
		}
		v.raw, v.words = append(v.raw, text...), []string{string(text[:n])}
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			inner, err := readValue(r)
			if err != nil {
				return v, err
			}
			v.raw, v.words = append(v.raw, inner.raw...), append(v.words, inner.words...)
		}
	}
	return v, nil
}

// unknownScript reports whether an answer says that the script must be sent whole: nothing was done.
func (v value) unknownScript() bool { return bytes.HasPrefix(v.raw, []byte("-NOSCRIPT")) }

// ownName is the part of a key that is another one in each play.
var ownName = regexp.MustCompile(`:(attempt|card|delivery|evidence):.*`)

// kind names what a command does: by its word and its keys, a script also by its digest. What only sets the connection
// up has none.
func (v value) kind() string {
	word, keys := strings.ToUpper(v.words[0]), v.words[1:]
	if strings.HasPrefix(word, "EVAL") {
		n, err := strconv.Atoi(v.words[2])
		if err != nil {
			return ""
		}
		digest := v.words[1]
		if word == "EVAL" {
			sum := sha1.Sum([]byte(digest)) //nolint:gosec // as above
			digest = hex.EncodeToString(sum[:])
		}
		word, keys = "script "+digest[:4], v.words[3:3+n]
	}
	name := word
	for _, key := range keys {
		if strings.HasPrefix(key, "{") && strings.Contains(key, "}:") && !strings.HasPrefix(key, `{"`) {
			name += " " + ownName.ReplaceAllString(key, ":$1:*")
		}
	}
	if name == word {
		return ""
	}
	return name
}

// askRedis sends one command without spaces in its words.
func askRedis(addr, command string) (v value, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return v, err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return v, err
	}
	return readValue(bufio.NewReader(conn))
}
