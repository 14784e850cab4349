package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Secured is what connections to servers need that speak TLS alone, ask clients for a certificate, and know their
// users. Each value is a password of its own, so that a test sees which of them shows up somewhere.
type Secured struct {
	CAFile            string // of an authority of the test's own
	CertFile, KeyFile string // for 127.0.0.1: of servers, and good for clients

	Username, Password                 string // of Redis
	SentinelUsername, SentinelPassword string

	admin string // the password of the default users
	trust *tls.Config
}

// userRights are what docs/config.md says that wafbot's user needs.
const userRights = "~wafbot:* +@all -@admin -@dangerous +info"

// NewSecured makes an authority and a certificate.
func NewSecured(t testing.TB) *Secured {
	t.Helper()
	dir := t.TempDir()
	s := &Secured{
		CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "cert.pem"),
		KeyFile:  filepath.Join(dir, "key.pem"),
		Username: "wafbot", Password: "hunter-redis", SentinelUsername: "watcher", SentinelPassword: "hunter-sentinel",
		admin: "hunter-admin",
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"redis.test"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer := issuer{authority, newKey(t)}
	key := newKey(t)
	writePEM(t, s.CAFile, "CERTIFICATE", signer.sign(t, authority, signer.key))
	writePEM(t, s.CertFile, "CERTIFICATE", signer.sign(t, leaf, key))
	private, err := x509.MarshalPKCS8PrivateKey(key)
	fatal(t, err)
	writePEM(t, s.KeyFile, "PRIVATE KEY", private)
	pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
	fatal(t, err)
	_, _ = x509.SystemCertPool() // reading it takes a second on a busy machine: longer than a connection may take
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(s.CAFile)
	fatal(t, err)
	roots.AppendCertsFromPEM(ca)
	s.trust = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	return s
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fatal(t, err)
	return key
}

// issuer signs certificates.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign makes the certificate of a key.
func (i issuer) sign(t testing.TB, cert *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, cert, i.cert, key.Public(), i.key)
	fatal(t, err)
	return der
}

func writePEM(t testing.TB, file, kind string, content []byte) {
	fatal(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// flags have a server or sentinel listen on a port, and connect to others.
func (s *Secured) flags(port string) []string {
	if s == nil {
		return []string{"--port", port}
	}
	return []string{
		"--port", "0", "--tls-port", port, "--tls-ca-cert-file", s.CAFile, "--tls-cert-file", s.CertFile,
		"--tls-key-file", s.KeyFile,
		"--tls-replication", "yes", "--tls-cluster", "yes", "--requirepass", s.admin,
	}
}

// users are a server's: the default one is what servers and tests log in as.
func (s *Secured) users() []string {
	if s == nil {
		return nil
	}
	return append([]string{"--masterauth", s.admin, "--user", s.Username, "on", ">" + s.Password},
		strings.Fields(userRights)...)
}

// sentinelConfig is how a sentinel logs in at servers and other sentinels, and who may log in at it.
func (s *Secured) sentinelConfig() string {
	if s == nil {
		return ""
	}
	return "sentinel auth-pass " + masterName + " " + s.admin + "\nsentinel sentinel-pass " + s.admin + "\n" +
		"user " + s.SentinelUsername + " on >" + s.SentinelPassword + " +@all allchannels\n"
}

// cli are redis-cli's flags.
func (s *Secured) cli() []string {
	if s == nil {
		return nil
	}
	return []string{"--tls", "--cacert", s.CAFile, "--cert", s.CertFile, "--key", s.KeyFile, "-a", s.admin,
		"--no-auth-warning"}
}

// auth is how a server logs in at another one to which it moves keys.
func (s *Secured) auth() []string {
	if s == nil {
		return nil
	}
	return []string{"AUTH", s.admin}
}

// url is an address with the user that wafbot is to be, of Redis and of its sentinels.
func (s *Secured) url(scheme, rest string) string {
	if s == nil {
		return scheme + "://" + rest
	}
	secure := map[string]string{"redis": "rediss", "redis-cluster": "redis-clusters", "redis-sentinel": "redis-sentinels"}
	if scheme == "redis-sentinel" {
		rest += "?sentinel_username=" + s.SentinelUsername + "&sentinel_password=" + s.SentinelPassword
	}
	return secure[scheme] + "://" + s.Username + ":" + s.Password + "@" + rest
}

// dial connects as the default user.
func (s *Secured) dial(addr string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: askPatience}
	if s == nil {
		return dialer.Dial("tcp", addr)
	}
	return tls.DialWithDialer(dialer, "tcp", addr, s.trust)
}
