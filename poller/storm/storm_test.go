package storm_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/storm"
)

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cfg  = storm.Config{Storm: config.Storm{Over: 3, In: time.Minute}, EndsAfter: 10 * time.Minute}
)

func TestGroup(t *testing.T) {
	t.Parallel()
	active := record.AttackState{Channel: "C1", Storm: &record.Storm{Began: noon, Exceeded: noon, EndsAfter: cfg.EndsAfter}}
	for name, tt := range map[string]struct {
		before, come int // attacks, half a minute ago and now
		storms       map[string]record.AttackState
		after        time.Duration // noon
		want         string        // the storm; "": none
	}{
		"as many as the limit":            {come: 3},
		"more than the limit":             {come: 4, want: storm.ID("C1", noon)},
		"with those of half a minute ago": {before: 2, come: 2, want: storm.ID("C1", noon)},
		"one in a storm":                  {come: 1, storms: map[string]record.AttackState{"s1": active}, after: time.Minute, want: "s1"},
		"one after a storm":               {come: 1, storms: map[string]record.AttackState{"s1": active}, after: 10 * time.Minute},
		"one in another channel's storm":  {come: 1, storms: map[string]record.AttackState{"s1": {Channel: "C2", Storm: active.Storm}}},
	} {
		at := noon.Add(tt.after)
		b := storm.Batch{
			Config: cfg, At: at, Storms: map[string]record.AttackState{}, Joined: map[string]int{}, Over: map[string]bool{},
			Arrivals: storm.Arrivals{}.Add(at.Add(-30*time.Second), map[string]int{"C1": tt.before}, cfg.In).Add(at,
				map[string]int{"C1": tt.come}, cfg.In),
		}
		maps.Copy(b.Storms, tt.storms)
		id := b.Group("C1", tt.come)
		require.Equal(t, tt.want, id, name)
		if id == "" {
			require.Empty(t, b.Joined, name)
			continue
		}
		require.Equal(t, tt.come, b.Joined[id], name)
		if tt.storms == nil {
			require.Equal(t, tt.before, b.Storms[id].Storm.Before, name)
		}
	}
}

// What came longer ago than the limit counts is dropped, and a poll that is added in parts counts its incidents once
// each.
func TestArrivals(t *testing.T) {
	t.Parallel()
	a := storm.Arrivals{}.Add(noon, map[string]int{"": 1, "C1": 2}, cfg.In).Add(noon,
		map[string]int{"": 2, "C1": 1}, cfg.In)
	require.Equal(t, 3, a.To("C1"))
	require.Equal(t, 3, a.To(""))
	a = a.Add(noon.Add(time.Minute), nil, cfg.In)
	require.Zero(t, a.To("C1"))
	require.Zero(t, a.To(""))
}

// An attack that is grouped gets no card: no people are mentioned or paged about it, and its revision doesn't count the
// event that it would have been.
func TestJoin(t *testing.T) {
	t.Parallel()
	s := storm.Join(record.AttackState{Revision: 1, Notified: true, Mention: "S0", MentionedAt: noon, Pager: &record.Pager{}}, "s1")
	require.Equal(t, record.AttackState{Notified: true, StormID: "s1"}, s)
	require.True(t, s.Grouped())
}

func TestActive(t *testing.T) {
	t.Parallel()
	s := record.AttackState{Storm: &record.Storm{Exceeded: noon, EndsAfter: time.Minute}}
	require.True(t, storm.Active(s, noon.Add(59*time.Second)))
	require.False(t, storm.Active(s, noon.Add(time.Minute)))
	s.Rebuilt = true
	require.True(t, storm.Active(s, noon.Add(time.Hour)), "until everything was read")
	s.Storm.Ended = noon
	require.False(t, storm.Active(s, noon))
	require.False(t, storm.Active(record.AttackState{}, noon), "an attack")
}

func TestIDs(t *testing.T) {
	t.Parallel()
	began, ok := storm.Began(storm.ID("C1", noon))
	require.True(t, ok)
	require.Equal(t, noon, began)
	_, ok = storm.Began("x:1")
	require.False(t, ok)
}

func TestSum(t *testing.T) {
	t.Parallel()
	member := func(id, status string, hits int64) storm.Member {
		return storm.Member{Window: 5 * time.Minute, AttackState: &record.AttackState{StormID: "s1", Attack: apiclient.Attack{
			ID: id, BlockStatus: status, Hits: apiclient.Known(hits), Last: noon, Type: "sqli", Domain: "shop.example.com", Path: "/login", Method: "POST",
		}}}
	}
	last := record.AttackState{Attack: apiclient.Attack{ID: "s1"}, Storm: &record.Storm{Exceeded: noon, EndsAfter: time.Minute}}
	own := member("x:2", "monitored", 30)
	own.OwnCard = true
	trying := member("x:1", "blocked", 20)
	trying.OnlyTrying = true
	got := storm.Sum(last, []storm.Member{own, member("x:0", "blocked", 10), trying}, noon)
	require.Equal(t, []int{3, 1, 2, 1, 1}, []int{got.Storm.Grouped, got.Storm.OwnCards, got.Storm.Ongoing, got.Storm.StillTrying, got.Storm.Passing()})
	require.EqualValues(t, 60, got.Storm.Hits)
	require.Equal(t, "POST shop.example.com/login", got.Storm.Place)
	require.Empty(t, got.Storm.Unblocked, "what gets through has a card of its own")
	kind, event := got.Event()
	require.True(t, event)
	require.Equal(t, record.NewAttack, kind)
	next := got.After(true, kind)
	require.Equal(t, 1, next.Revision)
	_, event = storm.Sum(next, []storm.Member{own, member("x:0", "blocked", 10), trying}, noon.Add(time.Second)).Event()
	require.False(t, event, "the same again")
}
