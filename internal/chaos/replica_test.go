package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/wrongclock"
)

// stopPatience is more than a replica may take to stop.
const stopPatience = 30 * time.Second

// replica is one wafbot serve, killed and started again and again. Only one fault at a time is on it.
type replica struct {
	t      testing.TB
	number int
	binary string
	config string
	logs   string
	clock  string // of its machine, as wrongclock reads it; "": it is right

	mu      sync.Mutex
	lives   int
	process *process // nil: dead
	address string
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// start starts the replica on a free port.
func (r *replica) start() error {
	r.lives++
	cmd := exec.Command(r.binary, "serve", "--config", r.config)
	cmd.Env = append(os.Environ(), "WAFBOT_LISTEN=127.0.0.1:0", wrongclock.Variable+"="+r.clock)
	p, address, err := start(r.t, r.logs, fmt.Sprintf("replica%d.%03d", r.number, r.lives), cmd, listening)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.address = p, address
	return nil
}

// add starts one more replica of the round.
func (r *round) add(binary, config, clock string) *replica {
	r.t.Helper()
	one := &replica{t: r.t, number: len(r.replicas), binary: binary, config: config, logs: r.logs, clock: clock}
	require.NoError(r.t, one.start())
	r.replicas = append(r.replicas, one)
	return one
}

// gone removes the process, so that nothing is delivered to it any more.
func (r *replica) gone() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.process
	r.process, r.address = nil, ""
	return p
}

func (r *replica) kill() { r.gone().kill() }

// terminate stops it as a rolling update does. It gets deliveries until it refuses connections.
func (r *replica) terminate() error {
	err := r.process.stop(stopPatience)
	r.gone()
	return err
}

func (r *replica) pause()  { r.process.signal(syscall.SIGSTOP) }
func (r *replica) resume() { r.process.signal(syscall.SIGCONT) }

// at is where it takes requests; "" while it is dead.
func (r *replica) at() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// balance opens an address whose requests go to some replica that takes connections, as behind a load balancer without
// health checks of its own.
func balance(t testing.TB, replicas func() []*replica) string {
	t.Helper()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		err := errors.New("no replica is there")
		all := replicas()
		for _, i := range rand.Perm(len(all)) {
			if address := all[i].at(); address != "" {
				var conn net.Conn
				if conn, err = (&net.Dialer{}).DialContext(ctx, network, address); err == nil {
					return conn, nil
				}
			}
		}
		return nil, err
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "replicas"}) },
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		ErrorLog:  log.New(io.Discard, "", 0), // replicas are killed on purpose
	})
	t.Cleanup(server.Close)
	return server.URL
}
