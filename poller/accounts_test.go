//go:build unix

package poller_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/poller"
)

// BenchmarkAccounts is a minute of 1,000 accounts, each with 100 known attacks and polled every 15 seconds by the real
// client over TLS: polls, incidents, lists and rules. "accounts/core" is how many would keep one core busy; the
// emulated service's own work is in it.
func BenchmarkAccounts(b *testing.B) {
	const accounts, known, interval = 1000, 100, 15 * time.Second
	s := newStill(b, known)
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(s)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.StartTLS()
	b.Cleanup(server.Close)
	s.url = server.URL
	shared := apiclient.NewHTTP()
	shared.Transport.(*http.Transport).TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	api := s.client(b, shared)

	before := heap()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var running sync.WaitGroup
	starts := rate.NewLimiter(200, 1)
	var all []*poller.Poller
	for i := range accounts {
		account := accountOf(fmt.Sprint(i), "C0")
		account.PollInterval = interval
		p := poller.New(poller.Config{Account: account, API: api, Store: fixedStore{}, Notifier: fixedStore{}})
		all = append(all, p)
		running.Go(func() {
			if starts.Wait(ctx) == nil {
				_ = p.Run(ctx)
			}
		})
	}
	for _, p := range all {
		require.Eventually(b, func() bool { return len(p.Attacks()) == known }, time.Minute, 10*time.Millisecond)
	}
	for b.Loop() {
		s.asked.Store(0)
		opened.Store(0)
		began := busy(b)
		<-time.After(time.Minute)
		spent := busy(b) - began
		b.ReportMetric(accounts*float64(time.Minute)/float64(spent), "accounts/core")
		b.ReportMetric(float64(spent)/float64(time.Millisecond)/float64(s.asked.Load()), "cpu-ms/request")
		b.ReportMetric(float64(s.asked.Load())/accounts, "requests/account")
		b.ReportMetric(float64(opened.Load()), "connections")
	}
	b.ReportMetric(float64(heap()-before)/accounts/1024, "KB/account")
	b.ReportMetric(0, "ns/op")
	stop()
	running.Wait()
}

// busy is the CPU time that this process has used.
func busy(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap is how much memory is in use, in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
