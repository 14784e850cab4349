package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/store"
)

// tellTime has Redis say that its clock is ahead of the machine's by so much.
func (w *wire) tellTime(by time.Duration) {
	w.SetFilters(nil, func(chunk []byte) ([]byte, bool) { return redistest.WrongTime(chunk, by), true })
}

// openAhead opens a store over a wire on which Redis' clock is ahead of the machine's by so much.
func (w *wire) openAhead(t *testing.T, by time.Duration) (*store.Store, *clock.Clocks) {
	w.tellTime(by)
	clocks := clock.New()
	return w.openPatiently(t, store.Config{Clocks: clocks}), clocks
}

func TestBeatsReadRedisClock(t *testing.T) {
	onEach(t, func(t *testing.T, redis *world) {
		s, clocks := redis.newWire(t).openAhead(t, -3*time.Hour)
		require.NoError(t, s.Replicas.Hear(t.Context()))
		require.WithinDuration(t, time.Now().Add(-3*time.Hour), clocks.Now(), time.Minute)

		s, clocks = redis.newWire(t).openAhead(t, time.Hour)
		newWatch(t).start("it", s, nil)
		require.Eventually(t, func() bool { return clocks.Offsets().RedisKnown }, patience, 10*time.Millisecond)
		require.WithinDuration(t, time.Now().Add(time.Hour), clocks.Now(), time.Minute)
	})
}
