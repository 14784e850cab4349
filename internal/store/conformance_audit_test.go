package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func testAudit(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	require.Empty(t, must(s.Audit.Entries(ctx, "acme", time.Time{}))(t))
	var want []record.AuditEntry
	for i, line := range []string{"deny 203.0.113.7", `deny 203.0.113.7 reason="\" é ` + "\x00" + `"`, "mute type=sqli"} {
		e := entry(at, line)
		n, err := s.Audit.Append(ctx, e)
		require.NoError(t, err)
		require.EqualValues(t, i+1, n)
		e.N = n
		want = append(want, e)
	}
	elsewhere := entry(at, "status")
	elsewhere.Account = "other"
	require.EqualValues(t, 1, must(s.Audit.Append(ctx, elsewhere))(t), "each account counts by itself")
	s.drafted(t, func(l *store.Draft) {
		e := entry(at, "deny 203.0.113.8")
		n, err := l.Save(ctx, record.Saves{Changes: []record.Change{record.Change{ID: "c1", Account: "acme", State: record.StateDone, At: at}}, Entry: &e})
		require.NoError(t, err)
		require.EqualValues(t, 4, n, "with a change it is numbered all the same")
		e.N = n
		want = append(want, e)
	})
	require.Equal(t, []record.AuditEntry{want[3], want[2], want[1], want[0]}, must(s.Audit.Entries(ctx, "acme", at.Add(-time.Second)))(t), "the newest first")
	require.Equal(t, want, s.trail(t, at.Add(-time.Second)), "the oldest first")
	require.Empty(t, must(s.Audit.Entries(ctx, "acme", at.Add(time.Hour)))(t))
	require.Empty(t, s.trail(t, at.Add(time.Hour)))
	for e, err := range s.Audit.Trail(ctx, "acme", at.Add(-time.Second)) {
		require.NoError(t, err)
		require.EqualValues(t, 1, e.N)
		break // it may be left at any entry
	}
}

func (s conforming) trail(t *testing.T, since time.Time) (all []record.AuditEntry) {
	t.Helper()
	for e, err := range s.Audit.Trail(t.Context(), "acme", since) {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

func testSpoiled(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	require.NoError(t, failure(s.Audit.Append(ctx, entry(at, "first"))))
	s.spoil(t)
	require.NoError(t, failure(s.Audit.Append(ctx, entry(at, "third"))))
	require.ErrorIs(t, failure(s.Audit.Entries(ctx, "acme", at.Add(-time.Second))), record.ErrBadEntry)
	var numbers []int64
	bad := 0
	for e, err := range s.Audit.Trail(ctx, "acme", at.Add(-time.Second)) {
		numbers = append(numbers, e.N)
		if err != nil {
			require.ErrorIs(t, err, record.ErrBadEntry)
			require.Equal(t, record.AuditEntry{N: 2}, e, "only its number is known")
			bad++
		}
	}
	require.Equal(t, []int64{1, 2, 3}, numbers, "the others come all the same")
	require.Equal(t, 1, bad)
}
