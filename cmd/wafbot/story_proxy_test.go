package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// outside is the emulated world at https://example.com, which no name service leads to: only a proxy does. A CA that nobody else has signed its certificate.
type outside struct {
	*httptest.Server

	proxy  *httptest.Server
	passed atomic.Int32 // connections through the proxy
	failed atomic.Int32 // connections to elsewhere that were asked of it
}

func openOutside(t *testing.T, world string) *outside {
	t.Helper()
	at, err := url.Parse(world)
	require.NoError(t, err)
	o := &outside{}
	o.Server = httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) },
		ModifyResponse: func(res *http.Response) error {
			if !strings.HasSuffix(res.Request.URL.Path, "/apps.connections.open") {
				return nil
			}
			text, err := io.ReadAll(res.Body)
			text = bytes.Replace(text, []byte("ws://"+at.Host), []byte("wss://example.com"), 1)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			res.Header.Del("Content-Length")
			return err
		},
	})
	t.Cleanup(o.Close)
	o.proxy = httptest.NewServer(http.HandlerFunc(o.connect))
	t.Cleanup(o.proxy.Close)
	return o
}

// connect lets a client through to example.com.
func (o *outside) connect(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Host != "example.com:443" {
		o.failed.Add(1)
		http.Error(rw, "no such way", http.StatusBadGateway)
		return
	}
	far, err := net.Dial("tcp", o.Listener.Addr().String())
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	rw.WriteHeader(http.StatusOK)
	near, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	o.passed.Add(1)
	go func() {
		_, _ = io.Copy(far, buffered)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// caFile is what SSL_CERT_FILE must name.
func (o *outside) caFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.Certificate().Raw}), 0o600))
	return file
}

// Slack, Socket Mode's links and the service are reached through the proxy of the environment, by the CA of the environment.
func TestThroughAProxyWithAPrivateCA(t *testing.T) {
	t.Parallel()
	w := &world{World: openWorld(t), t: t, journal: newJournal()}
	w.Slack = w.World.Slack
	require.NoError(t, w.Slack.SetIngress(workspace.IngressSocket))
	o := openOutside(t, w.URL())
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = []string{programVariable + "=" + theBot, "HTTPS_PROXY=" + o.proxy.URL, "SSL_CERT_FILE=" + o.caFile(t), "SSL_CERT_DIR=/nowhere"}
	for _, variable := range w.Env() {
		if name, value, _ := strings.Cut(variable, "="); name == "WAFBOT_SLACK_API_URL" || name == "WAFBOT_API_URL" {
			variable = name + "=" + strings.Replace(value, w.URL(), "https://example.com", 1)
		}
		cmd.Env = append(cmd.Env, variable)
	}
	cmd.Env = append(cmd.Env, "WAFBOT_LISTEN=127.0.0.1:0")
	cmd.Stdout = w.journal
	launch(t, cmd)
	w.until("a link", func() bool { return len(w.Slack.Links()) > 0 })
	w.message("#waf", "wafbot watches default") // the service was read
	require.GreaterOrEqual(t, o.passed.Load(), int32(3), "the service, Slack, and a link")
	require.Zero(t, o.failed.Load())
}
