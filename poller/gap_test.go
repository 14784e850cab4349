package poller_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// outages returns the news of outages remembered since the last time; news about attacks is dropped.
func (m *memoryStore) outages() (blind []record.UnreachableFacts, gaps []record.GapFacts) {
	for _, n := range m.tookNews() {
		switch n.Kind {
		case record.APIUnreachable:
			require.Equal(m.t, "C0", n.Channel)
			blind = append(blind, n.Payload.(record.UnreachableFacts))
		case record.MonitoringGap:
			require.Equal(m.t, "C0", n.Channel)
			gaps = append(gaps, n.Payload.(record.GapFacts))
		}
	}
	return blind, gaps
}

// in are the attacks of a list, by id.
func in(all []apiclient.Attack) []string {
	ids := []string{}
	for _, a := range all {
		ids = append(ids, a.ID)
	}
	return ids
}

func allFails(request) bool { return true }

func TestBlindIsToldOnceASpell(t *testing.T) {
	t.Parallel()
	refuse := func(a *account) { a.service.mu.Lock(); a.token = "another"; a.service.mu.Unlock() }
	accept := func(a *account) { a.service.mu.Lock(); a.token = "s3cret"; a.service.mu.Unlock() }
	for name, c := range map[string]struct {
		begin, end func(a *account)
		early      time.Duration // it is not told yet
		late       time.Duration // it is
		why        string
	}{
		"errors":  {func(a *account) { a.fail(allFails) }, func(a *account) { a.fail(nil) }, 60 * time.Second, 95 * time.Second, "the service answers with errors"},
		"a token": {refuse, accept, 13 * time.Second, 34 * time.Second, "the service refuses the token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, p := running(t, func(*account) {})
				after(10 * time.Minute)
				require.Equal(t, []string{"first start "}, a.memory.took())
				good := p.Health().LastGood
				c.begin(a)
				after(c.early)
				blind, _ := a.memory.outages()
				require.Empty(t, blind, "too early")
				after(c.late - c.early)
				since := p.Health().Since
				blind, gaps := a.memory.outages()
				require.Len(t, blind, 1)
				require.Empty(t, gaps)
				require.Equal(t, c.why, blind[0].Why)
				require.True(t, since.Equal(blind[0].From))
				require.WithinDuration(t, good, blind[0].LastGood, time.Second, "by the clock of whoever watches")
				require.Equal(t, name == "a token", blind[0].Mend != "")
				after(3 * time.Hour)
				blind, gaps = a.memory.outages()
				require.Empty(t, blind, "not once a poll")
				require.Empty(t, gaps)

				from := a.memory.state["acme"].LastGood
				c.end(a)
				after(2 * time.Minute)
				blind, gaps = a.memory.outages()
				require.Empty(t, blind)
				require.Len(t, gaps, 1)
				require.Equal(t, c.why, gaps[0].Why)
				require.WithinDuration(t, from, gaps[0].From, 31*time.Second)
				require.InDelta(t, 3*time.Hour.Minutes(), gaps[0].To.Sub(gaps[0].From).Minutes(), 5)
				require.Zero(t, a.memory.state["acme"].Outage)

				c.begin(a)
				after(3 * time.Minute)
				blind, gaps = a.memory.outages()
				require.Len(t, blind, 1, "another spell")
				require.Empty(t, gaps)
			})
		})
	}
}

func TestAStumbleIsNoNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(*account) {})
		for range 20 {
			a.fail(allFails)
			after(35 * time.Second)
			a.fail(nil)
			after(35 * time.Second)
		}
		blind, gaps := a.memory.outages()
		require.Empty(t, blind)
		require.Empty(t, gaps)
	})
}

// Whoever takes over in a spell knows that it was told.
func TestBlindOverRestarts(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.service.mu.Lock()
	a.token = "another"
	a.service.mu.Unlock()
	for range 3 {
		for range 3 {
			require.Error(t, p.Poll(t.Context()))
		}
		p = a.start()
	}
	blind, _ := a.memory.outages()
	require.Len(t, blind, 1)
	a.service.mu.Lock()
	a.token = "s3cret"
	a.service.mu.Unlock()
	a.at(time.Minute)
	require.NoError(t, p.Poll(t.Context()))
	require.NoError(t, a.start().Poll(t.Context()))
	_, gaps := a.memory.outages()
	require.Len(t, gaps, 1, "however short it was: it was told that it began")
	require.Equal(t, "the service refuses the token", gaps[0].Why)
	require.True(t, noon.Equal(gaps[0].From))
}

func TestBlindFromTheFirstStart(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.service.mu.Lock()
	a.token = "another"
	a.service.mu.Unlock()
	p := a.start()
	for range 3 {
		require.Error(t, p.Poll(t.Context()))
	}
	blind, _ := a.memory.outages()
	require.Len(t, blind, 1)
	require.Zero(t, blind[0].LastGood)
	a.service.mu.Lock()
	a.token = "s3cret"
	a.service.mu.Unlock()
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"first start "}, a.memory.took())
	_, gaps := a.memory.outages()
	require.Empty(t, gaps)
	require.Zero(t, a.memory.state["acme"].Outage)
}

func TestBlindWhenMemoryFails(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"nothing was kept": false, "all was kept, only the answer was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, p := watching(t)
			a.service.mu.Lock()
			a.token = "another"
			a.service.mu.Unlock()
			a.memory.breaks(func(write bool) (before, after bool) { return write && !kept, write && kept })
			for range 4 {
				require.Error(t, p.Poll(t.Context()))
			}
			a.memory.breaks(nil)
			for range 3 {
				require.Error(t, p.Poll(t.Context()))
			}
			blind, _ := a.memory.outages()
			require.Len(t, blind, 1)
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
	require.Equal(t, []string{"new attack x:before"}, a.memory.took())
	a.at(2 * time.Minute)
	require.NoError(t, a.start().Poll(t.Context()))
	blind, gaps := a.memory.outages()
	require.Empty(t, append(gaps, make([]record.GapFacts, len(blind))...), "that can be a takeover")

	a.at(2 * time.Hour)
	began(a, "x:on", 20*time.Minute, time.Minute)
	began(a, "x:earlier", 125*time.Minute, time.Minute) // before the gap, but nobody knew
	began(a, "x:over2", 60*time.Minute, 40*time.Minute)
	began(a, "x:over1", 70*time.Minute, 50*time.Minute)
	began(a, "x:incident", 80*time.Minute, 55*time.Minute, incident)
	began(a, "x:blocked", 80*time.Minute, 55*time.Minute, blocked)
	a.memory.breaks(func(write bool) (before, after bool) { return write, false })
	p := a.start()
	require.Error(t, p.Poll(t.Context()))
	a.memory.breaks(nil)
	require.NoError(t, p.Poll(t.Context()))
	news := a.memory.tookNews()
	told := []string{}
	for _, n := range news {
		told = append(told, string(n.Kind)+" "+n.Attack().ID)
	}
	require.Equal(t, []string{"new incident x:incident", "new attack x:earlier", "new attack x:on", "monitoring gap ", "quiet x:before"}, told)
	facts := news[3].Payload.(record.GapFacts)
	require.Equal(t, []string{"x:earlier", "x:incident", "x:on"}, in(facts.Began), "the oldest first")
	require.Equal(t, []string{"x:over1", "x:over2"}, in(facts.Over))
	require.Equal(t, [2]int{3, 2}, [2]int{facts.BeganCount, facts.OverCount})
	require.Empty(t, facts.Over[0].Sources)
	require.True(t, noon.Add(2*time.Minute).Equal(facts.From))
	require.True(t, noon.Add(2*time.Hour).Equal(facts.To))
	require.Equal(t, "the bot's store can't be reached", facts.Why)

	require.NoError(t, p.Poll(t.Context()))
	require.NoError(t, a.start().Poll(t.Context()))
	require.Empty(t, a.memory.tookNews(), "being listed is their telling")
	a.at(2*time.Hour + time.Minute)
	a.change("x:over1", func(r *attackRecord) { r.last, r.hits = a.now(), 120 })
	require.NoError(t, a.start().Poll(t.Context()))
	require.Equal(t, []string{"new attack x:over1"}, a.memory.took(), "it goes on after all")
}

// Nobody tells the first page of such a poll, or what a poll read before it broke off, in cards of attacks that are over.
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
	require.Equal(t, []string{"new attack x:on"}, a.memory.took(), "what goes on can't wait")
	a.fail(nil)
	require.NoError(t, p.Poll(t.Context()))
	_, gaps := a.memory.outages()
	require.Len(t, gaps, 1)
	require.Equal(t, 150, gaps[0].OverCount)
	require.Len(t, gaps[0].Over, 20)
	require.Equal(t, []string{"x:on"}, in(gaps[0].Began))
	require.NoError(t, p.Poll(t.Context()))
	require.NoError(t, a.start().Poll(t.Context()))
	require.Empty(t, a.memory.tookNews())
}

// Another replica has watched since: its own memory of an hour ago is no gap.
func TestRunKnowsThatOthersWatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(time.Now)
		a := &account{service: s, name: "acme", memory: newMemory(t), api: s.inProcess(t), log: slog.New(slog.DiscardHandler)}
		one, other := a.start(), a.start()
		for range 3 {
			require.NoError(t, runFor(t, one, 5*time.Minute))
			require.NoError(t, runFor(t, other, 5*time.Minute))
		}
		news := a.memory.tookNews()
		require.Len(t, news, 1)
		require.Equal(t, record.FirstStart, news[0].Kind)
	})
}

// What goes on says on its card whether it can be watched: when that changes, its card is redrawn. Nothing else is.
func TestBlindIsShownOnCards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(a *account) {
			a.add("endless", 0, func(r *attackRecord) { r.undated = true })
			a.add("few", 0, func(r *attackRecord) { r.hits = 1 })
			a.add("over", 14*time.Minute)
		})
		after(10 * time.Minute)
		require.Empty(t, a.memory.redrawn())
		a.fail(allFails)
		after(2 * time.Minute)
		require.Equal(t, []string{"endless"}, a.memory.redrawn())
		after(time.Hour)
		require.Empty(t, a.memory.redrawn(), "once")
		a.fail(nil)
		after(time.Minute + time.Minute/10) // while it fails it is asked once a minute, give or take a tenth
		require.Equal(t, []string{"endless"}, a.memory.redrawn())
	})
}
