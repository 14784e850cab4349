package slackconn

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
)

// holds is the transport to Slack. After a 429 it calls no method before its Retry-After is over. Other methods go on.
type holds struct {
	next    http.RoundTripper
	api     string // prefix of the methods' URLs
	refused *prometheus.CounterVec

	mu    sync.Mutex
	until map[string]time.Time // by method
}

func newHolds(next http.RoundTripper, api string) *holds {
	if next == nil {
		next = http.DefaultTransport
	}
	return &holds{next: next, api: api, until: map[string]time.Time{}, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
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

// RoundTrip implements http.RoundTripper.
func (h *holds) RoundTrip(req *http.Request) (*http.Response, error) {
	method, ok := strings.CutPrefix(req.URL.String(), h.api)
	if !ok {
		return h.next.RoundTrip(req)
	}
	method, _, _ = strings.Cut(method, "?")
	if left := h.left(method); left > 0 {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &heldError{method, &slack.RateLimitedError{RetryAfter: left}}
	}
	res, err := h.next.RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusTooManyRequests {
		wait := h.hold(method, res.Header)
		res.Header.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds())))) // slack-go reads no dates
	}
	return res, err
}

// Bounds of a hold, whatever Slack says.
const (
	shortestHold = time.Second
	longestHold  = 5 * time.Minute
)

func (h *holds) hold(method string, header http.Header) time.Duration {
	wait := min(max(apiclient.RetryAfter(header), shortestHold), longestHold)
	h.refused.WithLabelValues(method).Inc()
	h.mu.Lock()
	defer h.mu.Unlock()
	if until := time.Now().Add(wait); until.After(h.until[method]) {
		h.until[method] = until
	}
	return wait
}

// left is how long a method is still held.
func (h *holds) left(method string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.until[method])
}

// HeldFor is how long a method is not called because Slack limits its rate.
func (s *Client) HeldFor(method string) time.Duration { return s.holds.left(method) }

// Collector counts the calls that Slack refused with 429.
func (s *Client) Collector() prometheus.Collector { return s.holds.refused }

// Methods that take messages.
const (
	MethodPost   = "chat.postMessage"
	MethodUpdate = "chat.update"
)
