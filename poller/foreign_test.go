package poller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the service answers of another client gives no event, and ends none: people are notified of that once, and the account's own attacks are seen.
func TestRecordsOfAnotherClient(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	answer := func(swapped, mixed bool) {
		a.service.mu.Lock()
		defer a.service.mu.Unlock()
		a.swapped, a.mixed = swapped, mixed
	}
	a.add("x:1", 0)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:1"}, a.store.takeNames())
	good := p.Health().LastGood

	answer(true, false)
	a.at(20 * time.Minute)
	require.Error(t, p.Poll(t.Context()))
	require.Equal(t, []string{"foreign records "}, a.store.takeNames(), "no card, and x:1 isn't quiet because it wasn't listed")
	require.Equal(t, good, p.Health().LastGood)
	require.Equal(t, "the service answers with records of other clients", p.Health().Failing)

	answer(false, true)
	a.add("x:2", 0)
	for range 10 {
		require.Error(t, p.Poll(t.Context()))
	}
	require.Equal(t, []string{"new attack x:2"}, a.store.takeNames(), "its own are seen, and people were notified already")
	require.Len(t, p.Attacks(), 2)

	answer(false, false)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"quiet x:1"}, a.store.takeNames())

	answer(false, true)
	a.at(30 * time.Hour)
	require.Error(t, p.Poll(t.Context()))
	require.Contains(t, a.store.takeNames(), "foreign records ", "another day")
}
