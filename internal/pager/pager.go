// Package pager calls pagers over HTTP: PagerDuty, Alertmanager, or any receiver of plain JSON.
package pager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/text"
)

// The formats.
const (
	PagerDuty    = "pagerduty"    // Events API v2
	Alertmanager = "alertmanager" // API v2
	JSON         = "json"         // what docs/pager.md says
)

// Config says which pager to call, and how.
type Config struct {
	Format string
	// URL is the address to post to; a secret, for it often is the key. PagerDuty's ends with ?routing_key=KEY, which is
	// sent in the body and never as a part of the address; Alertmanager's ends with /api/v2/alerts.
	URL  apiclient.Secret
	HTTP *http.Client // nil: newHTTP()
}

// Event pages people, or resolves a page.
type Event struct {
	Resolve  bool              `json:"-"`
	ID       string            `json:"id"`    // the same for all that is sent about one call: receivers know repetitions, and what is resolved, by it
	Since    time.Time         `json:"since"` // the attack is unacknowledged since
	Until    time.Time         `json:"-"`     // Alertmanager only: it counts as resolved then, unless it is sent again
	Account  string            `json:"account"`
	Attack   string            `json:"attack"` // its id
	Incident bool              `json:"-"`
	Severity string            `json:"severity"`              // critical, high, medium or low
	Summary  string            `json:"text"`                  // one line
	Source   string            `json:"source,omitempty"`      // the host that is attacked
	App      string            `json:"application,omitempty"` // its application
	Type     string            `json:"type,omitempty"`        // of the attack
	Console  string            `json:"-"`                     // an address; "": none
	Details  map[string]string `json:"details,omitempty"`     // names of small letters, digits and _
	Links    []Link            `json:"links"`
}

// Link leads from the pager to where something can be done.
type Link struct {
	Text string `json:"text"` // one word
	Href string `json:"href"`
}

// Pager is one receiver of events.
type Pager struct {
	format  string
	address apiclient.Secret
	key     apiclient.Secret // of PagerDuty
	http    *http.Client
}

// timeout bounds one call.
const timeout = 10 * time.Second

// newHTTP makes a client for pagers, with a time-out of 10 s. It follows no redirect: an event goes where it was meant
// to go, and nowhere else.
func newHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true // calls are rare: a connection that died meanwhile would only cost the first try
	return &http.Client{
		Transport: t, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// New makes a Pager. Nothing is sent yet. Its errors never hold the address.
func New(cfg Config) (*Pager, error) {
	p := &Pager{format: cfg.Format, address: cfg.URL, http: cfg.HTTP}
	if p.http == nil {
		p.http = newHTTP()
	}
	u, err := url.Parse(cfg.URL.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the value is no web address; write it like https://HOST/")
	}
	switch cfg.Format {
	case PagerDuty:
		query := u.Query()
		p.key = apiclient.Secret(query.Get("routing_key"))
		if p.key == "" {
			return nil, errors.New("the address has no routing key; write it like https://events.pagerduty.com/v2/enqueue?routing_key=KEY")
		}
		query.Del("routing_key")
		u.RawQuery = query.Encode()
		p.address = apiclient.Secret(u.String())
	case Alertmanager, JSON:
	default:
		return nil, fmt.Errorf("the format %q is none of %s, %s, %s", cfg.Format, PagerDuty, Alertmanager, JSON)
	}
	return p, nil
}

// Lasts is how long the pager keeps an event: until then it has to be sent again. 0: for good.
func (p *Pager) Lasts() time.Duration {
	if p.format == Alertmanager {
		return 5 * time.Minute
	}
	return 0
}

// Send sends an event. Without an error the pager accepted it. Every error is a *Failure, or the context's.
func (p *Pager) Send(ctx context.Context, e Event) error {
	body, err := json.Marshal(p.body(e))
	if err != nil {
		return &Failure{Text: "the event can't be written: " + err.Error(), Final: true}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address.Reveal(), bytes.NewReader(body))
	if err != nil {
		return &Failure{Text: "its address is none", Final: true} // New has seen that it is one
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "wafbot")
	res, err := p.http.Do(req)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &Failure{Text: "it can't be reached", Err: apiclient.WithoutURL(err)}
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if p.accepted(res.StatusCode) {
		return nil
	}
	return p.failure(res, answer, err)
}

func (p *Pager) body(e Event) any {
	switch p.format {
	case PagerDuty:
		return p.pagerDuty(e)
	case Alertmanager:
		return []alert{alertOf(e)}
	}
	return plainOf(e)
}

// accepting is the one status with which a format accepts an event. JSON has none: any 2xx accepts it.
var accepting = map[string]int{PagerDuty: http.StatusAccepted, Alertmanager: http.StatusOK}

// accepted reports whether a status says that the event was accepted. A web page that another server answers with
// doesn't say so.
func (p *Pager) accepted(status int) bool {
	want := accepting[p.format]
	return status == want || want == 0 && status/100 == 2
}

// Failure is why an event was not accepted.
type Failure struct {
	Text       string        // for people, after "the pager can't be called: "
	Final      bool          // the same event will never be accepted
	RetryAfter time.Duration // how long the pager asks to wait, 5 min at most; 0: it doesn't say
	Err        error         // the cause, where there was no answer
}

// Error says why, with the cause.
func (f *Failure) Error() string {
	if f.Err != nil {
		return f.Text + ": " + f.Err.Error()
	}
	return f.Text
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// How much of an answer is read, and shown, and how long the pager may ask to wait.
const (
	maxAnswer     = 4 << 10         // bytes
	maxMessage    = 200             // characters
	maxRetryAfter = 5 * time.Minute // a person has to be paged
)

// failure is what an answer other than "accepted" says.
func (p *Pager) failure(res *http.Response, answer []byte, readErr error) *Failure {
	f := &Failure{RetryAfter: min(apiclient.RetryAfter(res.Header), maxRetryAfter), Err: readErr}
	switch status := res.StatusCode; {
	case status == http.StatusTooManyRequests:
		f.Text = "it says there are too many requests (429)"
	case status/100 == 3:
		f.Text = fmt.Sprintf("it sends wafbot elsewhere (%d), which isn't followed: is the address right?", status)
	case status == http.StatusBadRequest:
		f.Final = true
		f.Text = "it refuses the call (400)"
		if said := p.message(answer); said != "" {
			f.Text += ": " + said
		}
	default:
		f.Text = fmt.Sprintf("it answers with status %d", status)
	}
	return f
}

// message is what a refusal says, without the key and the address, should it repeat them.
func (p *Pager) message(answer []byte) string {
	said := struct {
		Message string   `json:"message"`
		Errors  []string `json:"errors"`
	}{}
	words := string(answer)
	if json.Unmarshal(answer, &said) == nil && said.Message != "" {
		words = strings.Join(append([]string{said.Message}, said.Errors...), "; ")
	}
	for _, secret := range p.secrets() {
		words = strings.ReplaceAll(words, secret, "[redacted]")
	}
	return text.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(words, "")), " "), maxMessage)
}

// shortestSecret is how long a part of an address is, in bytes, that may be a key.
const shortestSecret = 6

// secrets are the key, and all parts of the address, behind its host, that may be one: a receiver may repeat a part of
// what it was asked.
func (p *Pager) secrets() (all []string) {
	if key := p.key.Reveal(); key != "" {
		all = append(all, key)
	}
	u, err := url.Parse(p.address.Reveal())
	if err != nil {
		return all
	}
	rest := []string{u.EscapedPath(), u.RawQuery, u.Path}
	for _, values := range u.Query() {
		rest = append(rest, values...)
	}
	for _, part := range rest {
		for _, word := range strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune("/?&=:;", r) }) {
			if len(word) >= shortestSecret {
				all = append(all, word)
			}
		}
	}
	slices.SortFunc(all, func(x, y string) int { return len(y) - len(x) }) // one may begin with another
	return all
}
