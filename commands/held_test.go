package commands_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// hold is a call to Redis or to the service before or after which its caller is held up, while others go on.
type hold struct {
	left atomic.Int64 // moments until then, two for each call
	do   func()
}

type holdKey struct{}

// moment is one right before or after a call.
func moment(ctx context.Context) {
	if h, _ := ctx.Value(holdKey{}).(*hold); h != nil && h.left.Add(-1) == 0 {
		h.do()
	}
}

// loseClaims has all claims run out.
func (w *world) loseClaims() {
	for _, key := range w.redis.Keys() {
		if strings.HasPrefix(key, claimKey("acme", "")) {
			w.redis.Del(key)
		}
	}
}

// atOnce is what two ask at the same moment.
type atOnce struct {
	before func(w *world) (words []any) // what was done before, and the words of the lines
	asks   [2]record.Actor
	line   string
	again  bool                  // the second is the first one's delivery, which came again
	sent   int                   // how often something is sent that changes the service
	stands func(w *world) string // what stands there in the end
	right  string
	said   string // is said to both
}

// play has two ask while the first is held up at the n-th moment. over: it has fewer.
func (a atOnce) play(t *testing.T, n int64, stopped bool) (over bool) {
	w := newBubble(t, withoutApproval())
	w.ledger.bare = true
	w.members.add(root2)
	line := a.line
	if a.before != nil {
		line = fmt.Sprintf(a.line, a.before(w)...)
	}
	before := w.changesSent()
	h := &hold{do: func() {
		time.Sleep(claimLasts - time.Second)
		if stopped { // nobody renews what it claimed
			w.loseClaims()
			time.Sleep(2 * time.Second)
		}
	}}
	h.left.Store(n)
	first := w.asks(a.asks[0], line)
	second := first
	if !a.again {
		second = w.asks(a.asks[1], line)
	}
	var both sync.WaitGroup
	for i, inv := range []call.Invocation{first, second} {
		inv.Anyway = true
		ctx := t.Context()
		if i == 0 {
			ctx = context.WithValue(ctx, holdKey{}, h)
		}
		both.Go(func() {
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			res, err := w.Do(ctx, inv)
			said := textOf(res) + fmt.Sprint(err)
			if !stopped || i > 0 {
				require.Contains(t, said, a.said, "%d. person, the first held up at %d", i+1, n)
				require.NotContains(t, said, "Failed", "%d. person, the first held up at %d", i+1, n)
			}
		})
	}
	both.Wait()
	if !stopped {
		require.Equal(t, a.sent, w.changesSent()-before, "held up at %d", n)
	}
	w.service.CatchUp()
	require.Equal(t, a.right, a.stands(w), "held up at %d", n)
	return h.left.Load() > 0
}

// Of what two ask at the same moment each thing is done once, and both are told that it is done, wherever the first is
// held up while the second goes on: a goroutine keeps what it claimed, a stopped process loses it.
func TestWhereverOneIsHeldUp(t *testing.T) {
	t.Parallel()
	denied := func(w *world) string {
		var sources []string
		for _, e := range w.listed("black") {
			sources = append(sources, e.Subnet+strings.Join(e.SourceValues, " "))
		}
		slices.Sort(sources)
		return strings.Join(sources, " ")
	}
	rules := func(w *world) string { return fmt.Sprint(len(w.rules("vpatch")), w.modes()) }
	asked := func(who record.Actor, line string) func(*world) []any {
		return func(w *world) []any { return []any{w.waits(who, line).ID} }
	}
	const patch = "patch shop.example.com/login type=sqli part=get.q"
	for name, a := range map[string]atOnce{
		"an approval": {
			before: asked(ann, "deny country:FR"), asks: [2]record.Actor{bob, root}, line: "approve %s",
			sent: 1, stands: denied, right: "FR", said: "approved by ",
		},
		"an approval of a mode": {
			before: asked(root, "mode 4 off"), asks: [2]record.Actor{root2, root2}, line: "approve %s",
			sent: 2, stands: rules, right: "0 [off]", said: "approved by ",
		},
		"a denial": {
			asks: [2]record.Actor{ann, bob}, line: "deny 203.0.113.7",
			sent: 1, stands: denied, right: "203.0.113.7/32", said: "Deny 203.0.113.7",
		},
		"a denial, delivered again": {
			asks: [2]record.Actor{ann}, again: true, line: "deny 203.0.113.7 203.0.113.8",
			sent: 2, stands: denied, right: "203.0.113.7/32 203.0.113.8/32", said: "Deny 203.0.113.7",
		},
		"a patch": {
			asks: [2]record.Actor{ann, ann}, line: patch, sent: 1, stands: rules, right: "1 [monitoring]", said: "Patch exactly",
		},
		"a patch, delivered again": {
			asks: [2]record.Actor{ann}, again: true, line: patch,
			sent: 1, stands: rules, right: "1 [monitoring]", said: "Patch exactly",
		},
	} {
		for _, stopped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stopped %t", name, stopped), func(t *testing.T) {
				t.Parallel()
				over := false
				for n := int64(1); !over; n++ {
					synctest.Test(t, func(t *testing.T) { over = a.play(t, n, stopped) })
				}
			})
		}
	}
}

// Who settles what another left, and loses its claim meanwhile, plans again: what ended the look is no answer of Redis
// or of the service.
func TestWhoSettlesWhatWasLeftLosesItsClaim(t *testing.T) {
	t.Parallel()
	over := false
	for n := int64(1); !over; n++ {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t)
			left := w.does(ann, "deny 203.0.113.7 for=1h")
			left.State, left.Steps[0].Done = record.StateBegun, false
			w.ledger.put(left)
			h := &hold{do: func() {
				w.loseClaims()
				time.Sleep(claimLasts)
			}}
			h.left.Store(n)
			ctx := context.WithValue(t.Context(), holdKey{}, h)
			res, err := w.Do(ctx, w.asks(bob, "deny 203.0.113.7 for=2h"))
			require.NoError(t, err, "lost at %d", n)
			require.Equal(t, "done", res.Outcome, "lost at %d", n)
			w.service.CatchUp()
			require.Len(t, w.entries("black"), 1, "lost at %d", n)
			over = h.left.Load() > 0
		})
	}
}
