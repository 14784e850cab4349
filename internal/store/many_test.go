package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

// Attacks that a cap drops go in steps, too, and the last one has the cap with its event: neither is stored without the
// other. Another replica knows of it.
func TestVeryManyAttacksAreDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.openOwner(t), t.Context()
		var ids []string
		for i := range 1201 {
			ids = append(ids, fmt.Sprint("x:", i))
		}
		reached := record.Cap{Over: "over 40,000 attacks in 24 h", Edge: noon}
		event := record.Event{ID: "gap", Account: "acme", Kind: record.MonitoringGap, Channel: "C1", At: noon, Detail: record.GapFacts{}}
		require.Eventually(t, func() bool {
			return s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon, Attacks: shownAll(ids...)}) == nil
		}, patience, 100*time.Millisecond)
		update := record.PollUpdate{LastGood: noon, Delete: ids[1:], Events: []record.Event{event}, Cap: &reached}
		var after atomic.Int64 // so many steps that delete something of many attacks; none beyond them
		s.AddHook(sending(func(_ context.Context, cmds ...redis.Cmder) error {
			if slices.Contains(cmds[0].Args(), any("HDEL")) && after.Add(-1) < 0 {
				return errors.New("the replica is dead")
			}
			return nil
		}))
		var stored record.PollState
		for steps := int64(0); ; steps++ {
			after.Store(steps)
			err := s.Attacks.Save(ctx, "acme", update)
			waiting, fault := s.Outbox.Waiting(ctx, "acme")
			require.NoError(t, fault)
			stored, fault = w.open(t).Attacks.Load(ctx, "acme")
			require.NoError(t, fault)
			require.Equal(t, stored.Cap.Over != "", len(waiting) == 1, "after %d steps", steps)
			require.Equal(t, err == nil, stored.Cap.Over != "")
			if err == nil {
				require.Greater(t, steps, int64(1))
				break
			}
		}
		require.Len(t, stored.Attacks, 1)
		require.Contains(t, stored.Attacks, ids[0])
		require.Equal(t, reached, stored.Cap)
	})
}
