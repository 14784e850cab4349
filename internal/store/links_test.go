package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func TestLinksAreSharedOut(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a, b := w.open(t), w.open(t)
		for i := range 8 {
			held, err := a.Links.TakeLink(ctx, fmt.Sprint("first ", i), 10)
			require.NoError(t, err)
			require.True(t, held, i)
		}
		take := func(id string, most int, want bool) {
			t.Helper()
			held, err := b.Links.TakeLink(ctx, id, most)
			require.NoError(t, err)
			require.Equal(t, want, held, id)
		}
		take("spare", 9, true)
		take("another spare", 9, false) // it would take the last
		take("spare", 9, true)          // renewed
		take("ninth", 10, true)
		take("spare", 9, false) // all are taken now: it makes room
		take("tenth", 10, true)
		take("eleventh", 10, false)
		take("tenth", 10, true)
		require.NoError(t, a.Links.DropLink(ctx, "first 0"))
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
	held, err := s.Links.TakeLink(t.Context(), "dead", 1)
	require.NoError(t, err)
	require.True(t, held)
	held, err = s.Links.TakeLink(t.Context(), "living", 1)
	require.NoError(t, err)
	require.False(t, held)
	w.mini.SetTime(now.Add(11 * time.Second))
	held, err = s.Links.TakeLink(t.Context(), "living", 1)
	require.NoError(t, err)
	require.True(t, held)
}

// What is of one workspace takes nothing from another: neither links, nor posts, nor edits, nor what is known of people, also where Slack's ids are the same.
func TestWorkspacesShareNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := w.open(t)
		hq, emea := s.In("hq"), s.In("emea")
		full := func(in *store.Store) (links, posts, edits bool) {
			held, err := in.Links.TakeLink(ctx, "another", 1)
			require.NoError(t, err)
			post, err := in.Pace.PostSlot(ctx, "C1", 0.001, 1, 0)
			require.NoError(t, err)
			edit, err := in.Pace.EditSlot(ctx, "T1", 1, record.EditTurn{Of: "acme"})
			require.NoError(t, err)
			return !held, post > 0, edit > 0
		}
		held, err := hq.Links.TakeLink(ctx, "first", 1)
		require.NoError(t, err)
		require.True(t, held)
		_, _, _ = full(hq)
		links, posts, edits := full(hq)
		require.Equal(t, []bool{true, true, true}, []bool{links, posts, edits})
		for name, in := range map[string]*store.Store{"emea": emea, "the only one": s} {
			links, posts, edits := full(in)
			require.Equal(t, []bool{false, false, false}, []bool{links, posts, edits}, name)
		}
		require.NoError(t, hq.People.PeopleChanged(ctx, "U1"))
		mark, err := emea.People.PeopleMark(ctx, "U1")
		require.NoError(t, err)
		require.Empty(t, mark)
	})
}
