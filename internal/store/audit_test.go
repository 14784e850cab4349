package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func numbers(entries []record.AuditEntry) []int64 {
	all := make([]int64, len(entries))
	for i, e := range entries {
		all[i] = e.N
	}
	return all
}

func TestAuditEntriesAreNumberedWithoutGaps(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		stores := []*store.Store{w.open(t), w.open(t)}
		const writers, each = 8, 25
		given := make([][]int64, writers)
		var g errgroup.Group
		for i := range writers {
			g.Go(func() error {
				for range each {
					n, err := stores[i%2].Audit.Append(t.Context(), record.AuditEntry{Account: "acme", At: time.Now()})
					if err != nil {
						return err
					}
					given[i] = append(given[i], n)
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		var want []int64
		for n := range int64(writers * each) {
			want = append(want, n+1)
		}
		all := slices.Concat(given...)
		slices.Sort(all)
		require.Equal(t, want, all)
		entries, err := stores[0].Audit.Entries(t.Context(), "acme", time.Time{})
		require.NoError(t, err)
		slices.Reverse(want)
		require.Equal(t, want, numbers(entries), "newest first")
		n, err := stores[0].Audit.Append(t.Context(), record.AuditEntry{Account: "other", At: time.Now()})
		require.NoError(t, err)
		require.EqualValues(t, 1, n, "each account counts by itself")
	})
}

func TestOldAuditEntriesAreDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.openWith(t, store.Config{AuditKeep: time.Nanosecond})
		var last int64
		var err error
		for range 250 { // Redis trims a hundred at a time
			last, err = s.Audit.Append(t.Context(), record.AuditEntry{Account: "acme", At: time.Now()})
			require.NoError(t, err)
			time.Sleep(time.Millisecond) // Redis counts in these
		}
		require.EqualValues(t, 250, last, "numbers go on")
		entries, err := s.Audit.Entries(t.Context(), "acme", time.Time{})
		require.NoError(t, err)
		require.Less(t, len(entries), 150)
		require.Equal(t, last, entries[0].N)
		require.NoError(t, failure(s.Audit.Append(t.Context(), record.AuditEntry{Account: "other", At: time.Now()})))
		entries, err = s.Audit.Entries(t.Context(), "other", time.Time{})
		require.NoError(t, err)
		require.Equal(t, []int64{1}, numbers(entries), "of each account")
	})
}
