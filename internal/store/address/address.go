// Package address reads how Redis is reached: its URL, TLS and credentials. What it doesn't understand is an error,
// never plain text.
package address

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// Options are what the operator writes.
type Options struct {
	// URL is redis://[USER:PASSWORD@]HOST[:PORT][/DB], redis-cluster://[…@]HOST,HOST, or
	// redis-sentinel://[…@]HOST,HOST/MASTER[/DB]. With TLS these are rediss://, redis-clusters:// and redis-sentinels://.
	// User and password are those of what holds data; the sentinels' own are options at the end:
	// ?sentinel_username=USER&sentinel_password=PASSWORD.
	URL string
	TLS TLS
}

// TLS says whom to trust, and as whom to connect.
type TLS struct {
	CAFile            string // certificates in PEM that are trusted instead of the system's; "": the system's
	CertFile, KeyFile string // the client's certificate and its key in PEM, read again for each connection; "": none
}

// Login is a user, "" for the default one, and the password; both empty: nothing is asked for.
type Login struct {
	Username string
	Password apiclient.Secret
}

// Address is how Redis is reached.
type Address struct {
	Hosts    []string // HOST:PORT, of Redis or of its sentinels
	Cluster  bool
	Master   string // what the sentinels call it; "": there are none
	DB       int
	Login    Login
	Sentinel Login
	TLS      *tls.Config // nil: plain text
}

// Error is what is wrong with a key of the configuration, and what to do. It holds no password and nothing that could
// be a part of one.
type Error struct{ Key, Text string }

// Error implements error.
func (e *Error) Error() string { return e.Key + ": " + e.Text }

const urlKey = "redis.url"

func wrong(key, format string, args ...any) error { return &Error{key, fmt.Sprintf(format, args...)} }

// scheme is the first part of a URL.
type scheme struct {
	names    []string // the first is the one to write
	secure   bool
	like     string // the rest, as an example
	port     string // where none is written
	cluster  bool
	sentinel bool
}

// schemes come in pairs: one in plain text, and the same with TLS. Their second names are what others call them.
var schemes = []scheme{
	{names: []string{"redis"}, like: "HOST:6379/0", port: "6379"},
	{names: []string{"rediss"}, secure: true, like: "HOST:6379/0", port: "6379"},
	{names: []string{"redis-cluster"}, like: "HOST:6379,HOST:6379", port: "6379", cluster: true},
	{names: []string{"redis-clusters", "rediss-cluster"}, secure: true, like: "HOST:6379,HOST:6379", port: "6379",
		cluster: true},
	{names: []string{"redis-sentinel"}, like: "HOST:26379,HOST:26379/MASTER/0", port: "26379", sentinel: true},
	{names: []string{"redis-sentinels", "rediss-sentinel"}, secure: true, like: "HOST:26379,HOST:26379/MASTER/0",
		port: "26379", sentinel: true},
}

func (s scheme) String() string  { return s.names[0] + "://" }
func (s scheme) example() string { return s.String() + s.like }

// Parse reads what the operator wrote, and the files that it names. Its error is an *Error.
func Parse(o Options) (*Address, error) {
	before, _, ok := strings.Cut(o.URL, "://")
	i := slices.IndexFunc(schemes, func(s scheme) bool { return slices.Contains(s.names, before) })
	if !ok || i < 0 {
		return nil, wrong(urlKey, "is no Redis address; write it like redis://HOST:6379/0, redis-sentinel://… or redis-cluster://…, with TLS rediss://…, redis-sentinels://… or redis-clusters://…")
	}
	s := schemes[i]
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, wrong(urlKey, "can't be read; write it like %s, and special characters of a password as %%XX",
			s.example())
	case strings.Contains(o.URL, "#"), strings.Contains(o.URL, "?") && !s.sentinel:
		return nil, wrong(urlKey, "has something behind a ? or #, which wafbot would ignore; write options into redis: of the file, and these characters in a password as %%3F and %%23")
	}
	a := &Address{Cluster: s.cluster, Login: Login{Username: u.User.Username()}}
	password, _ := u.User.Password()
	a.Login.Password = apiclient.Secret(password)
	if a.Login.Username != "" && password == "" {
		return nil, wrong(urlKey, "names a user without a password, so that it would log in as the default one; write %sUSER:PASSWORD@%s", s, s.like)
	}
	if err := cmp.Or(a.hosts(s, u.Host), a.path(s, u.Path), a.options(u), a.tls(s, o.TLS)); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Address) hosts(s scheme, list string) error {
	for written := range strings.SplitSeq(list, ",") {
		host, port, err := net.SplitHostPort(written)
		if err != nil {
			host, port = strings.Trim(written, "[]"), s.port
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
			return wrong(urlKey, "has a host or port that is none; write it like %s", s.example())
		}
		a.Hosts = append(a.Hosts, net.JoinHostPort(host, port))
	}
	if len(a.Hosts) > 1 && !s.cluster && !s.sentinel {
		return wrong(urlKey, "names several hosts, of which %s takes one; write redis-cluster:// or redis-sentinel://, with TLS redis-clusters:// or redis-sentinels://", s)
	}
	return nil
}

// path reads what stands behind the hosts: the master and the number of the database.
func (a *Address) path(s scheme, path string) error {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if s.sentinel {
		if a.Master = parts[0]; a.Master == "" {
			return wrong(urlKey, "doesn't name the master; write it as its sentinels call it, like %s", s.example())
		}
		parts = append(parts[1:], "")
	}
	var err error
	if parts[0] != "" {
		a.DB, err = strconv.Atoi(parts[0])
	}
	switch {
	case err != nil, a.DB < 0, strings.Join(parts[1:], "") != "":
		return wrong(urlKey, "ends with what is no number of a database; write it like %s", s.example())
	case a.Cluster && a.DB != 0:
		return wrong(urlKey, "names a database, of which a cluster has 0 alone; remove it, and set redis.key_prefix to keep installations apart")
	}
	return nil
}

// options reads who logs in at the sentinels.
func (a *Address) options(u *url.URL) error {
	options, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", "%2B")) // a plus is no blank here
	a.Sentinel.Username = options.Get("sentinel_username")
	a.Sentinel.Password = apiclient.Secret(options.Get("sentinel_password"))
	for name, values := range options {
		if name != "sentinel_username" && name != "sentinel_password" || len(values) > 1 {
			err = cmp.Or(err, wrong(urlKey, "")) // not shown: it could be a part of a password
		}
	}
	switch {
	case err != nil, u.ForceQuery:
		return wrong(urlKey, "has something behind a ? that wafbot doesn't know; write ?sentinel_username=USER&sentinel_password=PASSWORD or less, "+
			"and special characters of a password as %%XX")
	case a.Sentinel.Username != "" && a.Sentinel.Password == "":
		return wrong(urlKey, "names a sentinel_username without a password, so that it would log in as the default one; "+
			"add &sentinel_password=PASSWORD")
	case len(options) > 0 && a.Sentinel.Password == "":
		return wrong(urlKey, "has a sentinel_password that is empty; write it, or remove it where the sentinels ask for none")
	}
	return nil
}

// tls makes the settings of connections, if the scheme has them encrypted.
func (a *Address) tls(s scheme, o TLS) error {
	if !s.secure {
		if (o != TLS{}) {
			return wrong("redis.tls", "does nothing with %s, which is plain text; write %s in redis.url, or remove redis.tls", s,
				secured(s))
		}
		return nil
	}
	a.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return wrong("redis.tls.ca_file", "%v; put the authority's certificate there or fix the path", err)
		}
		a.TLS.RootCAs = x509.NewCertPool()
		if !a.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return wrong("redis.tls.ca_file", "%s holds no certificate; write the authority's there, as PEM", o.CAFile)
		}
	}
	if o.CertFile == "" && o.KeyFile == "" {
		return nil
	}
	if o.CertFile == "" || o.KeyFile == "" {
		return wrong("redis.tls", "has one of cert_file and key_file without the other; set both, or none where Redis asks for no certificate")
	}
	read := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		return &pair, err
	}
	if _, err := read(); err != nil {
		return wrong("redis.tls.cert_file", "can't be used with key_file: %v; write the certificate and its key there, as PEM", err)
	}
	// Certificates are renewed while the program runs.
	a.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return read() }
	return nil
}

// secured is the same scheme with TLS.
func secured(s scheme) scheme {
	return schemes[slices.IndexFunc(schemes, func(o scheme) bool {
		return o.secure && o.cluster == s.cluster && o.sentinel == s.sentinel
	})]
}
