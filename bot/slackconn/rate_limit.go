package slackconn

import (
	"fmt"
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

// caller sends requests to Slack. After a 429 it calls no method before its Retry-After is over. Other methods go on. Its errors hold no URL.
type caller struct {
	client  *http.Client
	api     string // prefix of the methods' URLs
	refused *prometheus.CounterVec

	mu    sync.Mutex
	until map[string]time.Time // by method
}

// newCaller copies the client, because it must follow no redirect: a 307 sends the whole form, token included, to the host that it names.
func newCaller(client *http.Client, api string) *caller {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &caller{client: &own, api: api, until: map[string]time.Time{}, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "wafbot", Name: "slack_limited_total", Help: "Calls that Slack refused because there were too many (429), by method.",
	}, []string{"method"})}
}

// heldError says that a method was not called because of an earlier 429.
type heldError struct {
	method  string
	limited *slack.RateLimitedError
}

func (e *heldError) Error() string {
	return fmt.Sprintf("%s is not called for another %s: slack limits its rate", e.method, e.limited.RetryAfter.Round(time.Second))
}
func (e *heldError) Unwrap() error { return e.limited }

// Do sends a request, to a method of the Web API or to another address of Slack's.
func (c *caller) Do(req *http.Request) (*http.Response, error) {
	method, ofAPI := c.method(req.URL)
	if left := c.left(method); ofAPI && left > 0 {
		return nil, &heldError{method, &slack.RateLimitedError{RetryAfter: left}}
	}
	res, err := c.client.Do(req)
	if err != nil {
		return nil, &unansweredError{WithoutURL(err)}
	}
	res.Body = newBoundedBody(res.Body, method)
	if ofAPI && res.StatusCode == http.StatusTooManyRequests {
		wait := c.hold(method, res.Header)
		res.Header.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds())))) // slack-go reads no dates
	}
	return res, nil
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
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return e.err.Error() }
func (e *unansweredError) Unwrap() error { return e.err }

// Bounds of a hold, whatever Slack says.
const (
	shortestHold = time.Second
	longestHold  = 5 * time.Minute
)

func (c *caller) hold(method string, header http.Header) time.Duration {
	wait := min(max(apiclient.RetryAfter(header), shortestHold), longestHold)
	c.refused.WithLabelValues(method).Inc()
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(wait); until.After(c.until[method]) {
		c.until[method] = until
	}
	return wait
}

// left is how long a method is still held.
func (c *caller) left(method string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.until[method])
}

// HeldFor is how long a method is not called because Slack limits its rate; below 0, since when it is called again.
func (s *Client) HeldFor(method string) time.Duration { return s.http.left(method) }

// Collector counts the calls that Slack refused with 429.
func (s *Client) Collector() prometheus.Collector { return s.http.refused }

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
