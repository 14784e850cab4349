package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLinksAreSharedOut(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a, b := w.open(t), w.open(t)
		for i := range 8 {
			require.True(t, must(a.Slack.TakeLink(ctx, fmt.Sprint("first ", i), 10))(t), i)
		}
		take := func(id string, most int, want bool) {
			t.Helper()
			require.Equal(t, want, must(b.Slack.TakeLink(ctx, id, most))(t), id)
		}
		take("spare", 9, true)
		take("another spare", 9, false) // it would take the last
		take("spare", 9, true)          // renewed
		take("ninth", 10, true)
		take("spare", 9, false) // all are taken now: it makes room
		take("tenth", 10, true)
		take("eleventh", 10, false)
		take("tenth", 10, true)
		require.NoError(t, a.Slack.DropLink(ctx, "first 0"))
		take("eleventh", 10, true)
	})
}

// What a dead replica held is free after some seconds.
func TestLinksEnd(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	s := w.open(t)
	now := time.Now()
	w.mini.SetTime(now)
	require.True(t, must(s.Slack.TakeLink(t.Context(), "dead", 1))(t))
	require.False(t, must(s.Slack.TakeLink(t.Context(), "living", 1))(t))
	w.mini.SetTime(now.Add(11 * time.Second))
	require.True(t, must(s.Slack.TakeLink(t.Context(), "living", 1))(t))
}
