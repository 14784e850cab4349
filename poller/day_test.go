package poller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

// shift is an account that is watched by one process after another, in a bubble.
type shift struct {
	*account
	t    *testing.T
	stop func()
}

// begin starts a process that knows what the store holds.
func (s *shift) begin() {
	p := s.start()
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	s.stop = func() {
		cancel()
		require.NoError(s.t, <-done)
	}
}

func (s *shift) hit(id string, hits int) {
	s.change(id, func(r *attackRecord) { r.last, r.hits = s.now(), hits })
}

// TestADay is a day of polls every 15 seconds. The events of each part are complete and in order; the fakes see to it
// that none comes twice, and none before it was saved.
func TestADay(t *testing.T) {
	full.Only(t)
	t.Parallel()
	at := func(hour, minute int) time.Duration {
		return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
	}
	parts := []struct {
		from     time.Duration
		happens  func(s *shift)
		notified []string
	}{
		{at(0, 0), func(s *shift) { s.begin() }, nil},
		{at(1, 0), func(s *shift) { s.add("shop", 0) }, []string{"new attack shop", "grew shop"}},
		{at(1, 5), func(s *shift) { s.hit("shop", 150) }, []string{"grew shop", "grew shop"}},
		{at(1, 10), func(s *shift) { s.hit("shop", 5000) }, []string{"worsened shop", "grew shop"}},
		{at(1, 12), func(s *shift) { s.change("shop", incident) }, []string{"became incident shop", "grew shop", "quiet shop"}},
		{at(3, 0), func(s *shift) { s.hit("shop", 5001) }, []string{"resumed shop", "grew shop", "quiet shop"}},
		// One that is blocked has no card until something gets through.
		{at(4, 0), func(s *shift) { s.add("blog", 0, blocked) }, nil},
		{at(4, 5), func(s *shift) { s.hit("blog", 3000) }, nil},
		{at(4, 10), func(s *shift) { s.change("blog", func(r *attackRecord) { r.status = "monitored" }) }, []string{"new attack blog", "quiet blog"}},
		// The service is away for an hour, in which one attack goes on and another comes.
		{at(5, 55), func(s *shift) { s.add("mail", 0) }, []string{"new attack mail", "grew mail"}},
		{at(6, 0), func(s *shift) { s.fail(func(request) bool { return true }) }, nil},
		{at(6, 40), func(s *shift) { s.add("pay", 0, incident) }, nil},
		{at(6, 56), func(s *shift) { s.hit("mail", 120) }, nil},
		{at(6, 58), func(s *shift) { s.hit("pay", 200) }, nil},
		{at(7, 0), func(s *shift) { s.fail(nil) }, []string{"new incident pay", "grew mail", "grew pay", "quiet mail", "quiet pay"}},
		// One process ends in the middle of an attack, another goes on.
		{at(11, 50), func(s *shift) { s.add("login", 0) }, []string{"new attack login", "grew login", "grew login"}},
		{at(12, 0), func(s *shift) { s.stop() }, nil},
		{at(12, 1), func(s *shift) { s.hit("login", 101); s.add("search", 0) }, nil},
		{at(12, 2), func(s *shift) { s.begin() }, []string{"resumed login", "new attack search", "grew search", "quiet login", "quiet search"}},
		// Both at once: a process begins while the service is away.
		{at(15, 0), func(s *shift) { s.fail(func(request) bool { return true }); s.stop() }, nil},
		{at(15, 1), func(s *shift) { s.begin(); s.add("cart", 0) }, nil},
		{at(15, 3), func(s *shift) { s.fail(nil) }, []string{"new attack cart", "grew cart", "quiet cart"}},
		// Its source is denied, and keeps trying for a while: its card shows what is stopped, and that is no end.
		{at(18, 0), func(s *shift) { s.add("home", 0) }, []string{"new attack home", "grew home", "grew home"}},
		{at(18, 10), func(s *shift) { s.add("denied", 0, func(r *attackRecord) { r.typ = "blocked_source" }) }, []string{"grew home"}},
		{at(18, 20), func(s *shift) { s.hit("denied", 50) }, []string{"grew home"}},
		{at(18, 34), nil, []string{"quiet home"}},
		// A person marks it as no attack: its card says so, and it is never called quiet.
		{at(20, 0), func(s *shift) { s.add("probe", 0) }, []string{"new attack probe", "grew probe"}},
		{at(20, 5), func(s *shift) { s.change("probe", func(r *attackRecord) { r.state = "falsepositive" }) }, []string{"grew probe"}},
		{at(24, 0), func(s *shift) { s.stop() }, nil},
	}
	synctest.Test(t, func(t *testing.T) {
		s := &shift{account: inProcess(t, func() time.Time { return time.Now().Add(5 * time.Minute) }), t: t}
		midnight := time.Now()
		for i, part := range parts {
			time.Sleep(time.Until(midnight.Add(part.from)))
			if part.happens != nil {
				part.happens(s)
			}
			if i+1 < len(parts) {
				time.Sleep(time.Until(midnight.Add(parts[i+1].from)))
			}
			synctest.Wait()
			require.Equal(t, part.notified, s.takeAttacks(), "from %v", part.from)
		}

		polls, incidents, sweeps, ends := 0, 0, 0, 0
		for _, q := range s.asked(attacks) {
			switch {
			case q.Incidents && q.Offset > 0:
				ends++
			case q.Incidents:
				incidents++
			case q.Offset > 0:
				sweeps++ // the second page of some 20 records is empty, and the end
			default:
				polls++
			}
		}
		watched := (24*time.Hour - time.Hour - 4*time.Minute).Seconds() // without the outages and what lies between two processes
		require.InDelta(t, watched/15+60, polls, 60, "one request each; during the outage they are rarer")
		require.InDelta(t, watched/67, incidents+sweeps, 40, "incidents with the first poll a minute after they were last read")
		require.InDelta(t, watched/600+35, sweeps, 15, "every ten minutes, and with what changed, for which more than the first page is read")
		require.LessOrEqual(t, ends, incidents)
	})
}

// takeAttacks are the events of attacks since the last time, without the account's own.
func (s *shift) takeAttacks() (notified []string) {
	for _, n := range s.store.takeEvents() {
		if n.Subject != "" {
			notified = append(notified, string(n.Kind)+" "+n.Subject)
		}
	}
	return notified
}
