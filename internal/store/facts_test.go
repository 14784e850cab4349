package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/store"
)

func TestFactsOfAMiniredisAreUnknown(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	got, err := w.open(t).Facts(t.Context())
	require.NoError(t, err)
	require.Positive(t, got.RoundTrip)
	got.RoundTrip = 0
	require.Equal(t, store.Facts{}, got, "it gives neither INFO nor CONFIG")
	for _, key := range w.mini.Keys() {
		require.Positive(t, w.mini.TTL(key), "%s stays", key)
	}
}

func TestFactsOfARealRedis(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	w := newReal(t)
	s := w.open(t)
	for _, tt := range []struct {
		appendonly, save, maxmemory, policy string
		want                                store.Facts
	}{
		{"no", "", "0", "noeviction", store.Facts{Persistence: store.KeptNot, Eviction: "noeviction", Unbounded: true}},
		{"no", "3600 1", "100mb", "allkeys-lru", store.Facts{Persistence: store.KeptSaved, Eviction: "allkeys-lru"}},
		{"yes", "", "100mb", "noeviction", store.Facts{Persistence: store.KeptAppended, Eviction: "noeviction"}},
	} {
		for name, value := range map[string]string{"appendonly": tt.appendonly, "save": tt.save, "maxmemory": tt.maxmemory, "maxmemory-policy": tt.policy} {
			require.NoError(t, w.rdb.ConfigSet(t.Context(), name, value).Err())
		}
		got, err := s.Facts(t.Context())
		require.NoError(t, err)
		require.Positive(t, got.RoundTrip)
		require.Regexp(t, `^\d+\.\d+\.\d+$`, got.Version)
		got.RoundTrip, got.Version = 0, ""
		require.Equal(t, tt.want, got)
	}
}

func TestRefusalsOfRedisAreExplained(t *testing.T) {
	t.Parallel()
	w := newMini(t)
	s := w.open(t)
	for said, says := range map[string]string{
		"NOAUTH Authentication required.":                         "it wants a password (NOAUTH)",
		"READONLY You can't write against a read only replica.":   "it is a replica and takes no writes (READONLY)",
		"OOM command not allowed when used memory > 'maxmemory'.": "its memory is full (OOM)",
	} {
		w.mini.SetError(said)
		_, err := s.Facts(t.Context())
		require.Error(t, err)
		trouble := refusal.TroubleOf(err)
		require.True(t, trouble.Answered, said)
		require.Equal(t, says, trouble.Is)
		require.NotEmpty(t, trouble.Fix)
	}
	w.mini.SetError("ERR something else")
	_, err := s.Facts(t.Context())
	require.Empty(t, refusal.TroubleOf(err).Is)
}
