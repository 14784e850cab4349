package poller_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

func TestServiceAway(t *testing.T) {
	t.Parallel()
	a, _ := watching(t)
	var logged bytes.Buffer
	a.log = slog.New(slog.NewTextHandler(&logged, nil))
	p := a.start()
	a.add("x:1", 0)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:1"}, a.store.takeNames())
	good := p.Health().LastGood
	a.fail(func(request) bool { return true })
	a.at(time.Hour)
	for range 5 {
		require.Error(t, p.Poll(t.Context()))
	}
	require.Empty(t, a.store.takeNames(), "no quiet from an answer that did not come")
	h := p.Health()
	require.Equal(t, "the service answers with errors", h.Failing)
	require.False(t, h.Since.IsZero())
	require.Equal(t, good, h.LastGood)
	require.Equal(t, 1, strings.Count(logged.String(), "level=ERROR"), "once an outage")
	a.service.mu.Lock()
	a.token = "another"
	a.service.mu.Unlock()
	require.Error(t, p.Poll(t.Context()))
	require.Equal(t, "the service refuses the token", p.Health().Failing)
	require.NotContains(t, logged.String()+fmt.Sprint(p.Health()), "s3cret")

	a.service.mu.Lock()
	a.token = "s3cret"
	a.service.mu.Unlock()
	a.fail(nil)
	a.add("x:2", 30*time.Minute)
	a.add("x:3", 0)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:3", "quiet x:1"}, a.store.takeNames(), "caught up; x:2 is over and in the events of the gap")
	require.Empty(t, p.Health().Failing)
	require.True(t, p.Health().Since.IsZero())
	require.Equal(t, 1, strings.Count(logged.String(), "polling works again"))
	require.NoError(t, p.Poll(t.Context()))
	require.Empty(t, a.store.takeNames())
}

// People are notified of what came before the service broke off: at night an incident can't wait for page seven.
func TestServiceBreaksOff(t *testing.T) {
	t.Parallel()
	second := func(q request) bool { return q.Offset == 100 }
	a := newAccount(t)
	for i := range 150 {
		a.add(fmt.Sprintf("x:%03d", i), time.Duration(i)*time.Second, blocked)
	}
	a.fail(second)
	p := a.start()
	require.Error(t, p.Poll(t.Context()))
	require.Empty(t, a.store.takeNames(), "a first start is notified as a whole")
	a.fail(nil)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"first start "}, a.store.takeNames())
	lastGood := a.store.state["acme"].LastGood
	healthy := p.Health().LastGood

	a.fail(second)
	a.at(time.Minute)
	a.add("x:new", 0, incident)
	require.Error(t, p.Poll(t.Context()))
	require.Equal(t, healthy, p.Health().LastGood, "that was no good poll")
	require.Equal(t, []string{"new incident x:new"}, a.store.takeNames())
	require.Equal(t, lastGood, a.store.state["acme"].LastGood)
	a.fail(nil)
	a.add("x:deep", 4*time.Minute, incident)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"new incident x:deep"}, a.store.takeNames())
	require.Equal(t, noon.Add(time.Minute).Unix(), a.store.state["acme"].LastGood.Unix())
}

// Below the page where the service breaks off an attack may go on or not: that is unknown.
func TestServiceBreaksOffBeforeTheSilence(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:1"}, a.store.takeNames())
	a.at(20 * time.Minute)
	for i := range 100 {
		a.add(fmt.Sprintf("noise:%d", i), time.Minute, blocked)
	}
	a.change("x:1", func(r *attackRecord) { r.last = a.now().Add(-2 * time.Minute) })
	a.fail(func(q request) bool { return q.Offset == 100 })
	require.Error(t, p.Poll(t.Context()))
	require.Empty(t, a.store.takeNames())
	a.fail(nil)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"grew x:1"}, a.store.takeNames())
}

func TestStoreEmptied(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	for i := range 150 {
		a.add(fmt.Sprintf("x:%03d", i), time.Hour, blocked, incident)
	}
	require.NoError(t, p.Poll(t.Context()))
	require.Len(t, a.store.takeNames(), 150)
	a.store.breaks(func(bool) (before, after bool) { return true, false })
	a.add("x:new", 0)
	require.Error(t, p.Poll(t.Context()))
	fresh := newStore(t)
	a.store.state, a.store.ids, a.store.broken = fresh.state, fresh.ids, nil
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	require.Len(t, events, 2)
	require.Equal(t, record.FirstStartFacts{Ongoing: 1, Incidents: 150}, events[0].Detail, "everything was read again")
}

// A store that fails over can lose its last writes: events may have been lost with them, so they come again.
func TestStoreGoesBack(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	for i := range 150 {
		a.add(fmt.Sprintf("x:%03d", i), time.Hour, blocked)
	}
	require.NoError(t, p.Poll(t.Context()))
	before := copied(t, a.store.state)
	a.add("x:deep", 2*time.Hour)
	require.NoError(t, p.Poll(t.Context()))
	require.Empty(t, a.store.takeNames(), "too deep to be seen yet")
	require.NoError(t, a.start().Poll(t.Context()))
	p = a.start()
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:deep"}, a.store.takeNames())
	a.store.breaks(func(bool) (before, after bool) { return true, false })
	a.add("x:new", 0)
	require.Error(t, p.Poll(t.Context()))
	a.store.state, a.store.ids, a.store.broken = before, map[string]bool{}, nil
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:new", "new attack x:deep"}, a.store.takeNames())
}

func TestStoreUnreachable(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"nothing was kept": false, "all was kept, only the answer was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, p := watching(t)
			a.add("x:1", 0)
			a.store.breaks(func(write bool) (before, after bool) { return write && !kept, write && kept })
			require.ErrorIs(t, p.Poll(t.Context()), errAway)
			require.Empty(t, a.store.notified[1:], "no event is passed on that may be lost")
			require.Equal(t, "the bot's store can't be reached", p.Health().Failing)
			a.store.breaks(func(bool) (before, after bool) { return true, false })
			require.ErrorIs(t, p.Poll(t.Context()), errAway)
			a.store.breaks(nil)
			require.NoError(t, p.Poll(t.Context()))
			require.NoError(t, p.Poll(t.Context()))
			require.Equal(t, []string{"new attack x:1"}, a.store.takeNames(), "once")
			require.Empty(t, p.Health().Failing)
		})
	}
	t.Run("at the first start", func(t *testing.T) {
		t.Parallel()
		a := newAccount(t)
		a.add("x:1", 0)
		p := a.start()
		a.store.breaks(func(write bool) (before, after bool) { return !write, write })
		require.ErrorIs(t, p.Poll(t.Context()), errAway)
		a.store.breaks(func(write bool) (before, after bool) { return false, write })
		require.ErrorIs(t, p.Poll(t.Context()), errAway)
		a.store.breaks(nil)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"first start ", "new attack x:1"}, a.store.takeNames())
	})
}

func TestStoppedPollNotifiesOnce(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	for i := range 150 {
		a.add(fmt.Sprintf("x:%03d", i), 0)
	}
	ctx, stop := context.WithCancel(t.Context())
	a.served = func(q request) {
		if q.Offset == 100 {
			stop()
		}
	}
	require.ErrorIs(t, p.Poll(ctx), context.Canceled)
	require.Len(t, a.store.takeNames(), 100, "the first page is notified while the next is being read")
	require.Empty(t, p.Health().Failing, "being stopped is no failure")
	a.served = nil
	require.NoError(t, p.Poll(t.Context()))
	require.Len(t, a.store.takeNames(), 50)
}

func TestFirstPageIsNotNotifiedUnlessSaved(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	for i := range 150 {
		a.add(fmt.Sprintf("x:%03d", i), 0)
	}
	a.store.breaks(func(write bool) (before, after bool) { return write, false })
	require.ErrorIs(t, p.Poll(t.Context()), errAway)
	require.Empty(t, a.store.takeNames())
	a.store.breaks(nil)
	require.NoError(t, p.Poll(t.Context()))
	require.Len(t, a.store.takeNames(), 150)
}

func TestUnchangedPollsSaveNothing(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	_, before := a.store.counts()
	for s := 1; s <= 90; s++ {
		a.at(time.Duration(s) * time.Second)
		require.NoError(t, p.Poll(t.Context()))
	}
	loads, writes := a.store.counts()
	require.Equal(t, []int{1, 3}, []int{loads, writes - before}, "every 30 s only that all is well")
	require.WithinDuration(t, noon.Add(90*time.Second), a.store.state["acme"].LastGood, 0)
}

func TestHealthBeforeAnything(t *testing.T) {
	t.Parallel()
	require.Zero(t, poller.New(poller.Config{Account: accountOf("acme", "")}).Health())
}
