package apiclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config is how to reach one account of the service.
type Config struct {
	BaseURL   string       // the cloud's base address, http or https
	Token     Secret       // the API token; either this or TokenFile
	TokenFile string       // holds the token; read before each request, and once more after a refusal (401, 403)
	ClientID  int          // the account; 0: asked of the API on first need, once, and kept
	HTTP      *http.Client // nil: one of its own as NewHTTP makes it; redirects are never followed, whatever it sets
	Tries     int          // how often one request is sent at most; 0: 4
	Log       *slog.Logger // each call, as detail; nil: discarded
	// Note gets the service's time, in whole seconds, from each answer that is neither a refusal nor a fault; asked is
	// when the request was sent. nil: not called.
	Note  func(asked, at time.Time) `json:"-"`
	Pause time.Duration             // before the first repeat, doubling to 30 times as long; while rules are locked 5 times; 0: 1 s
}

// Client calls the service for one account. It may be used by many goroutines at once.
type Client struct {
	base     string
	token    *tokenSource
	http     *http.Client
	tries    int
	step     time.Duration
	note     func(asked, at time.Time) // gets the service's time; nil: not called
	log      *slog.Logger
	seed     maphash.Seed // of the sums of attack records: no attacker can make two records with the same
	clientID chan int     // holds one value, but while the client id is requested; 0: not known yet
	asks     bool         // the client id isn't configured
	foreign  atomic.Int64 // records of other clients that came
	skipped  sync.Map     // where the last record is that was too long, by listing
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
	c := &Client{
		base: base, token: token, http: WithoutRedirects(cfg.HTTP), tries: cmp.Or(cfg.Tries, 4),
		step: cmp.Or(cfg.Pause, time.Second),
		note: cfg.Note, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), seed: maphash.MakeSeed(),
		clientID: make(chan int, 1),
		asks:     cfg.ClientID == 0,
	}
	c.clientID <- cfg.ClientID
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

// WithoutRedirects copies an HTTP client, or makes one, that follows no redirect: Go passes a token's header, and with
// 307 a whole form, on to whatever host a redirect names.
func WithoutRedirects(given *http.Client) *http.Client {
	if given == nil {
		given = NewHTTP()
	}
	own := *given
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// idleConns are kept for each host. Go keeps two: with more requests under way than that, each further one would open a
// connection, TLS handshake and all, and close it after its answer.
const idleConns = 100

// NewHTTP returns an HTTP client that the accounts of a process share, so that they share its connections; with a
// time-out of 15 s. How many connections it opens is not limited: an account that hangs must not hold up the others.
func NewHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, idleConns
	t.TLSClientConfig = &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)} // a new connection resumes an old one's session
	// Over HTTP/2 all accounts of a host have one connection. Where that dies silently, this notices, and not TCP after a
	// quarter of an hour.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second}
	t.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, asked *http.Request, answer *http.Response) error {
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("ask the proxy %s for %s: it refuses: %s", proxy.Host, asked.Host, answer.Status)
		}
		return nil
	}
	return &http.Client{Transport: t, Timeout: 15 * time.Second}
}

// User is the owner of the token and the account it belongs to.
type User struct {
	ClientID   int    `api:"client_id"`
	ClientName string `api:"client_name"`
	Enabled    bool   `api:"enabled"` // also when the service omits it
}

// User reads the token's owner: POST /v1/user. It may be repeated.
func (c *Client) User(ctx context.Context) (User, error) {
	k := call{op: "read user", method: http.MethodPost, path: "/v1/user", body: struct{}{}}
	ans, err := c.do(ctx, k)
	if err != nil {
		return User{}, err
	}
	found := object(ans.body)
	if found == nil {
		return User{}, puzzling(k, "answer holds no user")
	}
	var u struct {
		User
		Other int `api:"clientid"`
	}
	u.Enabled = true
	decode(found, 0, &u)
	u.ClientID = cmp.Or(u.ClientID, u.Other)
	return u.User, nil
}

// account is the account's id: the configured one, else the one of POST /v1/user, which is requested once and kept
// until forget. While one caller asks, the others wait for it.
func (c *Client) account(ctx context.Context) (id int, err error) {
	const op = "read client id"
	select {
	case id = <-c.clientID:
		defer func() { c.clientID <- id }()
	case <-ctx.Done():
		return 0, &Error{Op: op, Kind: Network, Err: ctx.Err()}
	}
	if id != 0 {
		return id, nil
	}
	u, err := c.User(ctx)
	if err == nil && u.ClientID <= 0 {
		err = &Error{Op: op, Kind: Server, Message: "answer holds no client id"}
	}
	return max(u.ClientID, 0), err
}

// forget has the client id requested again, unless it is configured: the answer that told it may have been another's.
func (c *Client) forget() {
	if !c.asks {
		return
	}
	select {
	case <-c.clientID:
		c.clientID <- 0
	default: // it is requested just now
	}
}
