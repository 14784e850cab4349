package poller_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// outages returns the events of outages saved since the last time; events about attacks are dropped.
func (m *fakeStore) outages() (outages []record.UnreachableFacts, gaps []record.GapFacts) {
	for _, n := range m.takeEvents() {
		switch n.Kind {
		case record.APIUnreachable:
			require.Equal(m.t, "C0", n.Channel)
			outages = append(outages, n.Detail.(record.UnreachableFacts))
		case record.MonitoringGap:
			require.Equal(m.t, "C0", n.Channel)
			gaps = append(gaps, n.Detail.(record.GapFacts))
		}
	}
	return outages, gaps
}

func allFails(request) bool { return true }

// refuse has the service refuse the poller's token, accept no longer.
func (a *account) refuse() { a.service.mu.Lock(); a.token = "another"; a.service.mu.Unlock() }
func (a *account) accept() { a.service.mu.Lock(); a.token = "s3cret"; a.service.mu.Unlock() }

// pollsFail polls every 6 s of the bubble's time.
func pollsFail(t *testing.T, p *poller.Poller, polls int) {
	for range polls {
		require.Error(t, p.Poll(t.Context()))
		time.Sleep(6 * time.Second)
	}
}

func TestEachOutageNotifiesOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin, end func(a *account)
		early      time.Duration // it is no event yet
		late       time.Duration // it is
		why        string
	}{
		"errors":  {func(a *account) { a.fail(allFails) }, func(a *account) { a.fail(nil) }, 60 * time.Second, 95 * time.Second, "the service answers with errors"},
		"a token": {(*account).refuse, (*account).accept, 26 * time.Second, 51 * time.Second, "the service refuses the token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, p := running(t, func(*account) {})
				after(10 * time.Minute)
				require.Equal(t, []string{"first start "}, a.store.takeNames())
				good := p.Health().LastGood
				c.begin(a)
				after(c.early)
				outages, _ := a.store.outages()
				require.Empty(t, outages, "too early")
				after(c.late - c.early)
				since := p.Health().Since
				outages, gaps := a.store.outages()
				require.Len(t, outages, 1)
				require.Empty(t, gaps)
				require.Equal(t, c.why, outages[0].Why)
				require.True(t, since.Equal(outages[0].From))
				require.WithinDuration(t, good, outages[0].LastGood, time.Second, "on the service's clock")
				require.Equal(t, name == "a token", outages[0].Fix != "")
				after(3 * time.Hour)
				outages, gaps = a.store.outages()
				require.Empty(t, outages, "not once a poll")
				require.Empty(t, gaps)

				from := a.store.state["acme"].LastGood
				c.end(a)
				after(2 * time.Minute)
				outages, gaps = a.store.outages()
				require.Empty(t, outages)
				require.Len(t, gaps, 1)
				require.Equal(t, c.why, gaps[0].Why)
				require.WithinDuration(t, from, gaps[0].From, 31*time.Second)
				require.InDelta(t, 3*time.Hour.Minutes(), gaps[0].To.Sub(gaps[0].From).Minutes(), 5)
				require.Zero(t, a.store.state["acme"].Outage)

				c.begin(a)
				after(3 * time.Minute)
				outages, gaps = a.store.outages()
				require.Len(t, outages, 1, "another outage")
				require.Empty(t, gaps)
			})
		})
	}
}

// What a poll read before it broke off is judged again by the one that ends a gap, though it stays the same: that one lists what is over.
func TestAGapWhosePollBreaksOff(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.at(time.Hour)
	a.addMany("over", 150, func(r *attackRecord) { r.last = noon.Add(20 * time.Minute) })
	a.fail(func(q request) bool { return q.Offset == 100 })
	require.Error(t, p.Poll(t.Context()))
	a.fail(nil)
	require.NoError(t, p.Poll(t.Context()))
	_, gaps := a.store.outages()
	require.Len(t, gaps, 1)
	require.Equal(t, 150, gaps[0].OverCount)
	a.at(time.Hour + time.Minute)
	a.change("over:07", func(r *attackRecord) { r.last, r.hits = a.now(), 101 })
	require.NoError(t, p.Poll(t.Context()))
	require.Len(t, a.store.takeNames(), 1, "it came back")
}

// Where polls are frequent, three failures are over in no time.
func TestAFewFailuresWithinSecondsAreNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(a *account) { a.interval = 250 * time.Millisecond })
		a.refuse()
		after(9500 * time.Millisecond)
		outages, _ := a.store.outages()
		require.Empty(t, outages)
		after(2 * time.Second)
		outages, _ = a.store.outages()
		require.Len(t, outages, 1)
	})
}

func TestOneFailedPollIsNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(*account) {})
		for range 20 {
			a.fail(allFails)
			after(35 * time.Second)
			a.fail(nil)
			after(35 * time.Second)
		}
		outages, gaps := a.store.outages()
		require.Empty(t, outages)
		require.Empty(t, gaps)
	})
}

// A replica that takes over in an outage knows that people were notified of it.
func TestOutageOverRestarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testOutageOverRestarts)
}

func testOutageOverRestarts(t *testing.T) {
	a := inProcess(t, func() time.Time { return noon })
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	a.refuse()
	for range 3 {
		pollsFail(t, p, 3)
		p = a.start()
	}
	outages, _ := a.store.outages()
	require.Len(t, outages, 1)
	a.accept()
	a.at(time.Minute)
	require.NoError(t, p.Poll(t.Context()))
	require.NoError(t, a.start().Poll(t.Context()))
	_, gaps := a.store.outages()
	require.Len(t, gaps, 1, "however short it was: people were notified that it began")
	require.Equal(t, "the service refuses the token", gaps[0].Why)
	require.True(t, noon.Equal(gaps[0].From))
}

func TestOutageFromTheFirstStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testOutageFromTheFirstStart)
}

func testOutageFromTheFirstStart(t *testing.T) {
	a := inProcess(t, func() time.Time { return noon })
	a.refuse()
	p := a.start()
	pollsFail(t, p, 3)
	outages, _ := a.store.outages()
	require.Len(t, outages, 1)
	require.Zero(t, outages[0].LastGood)
	a.accept()
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"first start "}, a.store.takeNames())
	_, gaps := a.store.outages()
	require.Empty(t, gaps)
	require.Zero(t, a.store.state["acme"].Outage)
}

func TestOutageWhenTheStoreFails(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"nothing was kept": false, "all was kept, only the answer was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := inProcess(t, func() time.Time { return noon })
				p := a.start()
				require.NoError(t, p.Poll(t.Context()))
				a.refuse()
				a.store.breaks(func(write bool) (before, after bool) { return write && !kept, write && kept })
				pollsFail(t, p, 4)
				a.store.breaks(nil)
				pollsFail(t, p, 3)
				outages, _ := a.store.outages()
				require.Len(t, outages, 1)
			})
		})
	}
}

// began is an attack that began that long ago and was last hit at last.
func began(a *account, id string, ago, last time.Duration, change ...func(*attackRecord)) {
	a.add(id, last, append(change, func(r *attackRecord) { r.begun = ago })...)
}

func TestGapAfterAnAbsence(t *testing.T) {
	t.Parallel()
	a, _ := watching(t)
	began(a, "x:before", time.Minute, 0)
	require.NoError(t, a.start().Poll(t.Context()))
	require.Equal(t, []string{"new attack x:before"}, a.store.takeNames())
	a.at(2 * time.Minute)
	require.NoError(t, a.start().Poll(t.Context()))
	outages, gaps := a.store.outages()
	require.Empty(t, append(gaps, make([]record.GapFacts, len(outages))...), "that can be a takeover")

	a.at(2 * time.Hour)
	began(a, "x:on", 20*time.Minute, time.Minute)
	began(a, "x:earlier", 125*time.Minute, time.Minute) // before the gap, but unknown then
	began(a, "x:over2", 60*time.Minute, 40*time.Minute)
	began(a, "x:over1", 70*time.Minute, 50*time.Minute)
	began(a, "x:incident", 80*time.Minute, 55*time.Minute, incident)
	began(a, "x:blocked", 80*time.Minute, 55*time.Minute, blocked)
	a.store.breaks(func(write bool) (before, after bool) { return write, false })
	p := a.start()
	require.Error(t, p.Poll(t.Context()))
	a.store.breaks(nil)
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	notified := []string{}
	for _, n := range events {
		notified = append(notified, string(n.Kind)+" "+n.Subject)
	}
	require.Equal(t, []string{"new incident x:incident", "new attack x:earlier", "new attack x:on", "monitoring gap ", "quiet x:before"}, notified)
	facts := events[3].Detail.(record.GapFacts)
	require.Equal(t, []string{"x:earlier", "x:incident", "x:on"}, facts.Began, "the oldest first")
	require.Equal(t, []string{"x:over1", "x:over2"}, facts.Over)
	require.Equal(t, [2]int{3, 2}, [2]int{facts.BeganCount, facts.OverCount})
	require.True(t, noon.Add(2*time.Minute).Equal(facts.From))
	require.True(t, noon.Add(2*time.Hour).Equal(facts.To))
	require.Equal(t, "the bot's store can't be reached", facts.Why)

	require.NoError(t, p.Poll(t.Context()))
	require.NoError(t, a.start().Poll(t.Context()))
	require.Empty(t, a.store.takeEvents(), "being listed is their notification")
	a.at(2*time.Hour + time.Minute)
	a.change("x:over1", func(r *attackRecord) { r.last, r.hits = a.now(), 120 })
	require.NoError(t, a.start().Poll(t.Context()))
	require.Equal(t, []string{"new attack x:over1"}, a.store.takeNames(), "it goes on after all")
}

// The first page of such a poll, or what a poll read before it broke off, makes no cards of attacks that are over.
func TestGapOfSeveralPages(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.at(3 * time.Hour)
	for i := range 150 {
		began(a, fmt.Sprintf("x:%03d", i), 2*time.Hour, time.Hour+time.Duration(i)*time.Second)
	}
	began(a, "x:on", 10*time.Minute, 0)
	a.fail(func(q request) bool { return q.Offset == 100 })
	require.Error(t, p.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:on"}, a.store.takeNames(), "what goes on can't wait")
	a.fail(nil)
	require.NoError(t, p.Poll(t.Context()))
	_, gaps := a.store.outages()
	require.Len(t, gaps, 1)
	require.Equal(t, 150, gaps[0].OverCount)
	require.Len(t, gaps[0].Over, 20)
	require.Equal(t, []string{"x:on"}, gaps[0].Began)
	require.NoError(t, p.Poll(t.Context()))
	require.NoError(t, a.start().Poll(t.Context()))
	require.Empty(t, a.store.takeEvents())
}

// Another replica has watched since: what it knew an hour ago is no gap.
func TestRunKnowsThatOthersWatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := inProcess(t, time.Now)
		one, other := a.start(), a.start()
		for range 3 {
			require.NoError(t, runFor(t, one, 5*time.Minute))
			require.NoError(t, runFor(t, other, 5*time.Minute))
		}
		events := a.store.takeEvents()
		require.Len(t, events, 1)
		require.Equal(t, record.FirstStart, events[0].Kind)
	})
}

// What goes on says on its card whether it can be watched: when that changes, its card is redrawn. Nothing else is.
func TestOutageIsShownOnCards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(a *account) {
			a.add("endless", 0, func(r *attackRecord) { r.undated = true })
			a.add("few", 0, func(r *attackRecord) { r.hits = 1 })
			a.add("over", 14*time.Minute)
		})
		after(10 * time.Minute)
		require.Empty(t, a.store.takeStale())
		a.fail(allFails)
		after(2 * time.Minute)
		require.Equal(t, []string{"endless"}, a.store.takeStale())
		after(time.Hour)
		require.Empty(t, a.store.takeStale(), "once")
		a.fail(nil)
		after(time.Minute + time.Minute/10) // while it fails it is asked once a minute, give or take a tenth
		require.Equal(t, []string{"endless"}, a.store.takeStale())
	})
}
