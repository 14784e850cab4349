package slackconn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
)

// caller sends requests to Slack. After a 429 it calls no method before its Retry-After is over, but for what is
// urgent. Other methods go on. Its errors hold no URL.
type caller struct {
	client *http.Client
	api    string // prefix of the methods' URLs
	calls  *prometheus.CounterVec
	log    *slog.Logger

	mu   sync.Mutex
	held map[string]hold // by method
}

// hold is until when a method isn't called.
type hold struct {
	until  time.Time
	called time.Time // when it was last called: by what is urgent, since Slack refused it
}

// heldError says that a method was not called because of an earlier 429.
type heldError struct {
	method  string
	limited *slack.RateLimitedError
}

func (e *heldError) Error() string {
	return fmt.Sprintf("%s is not called for another %s: slack limits its rate", e.method,
		e.limited.RetryAfter.Round(time.Second))
}
func (e *heldError) Unwrap() error { return e.limited }

// Do sends a request, to a method of the Web API or to another address of Slack's.
func (c *caller) Do(req *http.Request) (*http.Response, error) {
	method, ofAPI := c.method(req.URL)
	if left := c.begin(method, req.Context().Value(urgentKey{}) != nil); left > 0 {
		return nil, &heldError{method, &slack.RateLimitedError{RetryAfter: left}}
	}
	sent := time.Now()
	res, err := c.client.Do(req)
	outcome, body := "failed", []byte(nil)
	if err == nil {
		if body, err = readAnswer(res.Body, method); err == nil {
			outcome = outcomeOf(res.StatusCode, body)
		}
		_ = res.Body.Close()
	} else {
		err = &unansweredError{apiclient.WithoutURL(err)}
	}
	c.calls.WithLabelValues(method, outcome).Inc()
	c.log.DebugContext(req.Context(), "called slack", "method", method, "outcome", outcome, "took", time.Since(sent))
	switch {
	case err != nil:
		return nil, err
	case ofAPI && outcome == "failed" && res.StatusCode == http.StatusOK:
		return nil, &unansweredError{errors.New("the answer isn't Slack's: does something between change it?")}
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if ofAPI && res.StatusCode == http.StatusTooManyRequests {
		wait := c.hold(method, res.Header)
		res.Header.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds())))) // slack-go reads no dates
	}
	if res.StatusCode == http.StatusOK {
		c.release(method, sent)
	}
	return res, nil
}

// outcomeOf is what became of a call that was answered. Slack answers most errors with 200, and says so in the field
// ok.
func outcomeOf(status int, body []byte) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "failed"
	case status == http.StatusTooManyRequests:
		return "limited"
	case status != http.StatusOK:
		return "refused"
	}
	answer := struct{ OK *bool }{}
	switch err := json.Unmarshal(body, &answer); {
	case err == nil && answer.OK == nil: // null, or {}, which slack-go takes for done
		return "failed"
	case err == nil && !*answer.OK:
		return "refused"
	}
	return "ok"
}

// The largest answers that are read, in bytes after decompression. What Slack answers is far below: a page of 200
// messages of wafbot's has 3 MB. All user groups come in one answer, to one caller at a time; 32 MiB hold two million
// memberships.
const (
	maxAnswer = 8 << 20
	maxGroups = 32 << 20
)

// tooLargeError says that an answer of Slack was not read to its end.
type tooLargeError struct {
	method string
	most   int64 // bytes
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("slack's answer to %s has over %d MiB: the rest is not read", e.method, e.most>>20)
}

// readAnswer reads an answer, unless it is too large, without the message that Slack took, which it repeats there:
// slack-go would decode that block by block, for nothing.
func readAnswer(from io.Reader, method string) ([]byte, error) {
	most := int64(maxAnswer)
	if method == methodGroups {
		most = maxGroups
	}
	body, err := io.ReadAll(io.LimitReader(from, most+1))
	if int64(len(body)) > most {
		return nil, &tooLargeError{method, most}
	}
	var fields map[string]json.RawMessage
	if (method == MethodPost || method == MethodUpdate) && json.Unmarshal(body, &fields) == nil {
		delete(fields, "message")
		body, _ = json.Marshal(fields) // what was JSON is JSON again
	}
	return body, err
}

// method is the method of the Web API that an address is of.
func (c *caller) method(u *url.URL) (name string, ofAPI bool) {
	name, ofAPI = strings.CutPrefix(u.String(), c.api)
	if !ofAPI {
		return "a response URL", false // which itself must not be shown
	}
	name, _, _ = strings.Cut(name, "?")
	return name, true
}

// unansweredError says that no answer came to a request, which may be on its way.
type unansweredError struct{ error }

func (e *unansweredError) Unwrap() error { return e.error }

// Bounds of a hold, whatever Slack says, and how often what is urgent is tried in spite of it.
const (
	shortestHold = time.Second
	longestHold  = time.Hour
	urgentAgain  = time.Minute
)

// hold has a method not called for as long as Slack says.
func (c *caller) hold(method string, header http.Header) time.Duration {
	now, wait := time.Now(), min(max(apiclient.RetryAfter(header), shortestHold), longestHold)
	c.mu.Lock()
	defer c.mu.Unlock()
	until := now.Add(wait)
	if h := c.held[method]; h.until.After(until) {
		until = h.until
	}
	c.held[method] = hold{until, now}
	return wait
}

// begin is how long a method is still held; 0: it may be called now, by what is urgent once in urgentAgain whatever
// Slack said.
func (c *caller) begin(method string, urgent bool) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held[method]
	left := h.left(urgent)
	if left <= 0 && time.Now().Before(h.until) {
		c.held[method] = hold{h.until, time.Now()}
	}
	return max(left, 0)
}

// release ends the hold of a method that Slack took after it had refused it.
func (c *caller) release(method string, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[method]; sent.Before(h.until) && !sent.Before(h.called) {
		c.held[method] = hold{until: time.Now()}
	}
}

// left is how long a method is still held; below 0, since when it isn't.
func (h hold) left(urgent bool) time.Duration {
	left := time.Until(h.until)
	if urgent && left > 0 {
		return min(left, time.Until(h.called.Add(urgentAgain)))
	}
	return left
}

// HeldFor is how long a method is not called because Slack limits its rate; below 0, since when it is called again.
// What is urgent is held for a minute at most.
func (s *Client) HeldFor(method string, urgent bool) time.Duration {
	s.http.mu.Lock()
	defer s.http.mu.Unlock()
	return s.http.held[method].left(urgent)
}

// Held are the methods that are not called, and until when.
func (s *Client) Held() map[string]time.Time {
	s.http.mu.Lock()
	defer s.http.mu.Unlock()
	held := map[string]time.Time{}
	for method, h := range s.http.held {
		if h.left(false) > 0 {
			held[method] = h.until
		}
	}
	return held
}

type urgentKey struct{}

// Urgent makes calls urgent: they are sent once a minute although Slack asked for a longer pause.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

// Methods that take messages.
const (
	MethodPost   = "chat.postMessage"
	MethodUpdate = "chat.update"
)

// Methods whose answers are large.
const (
	methodHistory = "conversations.history"
	methodReplies = "conversations.replies"
	methodGroups  = "usergroups.list"
)
