package compare

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// hit is an observation at an attack that began at noon.
func hit(after time.Duration, hits int64, at time.Duration) Observation {
	return Observation{
		Attack: apiclient.Attack{ID: "x", First: noon, Last: noon.Add(after), Hits: apiclient.Known(hits)}, At: noon.Add(at), OngoingFor: 15 * time.Minute,
	}
}

func TestTheHistoryOfHits(t *testing.T) {
	t.Parallel()
	point := func(after time.Duration, hits int64) record.HitPoint {
		return record.HitPoint{At: noon.Add(after).Unix(), Hits: hits}
	}
	unknown := hit(time.Minute, 5, time.Minute)
	unknown.Attack.Hits = apiclient.Figure{}
	endless := hit(time.Minute, 5, time.Minute)
	endless.Attack.Last = time.Time{}
	for name, tt := range map[string]struct {
		observations []Observation
		want         []record.HitPoint
	}{
		"first observation":    {[]Observation{hit(time.Minute, 40, time.Minute)}, []record.HitPoint{point(0, 0), point(time.Minute, 40)}},
		"it grows":             {[]Observation{hit(time.Minute, 40, time.Minute), hit(2*time.Minute, 90, 2*time.Minute)}, []record.HitPoint{point(0, 0), point(time.Minute, 40), point(2*time.Minute, 90)}},
		"fewer, by sampling":   {[]Observation{hit(time.Minute, 40, time.Minute), hit(2*time.Minute, 30, 2*time.Minute)}, []record.HitPoint{point(0, 0), point(time.Minute, 40), point(2*time.Minute, 40)}},
		"more in the same hit": {[]Observation{hit(time.Minute, 40, time.Minute), hit(time.Minute, 60, 2*time.Minute)}, []record.HitPoint{point(0, 0), point(time.Minute, 60)}},
		"only one moment":      {[]Observation{hit(0, 3, time.Second)}, []record.HitPoint{point(0, 3)}},
		"hits unknown":         {[]Observation{unknown}, nil},
		"last hit unknown":     {[]Observation{endless}, nil},
		"quiet, then it resumes": {
			[]Observation{hit(time.Minute, 40, time.Minute), hit(time.Minute, 40, 16*time.Minute), hit(30*time.Minute, 50, 30*time.Minute)},
			[]record.HitPoint{point(0, 0), point(time.Minute, 40), point(16*time.Minute, 40), point(30*time.Minute, 50)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var state record.AttackState
			for _, observation := range tt.observations {
				state = After(state, observation, record.Grew)
			}
			require.Equal(t, tt.want, state.History)
		})
	}
}

func TestALongHistoryGetsCoarse(t *testing.T) {
	t.Parallel()
	var state record.AttackState
	for i := range 1_000 {
		was := fmt.Sprint(state.History)
		next := After(state, hit(time.Duration(i+1)*time.Minute, int64(i+1)*10, time.Duration(i+1)*time.Minute), record.Grew)
		require.Equal(t, was, fmt.Sprint(state.History), "what is stored is never changed")
		require.LessOrEqual(t, len(next.History), maxHistory)
		state = next
	}
	require.Equal(t, record.HitPoint{At: noon.Unix()}, state.History[0])
	require.Equal(t, record.HitPoint{At: noon.Add(1_000 * time.Minute).Unix(), Hits: 10_000}, state.History[len(state.History)-1])
	for _, p := range state.History {
		require.Equal(t, (p.At-noon.Unix())/6, p.Hits, "what is left is true")
	}
}

func TestFiguresThatNoPollFoundChanged(t *testing.T) {
	t.Parallel()
	s := record.AttackState{ObservedAt: noon}
	require.Equal(t, noon, FiguresAt(s, noon.Add(30*time.Second), false), "a change may wait for its minute")
	require.Equal(t, noon.Add(5*time.Minute), FiguresAt(s, noon.Add(5*time.Minute), false))
	require.Equal(t, noon, FiguresAt(s, noon.Add(5*time.Minute), true), "a muted attack has no events")
	require.Equal(t, noon, FiguresAt(s, time.Time{}, false))
	require.Zero(t, FiguresAt(record.AttackState{}, noon, false))
}
