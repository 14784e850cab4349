package poller_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/poller"
)

// An hour in which nothing happens, whatever is known: one request a poll, a second once a minute, everything every
// ten, and a round trip to the store twice a minute.
func TestAnUneventfulHour(t *testing.T) {
	t.Parallel()
	for _, known := range []int{0, 30, 101} {
		t.Run(fmt.Sprint(known), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, _ := running(t, func(a *account) {
					for i := range known {
						a.add(fmt.Sprintf("x:%04d", i), 30*time.Minute+time.Duration(i)*time.Second, incident)
					}
				})
				a.store.takeNames()
				a.asked("")
				_, before := a.store.counts()
				after(time.Hour)
				require.Empty(t, a.store.takeNames())
				_, now := a.store.counts()
				require.LessOrEqual(t, now-before, 120, "to the store once in 30 s")
				require.Greater(t, now-before, 60)

				pages := int(math.Ceil(float64(known)/100)) + 1 // only an empty page ends a list
				polls, sweeps, minutes, deeper := 0, 0, 0, 0
				for _, q := range a.asked(attacks) {
					switch {
					case q.Incidents && q.Offset == 0:
						minutes++
					case q.Incidents:
						deeper++
					case q.Offset == 0:
						polls++
					case q.Offset == min(known, 100):
						sweeps++
						deeper++
					default:
						deeper++
					}
				}
				require.InDelta(t, 240, polls, 8)
				if known == 0 {
					require.Zero(t, sweeps+minutes+deeper, "one empty page is everything there is")
					return
				}
				require.InDelta(t, 6, sweeps, 1)
				require.InDelta(t, 50, minutes, 10)
				require.Equal(t, (sweeps+minutes)*(pages-1), deeper, "nothing else")
			})
		})
	}
}

// A poll compares what is new, and what may be over. Mutes are asked only about what would be an event.
func TestAPollComparesLittle(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	asked := 0
	a.muted = func(context.Context) (func(apiclient.Attack) bool, error) {
		return func(attack apiclient.Attack) bool { asked++; return attack.ID == "muted" }, nil
	}
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	for i := range 300 {
		a.add(fmt.Sprintf("x:%03d", i), 3*time.Minute+time.Duration(i)*100*time.Millisecond)
	}
	a.add("muted", 10*time.Minute)
	require.NoError(t, p.Poll(t.Context()))
	require.Len(t, a.store.takeNames(), 301, "each has a card, and goes on")
	asked = 0
	require.Equal(t, 1, poller.Compared(t.Context(), p), "what is muted")
	require.NoError(t, p.Poll(t.Context()))
	require.Empty(t, a.store.takeNames())
	require.Equal(t, 1, asked, "what is muted")

	for i := range 150 {
		a.add(fmt.Sprintf("y:%03d", i), 0)
	}
	asked = 0
	require.NoError(t, p.Poll(t.Context()))
	require.Len(t, a.store.takeNames(), 150)
	require.Equal(t, 151, asked, "each once, though the first page is settled before the second is read")
}

// Accounts that start together, as after a takeover, neither poll nor mirror in step; the first one waits for nothing.
func TestAccountsStartOneAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(time.Now)
		begun := time.Now()
		polls, mirrored := map[time.Duration]int{}, map[int]int{}
		s.served = func(q request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			switch {
			case q.Path == attacks && time.Since(begun) < 2*time.Second:
				polls[time.Since(begun)]++
			case q.Path == lists && time.Since(begun) > 2*time.Second:
				mirrored[int(time.Since(begun).Seconds())]++
			}
		}
		const accounts = 200
		starts := rate.NewLimiter(200, 1)
		ctx, stop := context.WithCancel(t.Context())
		var running atomic.Int64
		for i := range accounts {
			m := newStore(t)
			p := poller.New(poller.Config{Account: accountOf(fmt.Sprint(i), ""), API: s.inProcess(t), Store: m, Notifier: m})
			running.Add(1)
			go func() {
				defer running.Add(-1)
				if starts.Wait(ctx) == nil {
					_ = p.Run(ctx)
				}
			}()
		}
		after(63 * time.Second)
		require.Equal(t, 1, polls[0])
		require.Len(t, polls, accounts, "each at a time of its own")
		total := 0
		for second, n := range mirrored {
			total += n
			require.LessOrEqual(t, n, 20, "in second %d", second)
		}
		require.GreaterOrEqual(t, total, accounts)
		stop()
		synctest.Wait()
		require.Zero(t, running.Load())
	})
}
