package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
)

// What was seen of a change is kept with the mark on its card and the news of it, by the replica that tends the account alone, and for as long as
// the change is.
func TestEffects(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s, err := store.Open(store.Config{URL: "redis://" + w.addr, Judged: func(j commands.Judged) []poller.News {
			if !j.Tell {
				return nil
			}
			return []poller.News{news("of "+j.Change.ID, "x:1")}
		}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		s.AddHook(oneSlot{})
		other := w.open(t)
		ch := commands.Change{ID: "c1", Account: "acme", AttackID: "a1", State: commands.StateDone, At: noon}
		seen := commands.Effect{
			Parts: map[string]commands.Traffic{"203.0.113.7": {Stopped: commands.Tally{N: 10, First: noon, Last: noon.Add(time.Minute)}}}, Finding: commands.Works, At: noon.Add(time.Hour),
		}
		all := []commands.Judged{{Change: ch, Effect: seen}, {Change: commands.Change{ID: "c2", Account: "acme"}, Effect: commands.Effect{Finding: commands.NoEffect}, Tell: true}}
		require.Error(t, other.SaveEffects(ctx, "acme", all), "it doesn't tend the account")
		tending(t, s)
		require.NoError(t, s.SaveEffects(ctx, "acme", all))

		got, err := other.Effects(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, map[string]commands.Effect{"c1": seen, "c2": {Finding: commands.NoEffect}}, got)
		file, err := other.File(ctx, "acme", "a1")
		require.NoError(t, err)
		require.Equal(t, got, file.Effects)
		marks, err := other.ToRedraw(ctx, "acme")
		require.NoError(t, err)
		require.Contains(t, marks, "a1")
		require.Len(t, marks, 1)
		require.Equal(t, []string{"of c2"}, untold(t, s))

		ch.State, ch.EndedAt = commands.StateUndone, time.Now().Add(-31*24*time.Hour)
		save(t, s, ch)
		_, err = s.Changes(ctx, "acme")
		require.NoError(t, err)
		got, err = other.Effects(ctx, "acme")
		require.NoError(t, err)
		require.NotContains(t, got, "c1", "forgotten with its change")
	})
}
