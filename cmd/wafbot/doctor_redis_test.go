package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/store"
)

func TestDoctorJudgesWhatRedisTells(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		judge func(store.Facts) (trouble, state)
		facts store.Facts
		want  state
		says  string
	}{
		{redisVersion, store.Facts{Version: "7.4.1"}, good, "version 7.4.1"},
		{redisVersion, store.Facts{Version: "6.2.0"}, good, "version 6.2.0"},
		{redisVersion, store.Facts{Version: "10.0.0"}, good, "version 10.0.0"},
		{redisVersion, store.Facts{Version: "6.0.16"}, wrong, "version 6.0.16 is too old"},
		{redisVersion, store.Facts{Version: "6"}, wrong, "too old"},
		{redisVersion, store.Facts{}, note, "unknown"},
		{redisEviction, store.Facts{Eviction: "noeviction"}, good, "throws nothing away"},
		{redisEviction, store.Facts{Eviction: "allkeys-lru", Unbounded: true}, good, "without a limit"},
		{redisEviction, store.Facts{Eviction: "allkeys-lru"}, warn, "maxmemory-policy allkeys-lru"},
		{redisEviction, store.Facts{}, note, "unknown"},
		{redisPersistence, store.Facts{Persistence: store.KeptAppended}, good, "writes everything down"},
		{redisPersistence, store.Facts{Persistence: store.KeptSaved}, warn, "only now and then"},
		{redisPersistence, store.Facts{Persistence: store.KeptNot}, warn, "writes nothing to its disk"},
		{redisPersistence, store.Facts{}, note, "unknown"},
	} {
		said, state := tt.judge(tt.facts)
		require.Equal(t, tt.want, state, "%+v", tt.facts)
		require.Contains(t, said.text, tt.says)
		if state == wrong || state == warn {
			require.NotEmpty(t, said.mend)
		}
	}
}
