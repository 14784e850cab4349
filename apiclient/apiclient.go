// Package apiclient calls the application-protection service: one method, one call, and the only knowledge of its JSON.
package apiclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config is how to reach one account of the service.
type Config struct {
	BaseURL   string        // the cloud's base address, http or https
	Token     Secret        // the API token; either this or TokenFile
	TokenFile string        // holds the token; read again when it changes and once after a refusal (401, 403)
	ClientID  int           // the account; 0: asked of the API on first need, once, and kept
	HTTP      *http.Client  // nil: one of its own as NewHTTP makes it; redirects are never followed, whatever it sets
	Tries     int           // how often one request is sent at most; 0: 4
	Pause     time.Duration // before the first repeat, doubling to 30 times as long; while rules are locked 5 times; 0: 1 s
}

// Client calls the service for one account. It may be used by many goroutines at once.
type Client struct {
	base     string
	token    *tokenSource
	http     *http.Client
	tries    int
	step     time.Duration
	clientID atomic.Int64
	asking   chan struct{} // capacity 1: held while the client id is requested
}

// New makes a client and sends nothing. It fails when the base address or the token is missing or unusable.
func New(cfg Config) (*Client, error) {
	base, err := baseURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	token, err := newTokenSource(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.ClientID < 0 || cfg.Tries < 0 || cfg.Pause < 0 {
		return nil, errors.New("client id, tries and pause must not be negative")
	}
	c := &Client{base: base, token: token, http: withoutRedirects(cfg.HTTP), tries: cfg.Tries, step: cfg.Pause, asking: make(chan struct{}, 1)}
	if c.tries == 0 {
		c.tries = 4
	}
	if c.step == 0 {
		c.step = time.Second
	}
	c.clientID.Store(int64(cfg.ClientID))
	return c, nil
}

// baseURL checks the address without repeating it in its errors: it may hold a password.
func baseURL(address string) (string, error) {
	if address == "" {
		return "", errors.New("base address is missing")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", errors.New("base address is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("base address must begin with http:// or https://, not %q", u.Scheme)
	case u.Hostname() == "":
		return "", errors.New("base address has no host")
	case u.User != nil:
		return "", errors.New("base address must not hold a user or password")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("base address must not hold a query or fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// withoutRedirects copies the HTTP client, because Go passes the token's header on to whatever host a redirect names.
func withoutRedirects(given *http.Client) *http.Client {
	if given == nil {
		given = NewHTTP()
	}
	own := *given
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}
