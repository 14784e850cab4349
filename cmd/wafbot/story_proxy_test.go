package main

import (
	"bufio"
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
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// outside is the emulated world at https://example.com, which no name service leads to: only a proxy does. A CA that nobody else has signed its certificate.
type outside struct {
	*httptest.Server

	proxy  *httptest.Server
	passed atomic.Int32 // connections through the proxy
	failed atomic.Int32 // connections to elsewhere that were asked of it
	links  string       // the host of links
}

func openOutside(t *testing.T, world string) *outside {
	t.Helper()
	at, err := url.Parse(world)
	require.NoError(t, err)
	o := &outside{links: "example.com"}
	o.Server = httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) },
		ModifyResponse: func(res *http.Response) error {
			if !strings.HasSuffix(res.Request.URL.Path, "/apps.connections.open") {
				return nil
			}
			text, err := io.ReadAll(res.Body)
			text = bytes.Replace(text, []byte("ws://"+at.Host), []byte("wss://"+o.links), 1)
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

// socks takes a client to the proxy's example.com by SOCKS5, whose name it must be given: the client's name service doesn't know it.
func (o *outside) socks(near net.Conn) {
	defer near.Close()
	in := bufio.NewReader(near)
	methods := make([]byte, 2)
	_, _ = io.ReadFull(in, methods)
	_, _ = io.CopyN(io.Discard, in, int64(methods[1]))
	_, _ = near.Write([]byte{5, 0})
	asked := make([]byte, 5+len("example.com")+2)
	if _, err := io.ReadFull(in, asked); err != nil || string(asked[5:len(asked)-2]) != "example.com" {
		o.failed.Add(1)
		return
	}
	far, err := net.Dial("tcp", o.Listener.Addr().String())
	if err != nil {
		return
	}
	defer far.Close()
	o.passed.Add(1)
	_, _ = near.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() {
		_, _ = io.Copy(far, in)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// taking takes connections, each in its own goroutine, and returns the address.
func taking(t *testing.T, take func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go take(conn)
		}
	}()
	return l.Addr().String()
}

// starts starts the bot with a proxy in its environment, behind which its world is.
func (o *outside) starts(t *testing.T, w *world, proxy string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = []string{programVariable + "=" + theBot, "HTTPS_PROXY=" + proxy, "SSL_CERT_FILE=" + o.caFile(t), "SSL_CERT_DIR=/nowhere"}
	for _, variable := range w.Env() {
		if name, value, _ := strings.Cut(variable, "="); name == "WAFBOT_SLACK_API_URL" || name == "WAFBOT_API_URL" {
			variable = name + "=" + strings.Replace(value, w.URL(), "https://example.com", 1)
		}
		cmd.Env = append(cmd.Env, variable)
	}
	cmd.Env = append(cmd.Env, "WAFBOT_LISTEN=127.0.0.1:0")
	cmd.Stdout = w.journal
	launch(t, cmd)
	return cmd
}

func behindProxy(t *testing.T) (*world, *outside) {
	t.Helper()
	w := &world{World: openWorld(t), t: t, journal: newJournal()}
	w.Slack = w.World.Slack
	require.NoError(t, w.Slack.SetIngress(workspace.IngressSocket))
	return w, openOutside(t, w.URL())
}

// Slack, Socket Mode's links and the service are reached through the proxy of the environment, whatever it speaks, by the CA of the environment.
func TestThroughAProxyWithAPrivateCA(t *testing.T) {
	t.Parallel()
	for name, proxy := range map[string]func(o *outside) string{
		"http": func(o *outside) string { return o.proxy.URL },
		"https": func(o *outside) string {
			secure := httptest.NewTLSServer(http.HandlerFunc(o.connect))
			t.Cleanup(secure.Close)
			return secure.URL
		},
		"socks5h": func(o *outside) string { return "socks5h://" + taking(t, o.socks) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := behindProxy(t)
			o.starts(t, w, proxy(o))
			w.until("a link", func() bool { return len(w.Slack.Links()) > 0 })
			w.message("#waf", "wafbot watches default") // the service was read
			require.GreaterOrEqual(t, o.passed.Load(), int32(3), "the service, Slack, and a link")
			require.Zero(t, o.failed.Load())
		})
	}
}

// A proxy that lets Slack's methods through and refuses links, with a status line without words, is named with what it was asked for. Nothing ends.
func TestAProxyThatRefusesLinks(t *testing.T) {
	t.Parallel()
	w, o := behindProxy(t)
	var linking, refused atomic.Int32
	odd := taking(t, func(near net.Conn) {
		defer near.Close()
		in := bufio.NewReader(near)
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if req.Host == "links.example.com:443" {
			refused.Add(1)
			_, _ = io.WriteString(near, "HTTP/1.1 403\r\n\r\n")
			return
		}
		far, err := net.Dial("tcp", o.Listener.Addr().String())
		if err != nil {
			return
		}
		defer far.Close()
		linking.Add(1)
		_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(far, in); far.Close() }()
		_, _ = io.Copy(near, far)
	})
	o.links = "links.example.com"
	cmd := o.starts(t, w, "http://joe:secret@"+odd)
	w.until("it is named", func() bool {
		return w.journal.has("socket mode", "ask the proxy "+odd+" for links.example.com:443: it refuses: 403")
	})
	require.Eventually(t, func() bool { return refused.Load() >= 4 }, patience, 100*time.Millisecond, "it is asked again")
	require.NoError(t, cmd.Process.Signal(syscall.Signal(0)), "it runs")
	require.False(t, w.journal.has("joe:secret"))
	require.Positive(t, linking.Load())
}
