package commands_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// slowService takes its time to carry a change of the lists out.
type slowService struct {
	http.Handler
	takes time.Duration
}

func (s slowService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v4/ip_rules" && r.Method == http.MethodPost {
		time.Sleep(s.takes)
	}
	s.Handler.ServeHTTP(w, r)
}

// carriedOutBy is a context of what a replica carries out.
func carriedOutBy(t *testing.T, r *replica) context.Context {
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	r.end = end
	return context.WithValue(ctx, replicaKey{}, r)
}

// Five clicks on five targets are carried out side by side, however long the service takes for each, and so are five addresses of one line.
func TestTargetsAreChangedSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := bubbleBefore(t, func(h http.Handler) http.Handler { return slowService{h, 5 * time.Second} })
		began := time.Now()
		var g sync.WaitGroup
		for i := range 5 {
			inv := w.asks([]record.Actor{ann, bob}[i%2], "deny 203.0.113."+itoa(int64(i+1)))
			g.Go(func() {
				_, err := w.Do(t.Context(), inv)
				require.NoError(t, err)
			})
		}
		g.Wait()
		require.Less(t, time.Since(began), 7*time.Second)
		began = time.Now()
		w.does(ann, "deny 198.51.100.1 198.51.100.2 198.51.100.3 198.51.100.4 198.51.100.5")
		require.Less(t, time.Since(began), 7*time.Second)
		require.Len(t, w.denied(), 10)
	})
}

// While the outcome of a denial isn't known, other targets are changed at once; who touches the same waits for it.
func TestADenialInDoubtDelaysNoOtherTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		w.fault("POST /v4/ip_rules", "status:500", 0)
		var g sync.WaitGroup
		var over atomic.Int64 // when the denial was done
		asked := w.asks(ann, "deny 203.0.113.7")
		g.Go(func() {
			_, err := w.Do(t.Context(), asked)
			require.NoError(t, err)
			over.Store(time.Now().UnixNano())
		})
		time.Sleep(time.Second)
		began := time.Now()
		w.does(bob, "patch shop.example.com/login type=sqli part=get.q")
		w.anyway(root, "mode 4 block")
		require.Less(t, time.Since(began), 100*time.Millisecond)
		again := w.asks(bob, "deny 203.0.113.0/29 for=1h")
		g.Go(func() {
			_, err := w.Do(t.Context(), again)
			require.NoError(t, err)
			require.NotZero(t, over.Load(), "it overlaps with what is in doubt")
		})
		time.Sleep(10 * time.Second)
		require.Zero(t, over.Load())
		w.service.ClearFaults()
		well := time.Now()
		g.Wait()
		require.Less(t, time.Unix(0, over.Load()).Sub(well), 3*time.Second, "it is sent again soon after the service is well")
		require.Equal(t, 2, len(w.listed("black")))
	})
}

// Of a denial and the protection of its source one goes by the other, whichever is first.
func TestProtectAndDenyAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := bubbleBefore(t, func(h http.Handler) http.Handler { return slowService{h, 5 * time.Second} })
		var g sync.WaitGroup
		deny := w.asks(ann, "deny 203.0.113.7")
		g.Go(func() {
			_, err := w.Do(t.Context(), deny)
			require.NoError(t, err)
		})
		time.Sleep(time.Second) // it is on its way
		res, err := w.try(root, "protect 203.0.113.0/28 reason=office")
		require.NoError(t, err)
		require.Contains(t, textOf(res), "203.0.113.7", "it says what of it is denied")
		g.Wait()
		w.refuses(ann, "deny 203.0.113.8", refusal.ErrGuarded, "protected by Root")
		require.Equal(t, []string{"203.0.113.7"}, w.denied())
	})
}

// A person who undoes at once what is still on its way undoes that, and the turn passes as soon as it is claimed.
func TestAnUndoOfWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := bubbleBefore(t, func(h http.Handler) http.Handler { return slowService{h, 5 * time.Second} })
		var g sync.WaitGroup
		deny, passed := w.asks(ann, "deny 203.0.113.7"), make(chan time.Time, 1)
		deny.Begun = sync.OnceFunc(func() { passed <- time.Now() })
		began := time.Now()
		g.Go(func() {
			_, err := w.Do(t.Context(), deny)
			require.NoError(t, err)
		})
		require.Less(t, (<-passed).Sub(began), time.Second)
		undone := w.does(ann, "undo")
		g.Wait()
		require.Equal(t, w.ledger.change(undone.Undoes).Line.Words, []string{"203.0.113.7"})
		require.Empty(t, w.entries("black"))
	})
}

// A line that was begun by a replica that died passes its turn before it waits for that one's claim to run out.
func TestATurnThatADeadReplicaHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		inv := w.asks(ann, "deny 203.0.113.7")
		dead := &replica{calls: 4} // its request
		_, err := w.Do(carriedOutBy(t, dead), inv)
		require.Error(t, err)
		again, passed := inv, make(chan time.Time, 1)
		again.Begun = sync.OnceFunc(func() { passed <- time.Now() })
		began := time.Now()
		res, err := w.do(again)
		require.NoError(t, err)
		require.Equal(t, "done", res.Outcome)
		require.Less(t, (<-passed).Sub(began), time.Second)
		require.GreaterOrEqual(t, time.Since(began), claimLasts-time.Second)
		require.Len(t, w.denied(), 1)
	})
}

// What nobody carries out any more, and nobody asks for again, the clock settles; the person is told by the card.
func TestTheClockSettlesWhatWasCutShort(t *testing.T) {
	t.Parallel()
	for sent, state := range map[bool]record.State{true: record.StateDone, false: record.StateFailed} {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t)
			_, err := w.Do(carriedOutBy(t, &replica{calls: 4, after: sent}), w.asks(ann, "deny 203.0.113.7"))
			require.Error(t, err)
			require.Equal(t, record.StateBegun, w.ledger.only().State)
			runDue(t, w, 9*time.Minute)
			require.Equal(t, record.StateBegun, w.ledger.only().State, "its own delivery may come again")
			runDue(t, w, 2*time.Minute)
			require.Equal(t, state, w.ledger.only().State)
			require.Equal(t, map[bool]int{true: 1}[sent], len(w.denied()))
			require.Equal(t, string(state), w.lastAudit().Outcome)
		})
	}
}
