package delay_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/delay"
)

func TestSleepEndsWithItsTimeOrTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		require.NoError(t, delay.Sleep(t.Context(), time.Hour))
		require.Equal(t, time.Hour, time.Since(begin))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, delay.Sleep(ctx, time.Hour), context.DeadlineExceeded)
		require.Equal(t, time.Hour+time.Minute, time.Since(begin))
	})
}

func TestBackoffDoublesUpToTheLongest(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	for try := range 7 {
		waits = append(waits, delay.Backoff(try, time.Second, 30*time.Second)/time.Second)
	}
	require.Equal(t, []time.Duration{1, 2, 4, 8, 16, 30, 30}, waits)
	require.Equal(t, time.Minute, delay.Backoff(math.MaxInt, time.Second, time.Minute), "it never overflows")
	require.Equal(t, time.Duration(math.MaxInt64), delay.Backoff(100, time.Second, math.MaxInt64))
	require.Equal(t, time.Second, delay.Backoff(0, time.Minute, time.Second))
}

func TestJitterKeepsWithinItsBounds(t *testing.T) {
	t.Parallel()
	for range 1000 {
		d := delay.Jitter(3, 5)
		require.GreaterOrEqual(t, d, time.Duration(3))
		require.LessOrEqual(t, d, time.Duration(5))
	}
	require.Equal(t, time.Second, delay.Jitter(time.Second, time.Second))
}
