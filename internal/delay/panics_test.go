package delay_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/delay"
)

// What panics is done again, with a pause, and its log says where it did.
func TestAPanicEndsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		log := slog.New(slog.NewTextHandler(&lines, nil))
		begun, before, times := time.Now(), delay.Panics(), 0
		require.NoError(t, delay.Again(t.Context(), log, "a poll", func() error {
			if times++; times < 4 {
				var answer []int
				_ = answer[len(answer)]
			}
			return nil
		}))
		require.Equal(t, 4, times)
		require.Equal(t, 1+2+4, int(time.Since(begun).Seconds()))
		require.GreaterOrEqual(t, delay.Panics()-before, int64(3))
		require.Contains(t, lines.String(), `in="a poll"`)
		require.Contains(t, lines.String(), "index out of range")
		require.Contains(t, lines.String(), "TestAPanicEndsNothing", "the stack")
		require.True(t, delay.Run(log, "a poll", func() {}))
		require.False(t, delay.Run(log, "a poll", func() { panic("once") }))

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		require.ErrorIs(t, delay.Again(ctx, log, "a poll", func() error { panic("always") }), delay.ErrPanic)
		require.Error(t, ctx.Err(), "it goes on as long as it may")
	})
}
