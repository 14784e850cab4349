package chaos

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// answer is what somebody outside says instead of what a replica asked for.
type answer struct {
	from  string         // who says it: slack, service, the proxy before both, or redis
	name  string         // for the report
	to    *regexp.Regexp // paths or commands that are answered so; nil: all
	raw   string         // the bytes, with those of the status line; "": the right answer, spoilt
	spoil func(right []byte) []byte
	done  bool // what was asked for is done all the same
	ends  bool // the connection ends with it
}

// intruder stands between the replicas and everything outside. It passes everything on, and says what it is told to.
type intruder struct {
	world   string // host and port
	outside *http.Transport
	slack   string // as the replicas see it
	service string // as the replicas see it
	stored  string // Redis, as the replicas see it

	mu   sync.Mutex
	says map[string]*saying // by who says it
}

// saying is an answer, and how often it is still given; negative: until it is silenced.
type saying struct {
	answer
	left int
}

func newIntruder(t testing.TB, world, redis string) *intruder {
	t.Helper()
	i := &intruder{world: world, outside: &http.Transport{}, says: map[string]*saying{}}
	t.Cleanup(i.outside.CloseIdleConnections)
	for who, address := range map[string]*string{"slack": &i.slack, "service": &i.service} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) { i.serve(who, rw, req) }))
		t.Cleanup(server.CloseClientConnections)
		*address = server.Listener.Addr().String()
	}
	i.stored = betweenRedis(t, redis, i.pass)
	return i
}

// say makes it give an answer so many times; negative: until it is silenced.
func (i *intruder) say(a answer, times int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.says[a.from] = &saying{a, times}
}

func (i *intruder) silence(from string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.says, from)
}

// answers is what somebody says to a path or a command, and not the truth.
func (i *intruder) answers(from, to string) (answer, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.says[from]
	if s == nil || s.left == 0 || s.to != nil && !s.to.MatchString(to) {
		return answer{}, false
	}
	s.left--
	return s.answer, true
}

// serve passes a request on to Slack or the service. The proxy before both may answer first.
func (i *intruder) serve(who string, rw http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	if a, said := i.answers("proxy", ""); said {
		i.reply(rw, a.raw)
		return
	}
	if req.Header.Get("Upgrade") != "" {
		i.link(rw, req)
		return
	}
	a, said := i.answers(who, req.Method+" "+req.URL.Path)
	if said && !a.done {
		i.reply(rw, a.raw)
		return
	}
	sent := req.Clone(req.Context())
	sent.URL.Scheme, sent.URL.Host, sent.Host, sent.RequestURI = "http", i.world, i.world, ""
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	sent.Header.Del("Accept-Encoding")
	res, err := i.outside.RoundTrip(sent)
	if err != nil {
		i.reply(rw, "")
		return
	}
	defer res.Body.Close()
	right, err := io.ReadAll(res.Body)
	if err != nil {
		i.reply(rw, "")
		return
	}
	right = bytes.ReplaceAll(right, []byte("ws://"+i.world), []byte("ws://"+i.slack))
	switch {
	case said && a.spoil == nil:
		i.reply(rw, a.raw)
	case said:
		i.reply(rw, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"+string(a.spoil(right)))
	default:
		for name, values := range res.Header {
			if name != "Content-Length" {
				rw.Header()[name] = values
			}
		}
		rw.WriteHeader(res.StatusCode)
		_, _ = rw.Write(right)
	}
}

// reply writes bytes as they are, and ends the connection.
func (i *intruder) reply(rw http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, raw)
}

// link passes a Socket Mode link on.
func (i *intruder) link(rw http.ResponseWriter, req *http.Request) {
	far, err := net.Dial("tcp", i.world)
	if err != nil {
		i.reply(rw, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer far.Close()
	req.Host = i.world // which takes no other
	if req.Write(far) != nil {
		return
	}
	near, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	go func() {
		_, _ = io.Copy(far, buffered)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// pass passes a command on to Redis, unless it says something else.
func (i *intruder) pass(command value, on func() (value, error)) (raw []byte, err error) {
	a, said := i.answers("redis", strings.Join(command.words[:min(2, len(command.words))], " "))
	if raw = []byte(a.raw); !said || a.done {
		right, err := on()
		if err != nil {
			return nil, err
		}
		raw = right.raw
	}
	if said && a.done {
		raw = a.spoil(raw)
	}
	if said && a.ends {
		err = io.EOF
	}
	return raw, err
}
