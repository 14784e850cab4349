package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/store"
)

func TestDoctorJudgesWhatRedisReports(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		judge func(store.Facts) Finding
		facts store.Facts
		want  State
		says  string
	}{
		{redisVersion, store.Facts{Version: "7.4.1"}, OK, "version 7.4.1"},
		{redisVersion, store.Facts{Version: "6.2.0"}, OK, "version 6.2.0"},
		{redisVersion, store.Facts{Version: "10.0.0"}, OK, "version 10.0.0"},
		{redisVersion, store.Facts{Version: "6.0.16"}, Wrong, "version 6.0.16 is too old"},
		{redisVersion, store.Facts{Version: "6"}, Wrong, "too old"},
		{redisVersion, store.Facts{}, Note, "unknown"},
		{redisEviction, store.Facts{Eviction: "noeviction"}, OK, "throws nothing away"},
		{redisEviction, store.Facts{Eviction: "allkeys-lru", Unbounded: true}, OK, "without a limit"},
		{redisEviction, store.Facts{Eviction: "allkeys-lru"}, Warn, "maxmemory-policy allkeys-lru"},
		{redisEviction, store.Facts{}, Note, "unknown"},
		{redisPersistence, store.Facts{Persistence: store.KeptAppended}, OK, "writes everything down"},
		{redisPersistence, store.Facts{Persistence: store.KeptSaved}, Warn, "only now and then"},
		{redisPersistence, store.Facts{Persistence: store.KeptNot}, Warn, "writes nothing to its disk"},
		{redisPersistence, store.Facts{}, Note, "unknown"},
	} {
		said := tt.judge(tt.facts)
		require.Equal(t, tt.want, said.State, "%+v", tt.facts)
		require.Contains(t, said.Text, tt.says)
		if said.State == Wrong || said.State == Warn {
			require.NotEmpty(t, said.Fix)
		}
	}
}
