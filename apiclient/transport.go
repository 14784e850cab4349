package apiclient

import (
	"crypto/tls"
	"net/http"
	"time"
)

// idleConns are kept for each host. Go keeps two: with more requests under way than that, each further one would open a connection,
// TLS handshake and all, and close it after its answer.
const idleConns = 100

// NewHTTP returns an HTTP client that the accounts of a process share, so that they share its connections; with a time-out of 15 s.
// How many connections it opens is not limited: an account that hangs must not hold up the others.
func NewHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, idleConns
	t.TLSClientConfig = &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)} // a new connection resumes an old one's session
	// Over HTTP/2 all accounts of a host have one connection. Where that dies silently, this notices, and not TCP after a quarter of an hour.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second}
	return &http.Client{Transport: t, Timeout: 15 * time.Second}
}
