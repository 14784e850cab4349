package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxAnswer = 8 << 20 // bytes, after decompression: far above 100 records. JSON can take twenty times as much memory as text
	slow      = 1 << 20 // bytes of an answer that wasn't read to its end in time: with fewer the service hangs
)

var errTooLong = errors.New("answer is longer than 8 MiB, or than can be read in time")

// call is one request of the service, as often as it has to be sent.
type call struct {
	op           string // for errors, as "list attacks"
	method, path string // the path with its query
	body         any    // encoded as JSON; nil: none
	effect       effect
}

// effect is what sending a call does. The HTTP method doesn't show it, because the service reads with POST.
type effect int

const (
	reading  effect = iota // nothing
	changing               // the same when it is sent twice
	once                   // something else each time, or to what others made meanwhile: not sent again by itself after an unknown outcome
)

// answer is the service's answer with a good status.
type answer struct {
	body     json.RawMessage // without its envelope
	doubtful bool            // an earlier try may have taken effect
}

// change sends a call whose body names the account, and reads what the answer holds into a struct. An object of another
// client leaves the outcome open.
func (c *Client) change(ctx context.Context, k call, body func(clientID int) any, into any) (answer, error) {
	clientID, err := c.account(ctx)
	if err != nil {
		return answer{}, err
	}
	k.body = body(clientID)
	ans, err := c.do(ctx, k)
	if err == nil {
		err = c.notOwn(k, clientID, decode(object(ans.body), clientID, into))
	}
	return ans, err
}

// do sends the call until it is answered, refused for good, or the context ends.
func (c *Client) do(ctx context.Context, k call) (answer, error) {
	var body []byte
	if k.body != nil {
		var err error
		if body, err = json.Marshal(k.body); err != nil {
			return answer{}, &Error{Op: k.op, Kind: Invalid, Err: err}
		}
	}
	doubtful := false
	for try := 1; ; try++ {
		sent := time.Now()
		ans, failure := c.authorised(ctx, k, body)
		args := []any{"call", k.op, "took", time.Since(sent)}
		if failure != nil {
			args = append(args, "err", failure)
		}
		c.log.DebugContext(ctx, "called the service", args...)
		if failure == nil {
			ans.doubtful = doubtful
			return ans, nil
		}
		pause, again := c.pause(failure, k.effect != once, try)
		doubtful = doubtful || failure.OutcomeUnknown && k.effect != reading // a later "exists already" can be an earlier try's work
		failure.OutcomeUnknown = doubtful
		deadline, ends := ctx.Deadline()
		if !again || ctx.Err() != nil || ends && time.Until(deadline) <= pause { // the caller learns the reason at once
			return answer{}, failure
		}
		select {
		case <-ctx.Done():
			failure.Err = errors.Join(failure.Err, ctx.Err())
			return answer{}, failure
		case <-time.After(pause):
		}
	}
}

// authorised sends the call once, and a second time when it was refused with a token that has been replaced since:
// a refused call did nothing, whatever it is.
func (c *Client) authorised(ctx context.Context, k call, body []byte) (answer, *Error) {
	token := c.token.current()
	ans, failure := c.send(ctx, k, body, token)
	if failure != nil && (failure.Kind == Unauthenticated || failure.Kind == Forbidden) {
		if newer := c.token.current(); newer != token {
			return c.send(ctx, k, body, newer)
		}
		c.forget()
	}
	return ans, failure
}

// send sends the call once.
func (c *Client) send(ctx context.Context, k call, body []byte, token Secret) (ans answer, failure *Error) {
	defer func() {
		if failure != nil {
			failure.Op = k.op
			failure.clean(token)
		}
	}()
	if err := ctx.Err(); err != nil {
		return ans, &Error{Kind: Network, Err: err}
	}
	// Only a connection that was asked for and never got proves that nothing was sent. A transport of the caller's
	// that asks for none may have sent it.
	var asked, got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	})
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, c.base+k.path, content)
	if err != nil {
		return ans, &Error{Kind: Invalid, Err: err}
	}
	req.Header = http.Header{
		"Accept": {"application/json"}, "User-Agent": {"wafbot"}, "X-Serviceapi-Token": {token.Reveal()},
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	sent := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return ans, &Error{Kind: Network, Err: WithoutURL(err), OutcomeUnknown: got.Load() || !asked.Load()}
	}
	defer resp.Body.Close()
	// What refuses or fails may be a proxy on the way, with a clock of its own.
	if at := serverTime(resp.Header); c.note != nil && !at.IsZero() && resp.StatusCode/100 == 2 {
		c.note(sent, at)
	}
	if ans.body, failure = read(resp); failure != nil {
		failure.RetryAfter = RetryAfter(resp.Header)
	}
	return ans, failure
}

// read reads an answer, up to a bound, without its envelope. The status decides how, even if the body is cut
// short. A good status alone says nothing: a proxy gives it, too, with null or {} below. Without the service's
// envelope an answer must hold something.
func read(resp *http.Response) (json.RawMessage, *Error) {
	if resp.StatusCode/100 != 2 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, longestRefusal+1))
		failure := refusal(resp.StatusCode, body)
		if resp.StatusCode < 400 {
			failure.Message = "a redirect, which is not followed: check the base address"
		}
		return nil, failure
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	failure := &Error{Kind: Network, Status: resp.StatusCode, Err: err, OutcomeUnknown: true}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && len(body) >= slow {
		failure.Err = errTooLong
	}
	if err != nil {
		return nil, failure
	}
	failure.Kind, failure.Err = Server, errTooLong
	if len(body) > maxAnswer {
		return nil, failure
	}
	content, status, err := unwrap(body)
	switch {
	case isPage(body):
		err = errors.New(notJSON)
	case len(bytes.TrimSpace(body)) == 0, err == nil && status == 0 && saysNothing(content):
		err = errors.New(notTheService)
	case err == nil && status >= 400:
		return nil, refusal(status, body)
	case err == nil:
		return content, nil
	}
	failure.Message, failure.Err = "answer can't be read", err
	return nil, failure
}

// serverTime is the time on the service's clock, zero when it is missing.
func serverTime(header http.Header) time.Time {
	t, _ := http.ParseTime(header.Get("Date"))
	return t.UTC()
}

const (
	longestPause  = 30              // first pauses
	doublings     = 5               // after which it is longer
	lockedPause   = 5               // first pauses: locks last for seconds to minutes
	maxRetryAfter = 2 * time.Minute // beyond it the call fails instead of waiting
)

// pause is how long to wait before the call is sent again, and whether it may be. Being locked, limited or not
// connected means that nothing was done, so that even the creation of a rule may be repeated.
func (c *Client) pause(e *Error, repeatable bool, try int) (time.Duration, bool) {
	if try >= c.tries || e.RetryAfter > maxRetryAfter || errors.Is(e.Err, errTooLong) {
		return 0, false
	}
	broken := e.Kind == Network || e.Kind == Server && e.Status/100 != 3
	switch {
	case e.Kind == Locked:
		return max(lockedPause*c.step, e.RetryAfter), true
	case e.Kind == RateLimited, broken && repeatable, e.Kind == Network && !e.OutcomeUnknown:
		step := min(c.step<<min(try-1, doublings), longestPause*c.step)
		step += rand.N(step/2 + 1) // clients that failed together don't come back together
		return max(step, e.RetryAfter), true
	}
	return 0, false
}

const redacted = "[redacted]"

// Secret is a text that prints, logs and encodes as "[redacted]".
type Secret string

// Reveal returns the text.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// Format writes "[redacted]" for every verb: %x and %q would else show the text. Only %p never asks, which vet refuses.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText returns "[redacted]"; JSON and YAML values go through it. JSON takes map keys as they are: make no key of
// it.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// tokenSource gives the token to send with each request.
type tokenSource struct {
	file string // "" when the token is fixed

	mu    sync.Mutex
	token func() Secret // a closure, for fmt reads unexported fields through pointers, past every method of Secret
}

func newTokenSource(cfg Config) (*tokenSource, error) {
	if (cfg.Token == "") == (cfg.TokenFile == "") {
		return nil, errors.New("give either a token or a token file")
	}
	s := &tokenSource{file: cfg.TokenFile, token: hold(cfg.Token)}
	if s.file == "" {
		return s, checkToken(cfg.Token.Reveal())
	}
	return s, s.read()
}

// current returns the token, as its file has it now. While the file is missing or unusable, as in the middle of a
// rotation, the last good token stays.
func (s *tokenSource) current() Secret {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != "" {
		_ = s.read()
	}
	return s.token()
}

// maxTokenFile is how many bytes a file with a token may have.
const maxTokenFile = 64 << 10

func (s *tokenSource) read() error {
	info, err := os.Stat(s.file)
	if err != nil {
		return fmt.Errorf("read token file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxTokenFile { // opening a pipe hangs
		return fmt.Errorf("read token file %s: it is no file of %d bytes at most", s.file, maxTokenFile)
	}
	data, err := os.ReadFile(s.file)
	if err != nil {
		return fmt.Errorf("read token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if err := checkToken(token); err != nil {
		return fmt.Errorf("read token file %s: %w", s.file, err)
	}
	s.token = hold(Secret(token))
	return nil
}

func hold(token Secret) func() Secret { return func() Secret { return token } }

// checkToken refuses what can't stand in a header.
func checkToken(token string) error {
	if token == "" {
		return errors.New("token is empty")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("token holds a space, a line break or a character outside ASCII")
	}
	return nil
}
