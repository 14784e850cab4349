package poller_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An attack's id is the service's, and may be made to look like a storm's: it is an attack's all the same, also beside the storm that it names.
func TestAnAttackIsNeverTakenForAStorm(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.add(fmt.Sprintf("storm:C0:%d", noon.Add(time.Second).Unix()), 0, incident)
	a.add("storm:C1:1", 0, incident)
	require.Len(t, stormPoll(t, a, p, 0), 2)
	require.Empty(t, storms(a))
	a.addMany("a", 4)
	stormPoll(t, a, p, time.Second)
	require.Len(t, storms(a), 1)
	require.Len(t, a.store.state[a.name].Attacks, 7)
	require.Len(t, inStorm(a, storms(a)[0].Attack.ID), 4)

	p = a.start()
	require.Empty(t, stormPoll(t, a, p, 2*time.Second), "nor by another replica")
	require.Len(t, storms(a), 1)
}

// The service's word for hits has no end: those of a storm don't turn into fewer than none.
func TestAStormOfTooManyHits(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("a", 4, func(r *attackRecord) { r.hits = math.MaxInt64 - 1 })
	stormPoll(t, a, p, 0)
	s := storms(a)[0]
	require.Equal(t, []int64{math.MaxInt64, math.MaxInt64}, []int64{s.Storm.Hits, s.Attack.Sources[0].Hits.N})
}
