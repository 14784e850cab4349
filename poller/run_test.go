package poller_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/poller"
)

const attacks, lists, hints = "/v1/objects/attack", "/v4/ip_rules", "/v1/objects/hint"

// running starts Run in a bubble; the service's clock is the bubble's, five minutes ahead.
func running(t *testing.T, prepare func(*account)) (*account, *poller.Poller) {
	a := inProcess(t, func() time.Time { return time.Now().Add(5 * time.Minute) })
	prepare(a)
	p := a.start()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() { // synctest itself finds goroutines that are left
		stop()
		require.NoError(t, <-done)
	})
	synctest.Wait()
	return a, p
}

// runFor runs a poller for a while of the bubble's time.
func runFor(t *testing.T, p *poller.Poller, d time.Duration) error {
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	return p.Run(ctx)
}

// after lets time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestRunPollsAtItsInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(*account) {})
		a.asked("")
		var gaps []time.Duration
		begin, last := time.Now(), time.Now()
		a.mu.Lock()
		a.served = func(q request) {
			if q.Path == attacks && !q.Incidents {
				gaps = append(gaps, time.Since(last))
				last = time.Now()
			}
		}
		a.mu.Unlock()
		after(10 * time.Minute)
		a.mu.Lock()
		defer a.mu.Unlock()
		require.InDelta(t, 40, len(gaps), 4)
		distinct := map[time.Duration]bool{}
		for _, gap := range gaps {
			require.InDelta(t, 15, gap.Seconds(), 1.5)
			distinct[gap] = true
		}
		require.Greater(t, len(distinct), len(gaps)/2, "jitter")
		require.LessOrEqual(t, time.Since(begin), 10*time.Minute)
	})
}

func TestRunBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, p := running(t, func(a *account) { a.fail(func(q request) bool { return q.Path == attacks }) })
		require.NotEmpty(t, p.Health().Failing)
		after(2 * time.Minute)
		a.asked("")
		after(time.Hour)
		require.InDelta(t, 60, len(a.asked(attacks)), 7, "down to one a minute")
		require.WithinDuration(t, a.Now().Add(-62*time.Minute), p.Health().Since, time.Second, "on the service's clock")
		a.fail(nil)
		after(67 * time.Second)
		require.Empty(t, p.Health().Failing)
		a.asked("")
		after(5 * time.Minute)
		require.InDelta(t, 20, len(a.asked(attacks)), 3, "and back to the interval")
		require.Equal(t, []string{"first start "}, a.store.takeNames())
	})
}

func TestRunReadsMoreNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(a *account) {
			for i := range 350 {
				a.add(fmt.Sprintf("x:%03d", i), time.Hour+time.Duration(i)*time.Minute, blocked)
			}
		})
		require.Equal(t, []string{"first start "}, a.store.takeNames())
		after(30 * time.Second)
		a.asked("")
		a.change("x:340", incident)
		after(67 * time.Second)
		require.Equal(t, []string{"new incident x:340"}, a.store.takeNames(), "incidents are listed once a minute")
		a.change("x:345", func(r *attackRecord) { r.status, r.hits = "monitored", 200 })
		after(6 * time.Minute)
		require.Empty(t, a.store.takeNames(), "too deep for each poll")
		asked := a.asked(attacks)
		deep := 0
		for _, q := range asked {
			if q.Offset > 100 && !q.Incidents {
				deep++
			}
		}
		require.Zero(t, deep)
		after(4 * time.Minute)
		require.Equal(t, []string{"new attack x:345"}, a.store.takeNames(), "but not for the sweep")
	})
}

func TestRunMirrorsSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entry := map[string]any{"id": 101, "list": "black", "rule_type": "ip_range", "subnet": "203.0.113.7/32", "pools": []int{0}}
		a, p := running(t, func(a *account) {
			a.entries = append(a.entries, entry)
			a.rules = append(a.rules, map[string]any{"id": 1, "type": "service_mode", "mode": "block"},
				map[string]any{"id": 2, "type": "vpatch"}, map[string]any{"id": 3, "type": "wallarm_mode_else", "system": true})
		})
		s := p.Settings()
		require.Len(t, s.Entries, 1)
		require.Len(t, s.Rules, 2)
		require.Equal(t, a.Now(), s.At, "on the service's clock")
		require.Empty(t, s.Err)
		a.asked("")
		after(10 * time.Second)
		a.mu.Lock()
		a.entries = append(a.entries, entry)
		a.mu.Unlock()
		require.Len(t, p.Settings().Entries, 1)
		p.RefreshSettings()
		p.RefreshSettings()
		synctest.Wait()
		require.Len(t, p.Settings().Entries, 2)
		a.asked("")
		after(10 * time.Minute)
		require.LessOrEqual(t, len(a.asked(hints)), 10*2, "once a minute")

		a.fail(func(q request) bool { return q.Path == hints })
		a.mu.Lock()
		a.entries = nil
		a.mu.Unlock()
		before := a.Now()
		after(2 * time.Minute)
		s = p.Settings()
		require.Equal(t, "rules: the service answers with errors", s.Err)
		require.Empty(t, s.Entries, "what can be read is new")
		require.Len(t, s.Rules, 2, "what can't is kept")
		require.False(t, s.At.After(before))
		require.Empty(t, p.Health().Failing, "watching goes on")
		a.fail(nil)
		after(time.Minute)
		require.Empty(t, p.Settings().Err)
	})
}

// A mirror that hangs delays no poll, and Run leaves none behind.
func TestRunMirrorHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := inProcess(t, time.Now)
		release := make(chan struct{})
		a.served = func(q request) {
			if q.Path == lists {
				<-release
			}
		}
		p := a.start()
		ctx, stop := context.WithCancel(t.Context())
		var ended atomic.Bool
		go func() { _ = p.Run(ctx); ended.Store(true) }()
		synctest.Wait()
		a.add("x:1", 0)
		after(17 * time.Second)
		require.Equal(t, []string{"first start ", "new attack x:1"}, a.store.takeNames())
		p.RefreshSettings()
		p.RefreshSettings()
		require.True(t, p.Settings().At.IsZero())
		stop()
		synctest.Wait()
		require.False(t, ended.Load(), "the mirror still runs")
		close(release)
		synctest.Wait()
		require.True(t, ended.Load())
		require.Zero(t, p.Settings(), "a reading that was broken off says nothing")
	})
}

// Cards are drawn and probes answered while Run is at work.
func TestRunIsAskedMeanwhile(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for i := range 20 {
		a.add(fmt.Sprintf("x:%02d", i), 0)
	}
	account := accountOf(a.name, "")
	account.PollInterval = time.Millisecond
	p := poller.New(poller.Config{Account: account, API: a.api, Clock: a, Store: a.store, Notifier: a.store, Log: a.log})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	newest := func() bool {
		for _, s := range p.Attacks() {
			if s.Attack.Hits.N == 107 {
				return s.Notified
			}
		}
		return false
	}
	require.Eventually(t, func() bool { return len(p.Attacks()) == 20 && !p.Health().LastGood.IsZero() }, time.Minute, time.Millisecond)
	a.change("x:07", func(r *attackRecord) { r.hits = 107 })
	require.Eventually(t, func() bool { p.RefreshSettings(); return newest() && !p.Settings().At.IsZero() }, time.Minute, time.Millisecond)
	stop()
	require.NoError(t, <-done)
}
