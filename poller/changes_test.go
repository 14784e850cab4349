package poller_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

// observing keeps what was observed.
func (a *account) observing() *[]record.Poll {
	var all []record.Poll
	a.observed = func(_ context.Context, o record.Poll) {
		slices.SortFunc(o.Changes, func(x, y record.AttackDelta) int { return strings.Compare(x.Now.ID, y.Now.ID) })
		all = append(all, o)
	}
	return &all
}

// Each good poll gives what changed since the one before, results of mitigations too; also when nothing did: time
// passes.
func TestWhatChangedIsObserved(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.add("x:1", time.Minute)
	a.add("x:2", time.Minute, func(r *attackRecord) { r.typ = "blocked_source" })
	seen := a.observing()
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	first := (*seen)[0]
	require.Zero(t, first.Since)
	require.Len(t, first.Changes, 2)
	require.Nil(t, first.Changes[0].Before)

	require.NoError(t, p.Poll(t.Context()))
	require.Empty(t, (*seen)[1].Changes)
	require.Equal(t, first.At, (*seen)[1].Since)

	a.fail(func(request) bool { return true })
	require.Error(t, p.Poll(t.Context()))
	require.Len(t, *seen, 2, "who sees nothing judges nothing")
	a.fail(nil)
	a.change("x:2", func(r *attackRecord) { r.hits, r.last = 130, r.last.Add(time.Second) })
	require.NoError(t, p.Poll(t.Context()))
	last := (*seen)[2]
	require.Equal(t, (*seen)[1].At, last.Since)
	require.Len(t, last.Changes, 1)
	require.EqualValues(t, 100, last.Changes[0].Before.Hits.N)
	require.EqualValues(t, 130, last.Changes[0].Now.Hits.N)
}

// After a start it is unknown what came when, though the store holds what the records once were.
func TestAfterAStartNothingBeforeIsKnown(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.add("x:1", time.Minute)
	require.NoError(t, a.start().Poll(t.Context()))
	seen := a.observing()
	a.change("x:1", func(r *attackRecord) { r.hits, r.last = 130, r.last.Add(time.Second) })
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	require.Zero(t, (*seen)[0].Since)
	require.Len(t, (*seen)[0].Changes, 1)
	require.Nil(t, (*seen)[0].Changes[0].Before)
	a.change("x:1", func(r *attackRecord) { r.hits, r.last = 140, r.last.Add(time.Second) })
	require.NoError(t, p.Poll(t.Context()))
	require.EqualValues(t, 130, (*seen)[1].Changes[0].Before.Hits.N)
	require.Equal(t, (*seen)[0].At, (*seen)[1].Since)
}

// What a patch stops leaves the attack's record, as what a denial stops does: it goes on all the same.
func TestASourceThatAPatchStopsIsStillTrying(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.add("x:1", time.Hour)
	a.add("x:2", time.Minute, func(r *attackRecord) { r.typ = "vpatch" })
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	require.True(t, p.GoesOn(func(id string) bool { return id == "x:1" }))
}
