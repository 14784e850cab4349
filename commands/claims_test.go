package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
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
	inBubble(t, func(t *testing.T, w *world) {
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
		res := w.reads(root, "protect 203.0.113.0/28 reason=office")
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
	inBubble(t, func(t *testing.T, w *world) {
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

// claimLasts is how long a dead replica's claim holds.
const claimLasts = 3 * time.Second

// replica is one that carries out a line, until it dies, or is paused for longer than its claims last, at one of its
// calls.
type replica struct {
	mu     sync.Mutex
	calls  int // until then; below zero: never
	pauses bool
	after  bool // it dies, and the call takes effect all the same
	dead   bool
	end    context.CancelFunc
}

type replicaKey struct{}

// replicaOf is the replica that makes a call; nil: one to which nothing happens.
func replicaOf(ctx context.Context) *replica {
	r, _ := ctx.Value(replicaKey{}).(*replica)
	return r
}

// meet is what happens to a call of a replica: lost reports that it has no effect, unanswered that its caller never
// learns of it.
func (r *replica) meet(l *ledger) (lost, unanswered bool) {
	if r == nil {
		return false, false
	}
	r.mu.Lock()
	r.calls--
	now := r.calls == 0
	r.dead = r.dead || now && !r.pauses
	dead := r.dead
	r.mu.Unlock()
	switch {
	case now && r.pauses: // while others renew what it claimed, here nobody does
		time.AfterFunc(claimLasts, func() { l.loseClaims(func(of *replica) bool { return of == r }) })
		time.Sleep(claimLasts + time.Second)
		return false, false
	case now:
		r.end()
		return !r.after, true
	}
	return dead, dead
}

// crowdNet carries replicas' requests to the service.
type crowdNet struct {
	inProcess
	ledger func() *ledger // is made after it
}

func (n crowdNet) RoundTrip(r *http.Request) (*http.Response, error) {
	lost, unanswered := replicaOf(r.Context()).meet(n.ledger())
	if lost || r.Context().Err() != nil && !unanswered {
		return nil, errors.New("connection refused")
	}
	moment(r.Context())
	defer moment(r.Context())
	answer, err := n.inProcess.RoundTrip(r)
	if unanswered {
		return nil, errors.New("connection reset")
	}
	return answer, err
}

// crowdLine is a line that somebody asks for, and what happens to the replica that carries it out first.
type crowdLine struct {
	After  time.Duration // when it is asked
	Who    record.Actor
	Line   string
	Calls  int // of the replica, at which something happens; below zero: nothing does
	Pauses bool
	Effect bool   // that call takes effect
	Fault  string // of the service, from then on, once
}

var crowdLines = rapid.Custom(func(t *rapid.T) crowdLine {
	return crowdLine{
		After: time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond,
		Who:   rapid.SampledFrom([]record.Actor{ann, bob, root}).Draw(t, "who"),
		Line: rapid.SampledFrom([]string{
			"deny 203.0.113.7 for=1h", "deny 203.0.113.7 203.0.113.8 for=2h", "deny 203.0.113.0/24 for=1h", "deny country:FR country:DE", "undo", "undo", "remove 203.0.113.7",
			"remove country:FR", "patch shop.example.com/login type=sqli part=get.q", "mode 4 block for=1h", "protect 203.0.113.0/28 reason=office", "unprotect 203.0.113.0/28",
		}).Draw(t, "line"),
		Calls:  rapid.IntRange(-8, 12).Draw(t, "at call"),
		Pauses: rapid.Bool().Draw(t, "pauses"),
		Effect: rapid.Bool().Draw(t, "takes effect"),
		Fault:  rapid.SampledFrom([]string{"", "", "", "500_applied", "reset_applied", "status:500", "status:403"}).Draw(t, "fault"),
	}
})

// Whoever asks for what at the same time, whatever becomes of the replicas and of the service's answers: what overlaps
// is carried out one after another, and in the end the service has what is stored, each thing once.
func TestACrowd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(crowdLines, 2, 7).Draw(rt, "lines")
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = playCrowd(t, lines) })
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}

func playCrowd(t *testing.T, lines []crowdLine) (wrong []string) {
	w := newBubble(t, withoutApproval(config.ApproveBroad))
	var g sync.WaitGroup
	for _, l := range lines {
		inv := w.asks(l.Who, l.Line)
		inv.Anyway = true
		g.Go(func() { w.carriesOut(inv, l) })
	}
	g.Wait()
	w.service.ClearFaults()
	runDue(t, w, 12*time.Minute) // what nobody asked for again is settled by the clock
	w.service.CatchUp()
	return append(w.ledger.overlapped, w.unlike()...)
}

// carriesOut has a replica carry a line out, and another one after that died.
func (w *world) carriesOut(inv call.Invocation, l crowdLine) {
	time.Sleep(l.After)
	inv.At = w.clock()
	if l.Fault != "" {
		_ = w.service.SetFault(waf.Fault{Kind: l.Fault, Times: 1, Endpoint: map[bool]string{true: "POST /v4/ip_rules"}[strings.HasPrefix(l.Line, "deny")]})
	}
	ctx, end := context.WithCancel(w.t.Context())
	r := &replica{calls: l.Calls, pauses: l.Pauses, after: l.Effect, end: end}
	_, _ = w.Do(context.WithValue(ctx, replicaKey{}, r), inv)
	end()
	if r.dead {
		time.Sleep(claimLasts)
		_, _ = w.Do(w.t.Context(), inv)
	}
}

// unlike is in what the service differs from what the changes say, taken in the order in which they were claimed.
func (w *world) unlike() (wrong []string) {
	all := w.ledger.all()
	slices.SortFunc(all, func(a, b record.Change) int {
		return slices.Index(w.ledger.order, a.ID) - slices.Index(w.ledger.order, b.ID)
	})
	expected := map[string]int{}
	for _, ch := range all {
		if ch.State == record.StateBegun {
			wrong = append(wrong, "begun for ever: "+ch.ID)
		}
		for _, s := range ch.Steps {
			for _, thing := range thingsOf(s) {
				if s.Done {
					expected[thing] = map[bool]int{true: 1}[s.Kind == record.AddEntry || s.Kind == record.CreateRule]
				}
			}
		}
	}
	found := map[string]int{}
	for _, e := range w.listed("black") {
		for _, value := range append(e.SourceValues, e.Subnet) {
			found[value]++
		}
	}
	found["patch"], found["mode"] = len(w.rules("vpatch")), len(w.modes())
	for _, thing := range []string{"203.0.113.7/32", "203.0.113.8/32", "203.0.113.0/24", "FR", "DE", "patch"} {
		if found[thing] != expected[thing] {
			wrong = append(wrong, fmt.Sprintf("%s is there %d times instead of %d", thing, found[thing], expected[thing]))
		}
	}
	refused := slices.ContainsFunc(all, func(ch record.Change) bool {
		return ch.State == record.StateHalf && strings.Contains(ch.Fault, "doesn't allow")
	})
	if found["mode"] > 1 && !refused { // a service that takes the one rule and refuses to delete the other leaves two, which is said
		wrong = append(wrong, fmt.Sprint("modes: ", w.modes()))
	}
	if len(wrong) > 0 {
		for _, ch := range all {
			text, _ := json.Marshal(ch)
			wrong = append(wrong, string(text))
		}
		for _, r := range w.service.Requests("") {
			wrong = append(wrong, fmt.Sprint(r.Time.Format("05.000"), " ", r.Method, " ", r.Path, " ", r.Body, " ", r.Status))
		}
	}
	return wrong
}

// thingsOf is what a step makes or deletes.
func thingsOf(s record.Step) []string {
	switch {
	case s.Rule != nil && s.Rule.Type == apiclient.RuleMode:
		return nil
	case s.Rule != nil:
		return []string{"patch"}
	case s.Entry.Kind == apiclient.KindRange:
		return []string{s.Entry.Subnet.String()}
	}
	return s.Entry.Values
}

// A crowd that was found by chance, so that it stays found.
func TestCrowdsOfBefore(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]crowdLine{
		"a paused denial, and its range": {
			{Who: ann, Line: "deny 203.0.113.7 for=1h", Calls: 3, Pauses: true}, {Who: bob, Line: "deny 203.0.113.0/24 for=1h", Calls: -1}, {After: time.Second, Who: root, Line: "undo", Calls: -1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { require.Empty(t, playCrowd(t, lines)) })
		})
	}
}

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
				over, n := false, int64(1)
				if !full.On() { // each third, beginning with another one in each case
					n += int64(len(name)) % 3
				}
				for ; !over; n += int64(full.Of(3, 1)) {
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
	for n := int64(1); !over; n += int64(full.Of(2, 1)) {
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
