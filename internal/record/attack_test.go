package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// A slow attack is not taken to pause between two of its hits, also before its course is known: a storm's members have none when they join it.
func TestWindow(t *testing.T) {
	t.Parallel()
	const ongoing = 30 * time.Minute
	begun := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	slow := apiclient.Attack{First: begun, Last: begun.Add(20 * time.Minute), Hits: apiclient.Known(11)} // one hit every 2 minutes
	course := func(hits int64) []record.HitPoint {
		return []record.HitPoint{{At: begun.Unix(), Hits: 1}, {At: begun.Add(time.Minute).Unix(), Hits: 1 + hits}}
	}
	for name, tt := range map[string]struct {
		state record.AttackState
		want  time.Duration
	}{
		"one hit":                    {record.AttackState{Attack: apiclient.Attack{First: begun, Last: begun, Hits: apiclient.Known(1)}}, 5 * time.Minute},
		"slow, its course not known": {record.AttackState{Attack: slow}, 20 * time.Minute},
		"slow, and faster of late":   {record.AttackState{Attack: slow, History: course(60)}, 5 * time.Minute},
		"its last hits":              {record.AttackState{Attack: slow, History: course(1)}, 10 * time.Minute},
		"no more than it goes on":    {record.AttackState{Attack: apiclient.Attack{First: begun, Last: begun.Add(time.Hour), Hits: apiclient.Known(2)}}, ongoing},
	} {
		require.Equal(t, tt.want, tt.state.Window(ongoing), name)
	}
}
