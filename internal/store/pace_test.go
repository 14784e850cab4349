package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func TestSlotsByRedisClock(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	w.mini.SetTime(noon)
	one, two, ctx := w.open(t), w.open(t), t.Context()
	after := func(d time.Duration) time.Duration { // since noon
		w.mini.SetTime(noon.Add(d))
		wait, err := two.Slack.PostSlot(ctx, "C1", 0.5, 3, 0)
		require.NoError(t, err)
		return wait
	}
	for range 3 {
		require.Zero(t, must(one.Slack.PostSlot(ctx, "C1", 0.5, 3, 0))(t), "the burst")
	}
	require.Equal(t, 2*time.Second, after(0))
	require.Equal(t, 500*time.Millisecond, after(1500*time.Millisecond), "asking costs nothing")
	require.Zero(t, after(2*time.Second))
	require.Equal(t, 2*time.Second, after(2*time.Second))
	require.Equal(t, 2*time.Second, after(-time.Hour), "a clock that is set back gives nothing")
	require.Zero(t, after(2*time.Second))
	wait, err := one.Slack.PostSlot(ctx, "C2", 0.5, 0, 0)
	require.NoError(t, err)
	require.Zero(t, wait, "each channel has its own, and one at least")
	given := 0
	for _, d := range []time.Duration{0, 1500 * time.Millisecond} { // time for seven more
		w.mini.SetTime(noon.Add(time.Hour + d))
		for wait = 0; wait == 0; given++ {
			wait, err = one.Slack.PostSlot(ctx, "C3", 5, 3, 0)
			require.NoError(t, err)
		}
		given--
	}
	require.Equal(t, 6, given, "what is not taken while the bucket is full is lost")
	w.mini.SetTime(noon.Add(2 * time.Hour))
	require.Empty(t, w.keys(t), "a full bucket takes no room")
}

func TestEditSlots(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	w.mini.SetTime(noon)
	s := w.open(t)
	given := 0
	for second := range 60 {
		w.mini.SetTime(noon.Add(time.Duration(second) * time.Second))
		for {
			wait, err := s.Slack.EditSlot(t.Context(), 40, record.EditTurn{Of: "acme"})
			require.NoError(t, err)
			if wait > 0 {
				break
			}
			given++
		}
		if second == 0 {
			require.Equal(t, 8, given, "a fifth at once")
		}
	}
	require.InDelta(t, 40, given, 1)
	require.LessOrEqual(t, given, 40, "in the first minute as in any other")
	w.mini.SetTime(noon.Add(time.Hour))
	wait, err := s.Slack.EditSlot(t.Context(), 1, record.EditTurn{Of: "acme"})
	require.NoError(t, err)
	require.Zero(t, wait, "the least pace gives one")
}

// What is less urgent leaves some for what is more.
func TestSlotsAreKeptForTheUrgent(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	w.mini.SetTime(noon)
	s, ctx := w.open(t), t.Context()
	post := func(keep int, want time.Duration) {
		t.Helper()
		require.Equal(t, want, must(s.Slack.PostSlot(ctx, "C1", 1, 4, keep))(t))
	}
	post(2, 0)
	post(2, 0)
	post(2, time.Second)
	post(1, 0)
	post(1, time.Second)
	post(0, 0)
	post(0, time.Second)
	post(2, 3*time.Second)
	w.mini.SetTime(noon.Add(time.Hour))
	post(100, 0) // never all of them
	post(100, time.Second)
	edits := func(keep int) (given int) {
		for {
			wait, err := s.Slack.EditSlot(ctx, 40, record.EditTurn{Of: "acme", Keep: keep})
			require.NoError(t, err)
			if wait > 0 {
				return given
			}
			given++
		}
	}
	require.Equal(t, 5, edits(3))
	require.Equal(t, 3, edits(0))
}

// What is due first is edited first, whichever account and replica asks first.
func TestEditsHaveTheirTurn(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	w.mini.SetTime(noon)
	stores := []*store.Store{w.open(t), w.open(t)}
	ask := func(of string, due time.Duration, keep int) time.Duration {
		wait, err := stores[len(of)%2].Slack.EditSlot(t.Context(), 40, record.EditTurn{Of: of, Due: noon.Add(due), Keep: keep})
		require.NoError(t, err)
		return wait
	}
	for range 7 {
		require.Zero(t, ask("busy", 0, 0))
	}
	require.Equal(t, 5*time.Second, ask("one", time.Minute, 4), "the last edit is kept for clicks")
	require.Positive(t, ask("three", time.Second, 4))
	require.Equal(t, 1875*time.Millisecond, ask("one", time.Minute, 0), "another is due before it")
	require.Zero(t, ask("three", time.Second, 0))
	w.mini.SetTime(noon.Add(4 * time.Second)) // time for two
	require.Positive(t, ask("three", time.Hour, 4), "it waits again, with another card")
	require.Zero(t, ask("three", time.Hour, 0), "one is left for who is before it")
	require.Zero(t, ask("one", time.Minute, 0))
	require.Positive(t, ask("one", time.Minute, 0))
	w.mini.SetTime(noon.Add(7 * time.Second)) // time for one
	require.Zero(t, ask("three", time.Hour, 0), "who doesn't ask again waits no longer")
}

// Many replicas ask as fast as they can.
func TestSlotsAreSharedByReplicas(t *testing.T) {
	onEachWaiting(t, func(t *testing.T, w *world) {
		const rate, burst = 50, 10
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var given atomic.Int64
		var g errgroup.Group
		begun := time.Now()
		for range 4 {
			s := w.open(t)
			g.Go(func() error {
				for ctx.Err() == nil {
					wait, err := s.Slack.PostSlot(t.Context(), "C1", rate, burst, 0)
					if err != nil {
						return err
					}
					if wait == 0 && given.Add(1) == 4*burst {
						cancel()
					}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		most := burst + rate*time.Since(begun).Seconds()
		require.LessOrEqual(t, float64(given.Load()), most+1)
	})
}
