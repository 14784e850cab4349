package poller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// hit is a look at an attack that began at noon.
func hit(after time.Duration, hits int64, at time.Duration) Look {
	return Look{
		Attack: apiclient.Attack{ID: "x", First: noon, Last: noon.Add(after), Hits: apiclient.Known(hits)}, At: noon.Add(at), OngoingFor: 15 * time.Minute,
	}
}

func TestTheCourseOfHits(t *testing.T) {
	t.Parallel()
	point := func(after time.Duration, hits int64) record.HitPoint {
		return record.HitPoint{At: noon.Add(after).Unix(), Hits: hits}
	}
	unknown := hit(time.Minute, 5, time.Minute)
	unknown.Attack.Hits = apiclient.Figure{}
	endless := hit(time.Minute, 5, time.Minute)
	endless.Attack.Last = time.Time{}
	for name, tt := range map[string]struct {
		looks []Look
		want  []record.HitPoint
	}{
		"first look":           {[]Look{hit(time.Minute, 40, time.Minute)}, []record.HitPoint{point(0, 0), point(time.Minute, 40)}},
		"it grows":             {[]Look{hit(time.Minute, 40, time.Minute), hit(2*time.Minute, 90, 2*time.Minute)}, []record.HitPoint{point(0, 0), point(time.Minute, 40), point(2*time.Minute, 90)}},
		"fewer, by sampling":   {[]Look{hit(time.Minute, 40, time.Minute), hit(2*time.Minute, 30, 2*time.Minute)}, []record.HitPoint{point(0, 0), point(time.Minute, 40), point(2*time.Minute, 40)}},
		"more in the same hit": {[]Look{hit(time.Minute, 40, time.Minute), hit(time.Minute, 60, 2*time.Minute)}, []record.HitPoint{point(0, 0), point(time.Minute, 60)}},
		"only one moment":      {[]Look{hit(0, 3, time.Second)}, []record.HitPoint{point(0, 3)}},
		"hits unknown":         {[]Look{unknown}, nil},
		"last hit unknown":     {[]Look{endless}, nil},
		"quiet, then it resumes": {
			[]Look{hit(time.Minute, 40, time.Minute), hit(time.Minute, 40, 16*time.Minute), hit(30*time.Minute, 50, 30*time.Minute)},
			[]record.HitPoint{point(0, 0), point(time.Minute, 40), point(16*time.Minute, 40), point(30*time.Minute, 50)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shown record.AttackState
			for _, look := range tt.looks {
				shown = after(shown, look, record.Grew)
			}
			require.Equal(t, tt.want, shown.History)
		})
	}
}

func TestALongCourseGetsCoarse(t *testing.T) {
	t.Parallel()
	var shown record.AttackState
	for i := range 1_000 {
		was := fmt.Sprint(shown.History)
		next := after(shown, hit(time.Duration(i+1)*time.Minute, int64(i+1)*10, time.Duration(i+1)*time.Minute), record.Grew)
		require.Equal(t, was, fmt.Sprint(shown.History), "what is remembered is never changed")
		require.LessOrEqual(t, len(next.History), maxCourse)
		shown = next
	}
	require.Equal(t, record.HitPoint{At: noon.Unix()}, shown.History[0])
	require.Equal(t, record.HitPoint{At: noon.Add(1_000 * time.Minute).Unix(), Hits: 10_000}, shown.History[len(shown.History)-1])
	for _, p := range shown.History {
		require.Equal(t, (p.At-noon.Unix())/6, p.Hits, "what is left is true")
	}
}

func TestFiguresThatNoPollFoundChanged(t *testing.T) {
	t.Parallel()
	s := record.AttackState{ObservedAt: noon}
	require.Equal(t, noon, FiguresAt(s, noon.Add(30*time.Second), false), "a change may wait for its minute")
	require.Equal(t, noon.Add(5*time.Minute), FiguresAt(s, noon.Add(5*time.Minute), false))
	require.Equal(t, noon, FiguresAt(s, noon.Add(5*time.Minute), true), "of what is muted there is no news")
	require.Equal(t, noon, FiguresAt(s, time.Time{}, false))
	require.Zero(t, FiguresAt(record.AttackState{}, noon, false))
}
