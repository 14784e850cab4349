package notify

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

// rough is a Slack that answers every 7th post with a fault, and every 11th, which it takes, not at all; it begins to count at a number.
func rough(begin int, fault string) func(channel, text string) string {
	n := begin
	return func(string, string) string {
		n++
		switch {
		case n%7 == 0:
			return fault
		case n%11 == 0:
			return hangs
		}
		return ""
	}
}

// sixty has sixty messages posted, of which none is lost and none comes twice, and returns how long that took.
func sixty(t *testing.T, lags time.Duration, refuses func(channel, text string) string) (took time.Duration) {
	t.Helper()
	owning(t, refuses, func(n *Notifier, s *choosy) {
		s.mu.Lock()
		s.lasts, s.lags = 80*time.Millisecond, lags
		s.mu.Unlock()
		for i := range 60 {
			emits(n, "C1", fmt.Sprint(i))
		}
		time.Sleep(time.Minute)
		require.Zero(t, waiting(n))
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Len(t, s.took, 60)
		took = s.last
	})
	return took
}

// A message can meet the faults four times in a row, whatever else is posted. Where an answer came and later messages are in the history, its verification is
// short.
func TestARoughSlackGetsAllSoon(t *testing.T) {
	t.Parallel()
	var begins [7 * 11]int
	for begin := range begins {
		begins[begin] = begin
	}
	var took []time.Duration
	for _, begin := range full.Some(10, begins[:]) {
		took = append(took, sixty(t, 0, rough(begin, fails)))
	}
	slices.Sort(took)
	require.Less(t, took[len(took)-1], 13*time.Second)
	require.Less(t, took[len(took)/2], 8*time.Second)
}

// What was posted in spite of a 500 is found, though the history lags: it isn't taken to be current before it shows a later message.
func TestARoughSlackWhoseHistoryLags(t *testing.T) {
	t.Parallel()
	for begin := range 7 {
		sixty(t, 4900*time.Millisecond, rough(begin, posts))
	}
}

// A history that shows no later message counts after five seconds.
func TestAHistoryThatShowsNothingLaterCountsLast(t *testing.T) {
	t.Parallel()
	owning(t, once(fails, "odd"), func(n *Notifier, s *choosy) {
		emits(n, "C1", "even before")
		time.Sleep(time.Second)
		emits(n, "C1", "odd")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"C1 even before 0s", "C1 odd 6s"}, s.all())
		emits(n, "C1", "odd again")
		time.Sleep(time.Second)
		emits(n, "C1", "even after")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"C1 even after 1m2s", "C1 odd again 1m4s"}, s.all()[2:])
	})
}
