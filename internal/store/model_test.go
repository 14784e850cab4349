package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/internal/store"
)

// inbox is what the store should do: it hands each delivery over, the oldest first, until it is done.
type inbox struct {
	s       *store.Store
	url     string
	seen    map[string]bool
	pending []string // not done
}

func (i *inbox) deliver(t *rapid.T) {
	id := fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "id"))
	fresh, err := i.s.Accept(t.Context(), []byte(id), id)
	require.NoError(t, err)
	require.Equal(t, !i.seen[id], fresh)
	if fresh {
		i.pending = append(i.pending, id)
	}
	i.seen[id] = true
}

// reign works for a while, finishes some of what it is handed and dies.
func (i *inbox) reign(t *rapid.T) {
	if len(i.pending) == 0 {
		return
	}
	most := rapid.IntRange(1, len(i.pending)).Draw(t, "handed over")
	ctx, die := context.WithCancel(t.Context())
	defer die()
	var handed, done []string
	s, err := store.Open(store.Config{URL: i.url}) // another replica
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var beats sync.WaitGroup
	beats.Go(func() { _ = s.Beat(ctx) })
	defer beats.Wait()
	err = s.Work(ctx, func(work []byte, _ func(context.Context) bool, finish func(context.Context) error) {
		handed = append(handed, string(work))
		if rapid.Bool().Draw(t, "finished") {
			require.NoError(t, finish(ctx))
			done = append(done, string(work))
		}
		if len(handed) == most {
			die()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, i.pending[:most], handed)
	i.pending = slices.DeleteFunc(i.pending, func(id string) bool { return slices.Contains(done, id) })
}

func TestDeliveriesAreWorkedOffWhateverDies(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		rapid.Check(t, func(t *rapid.T) {
			require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
			i := &inbox{s: s, url: "redis://" + w.addr + "/0", seen: map[string]bool{}}
			t.Repeat(map[string]func(*rapid.T){"deliver": i.deliver, "reign": i.reign})
			n, err := w.rdb.XLen(t.Context(), "{work}:stream").Result()
			require.NoError(t, err)
			require.EqualValues(t, len(i.pending), n)
		})
	})
}
