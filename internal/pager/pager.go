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
	"time"

	"github.com/wafbot/wafbot/apiclient"
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
