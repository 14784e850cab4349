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
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

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
