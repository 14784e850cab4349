package commands_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// runDue runs RunDue for a while of the bubble's time, over a service that is reached without a network. It looks 120
// times, but not more than once a second, and each second at the end.
func runDue(t *testing.T, w *world, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	due, end := make(chan struct{}), time.Now().Add(d)
	go func() {
		for ctx.Err() == nil {
			select {
			case due <- struct{}{}:
			case <-ctx.Done():
			}
			select {
			case <-time.After(max(time.Second, min(d/120, time.Until(end)/2))):
			case <-ctx.Done():
			}
		}
	}()
	w.RunDue(ctx, "acme", due)
}

func TestWhatIsTimedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		w.anyway(ann, "mode 4 block for=10m")
		w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=20m")
		runDue(t, w, 10*time.Minute-time.Second)
		require.Equal(t, []string{"block"}, w.modes())
		runDue(t, w, 3*time.Second)
		require.Equal(t, []string{"monitoring"}, w.modes())
		require.Len(t, w.rules("vpatch"), 1)
		runDue(t, w, 10*time.Minute)
		require.Empty(t, w.rules("vpatch"))
		for _, ch := range w.ledger.all() {
			if ch.Undoes == "" {
				require.Equal(t, record.StateUndone, ch.State)
				require.Equal(t, "wafbot", ch.EndedBy.Name)
			} else {
				require.Equal(t, record.ViaClock, ch.Actor.Via)
			}
		}
		sent := w.changesSent()
		runDue(t, w, 10*time.Minute)
		require.Equal(t, sent, w.changesSent())
	})
}

// As long as the service has not said the time, nothing is removed; what is due meanwhile is removed when it has.
func TestWhatIsTimedWaitsUntilTheTimeIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		w.anyway(ann, "mode 4 block for=10m")
		w.setSilent(true)
		time.AfterFunc(time.Hour, func() {
			require.Equal(t, []string{"block"}, w.modes())
			w.setSilent(false)
		})
		runDue(t, w, time.Hour+3*time.Second)
		require.Equal(t, []string{"monitoring"}, w.modes())
	})
}

func TestEndingIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		w.anyway(ann, "mode 4 block for=10m")
		w.fault("POST /v1/objects/hint/create", "status:403", 0)
		runDue(t, w, 10*time.Minute+150*time.Second)
		require.Equal(t, []string{"block"}, w.modes())
		failed := 0
		for _, e := range w.audit.all() {
			if e.Outcome == "failed" {
				failed++
			}
		}
		require.Equal(t, 3, failed, "once a minute")
		w.service.ClearFaults()
		runDue(t, w, 2*time.Minute)
		require.Equal(t, []string{"monitoring"}, w.modes())
	})
}

func TestTheDueListIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		w.anyway(ann, "mode 4 block for=10m")
		w.ledger.set(func(l *ledger) { l.beginFail = true })
		runDue(t, w, 20*time.Minute)
		require.Equal(t, []string{"block"}, w.modes())
		w.ledger.set(func(l *ledger) { l.beginFail = false })
		runDue(t, w, 2*time.Minute)
		require.Equal(t, []string{"monitoring"}, w.modes())
	})
}

// An overlapping switch ends without bringing back what was only set for a time.
func TestOverlappingModesEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ block, safe, between string }{
		"the first ends first":  {"10m", "30m", "safe_blocking"},
		"the second ends first": {"30m", "10m", "block"}, // as before, for the rest of its time
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newBubble(t)
				w.anyway(ann, "mode 4 block for="+c.block)
				w.anyway(root, "mode 4 safe_blocking for="+c.safe)
				runDue(t, w, 20*time.Minute)
				require.Equal(t, []string{c.between}, w.modes())
				runDue(t, w, 20*time.Minute)
				require.Equal(t, []string{"monitoring"}, w.modes())
			})
		})
	}
}

func TestNothingEndsWhereChangesAreNotOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		w.anyway(ann, "mode 4 block for=10m")
		w.cfg.Accounts[0].Policy.Changes = config.ChangesDryRun
		w.Runner = commands.New(w.cfg)
		n := len(w.audit.all())
		runDue(t, w, time.Hour)
		require.Equal(t, []string{"block"}, w.modes())
		require.Len(t, w.audit.all(), n)
		require.Equal(t, 1, strings.Count(w.log.String(), "is not ended"))
	})
}

// A patch whose process died before it could be written down ends like any other.
func TestWhatWasNeverWrittenDownEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
		_, err := w.try(ann, "patch shop.example.com/login type=sqli part=get.q for=10m")
		require.ErrorIs(t, err, refusal.ErrAway)
		w.ledger.set(func(l *ledger) { l.saveFail = nil })
		require.Len(t, w.rules("vpatch"), 1)
		runDue(t, w, 10*time.Minute+2*time.Second)
		require.Empty(t, w.rules("vpatch"))
	})
}

// slowRules is a bubble whose service answers about rules no more, once that is set: each attempt takes 70 seconds and
// fails.
func slowRules(t *testing.T, slow *atomic.Bool) *world {
	t.Helper()
	return bubbleBefore(t, func(service http.Handler) http.Handler {
		return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
			if slow.Load() && strings.HasPrefix(r.URL.Path, "/v1/objects/hint") {
				select {
				case <-time.After(35 * time.Second):
				case <-r.Context().Done():
				}
				panic(http.ErrAbortHandler)
			}
			service.ServeHTTP(answer, r)
		})
	}, renewing(&going{trying: []string{"203.0.113.7"}}, 24*time.Hour), func(c *commands.Config) { c.Accounts[0].Policy.Approval.Timeout = 4 * time.Minute })
}

// More patches are over than are ended at a time, and the service answers about lists alone: a short denial is renewed
// in time, and a request expires.
func TestADueChangeWaitsForNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		w := slowRules(t, &slow)
		for i := range 9 {
			w.does(ann, fmt.Sprintf("patch shop.example.com/login%d type=sqli part=get.q for=10m", i))
		}
		runDue(t, w, 7*time.Minute)
		denied := w.does(ann, "deny 203.0.113.7 for=5m")
		w.waits(ann, "deny country:FR")
		slow.Store(true)
		runDue(t, w, 4*time.Minute+5*time.Second)
		require.Len(t, w.rules("vpatch"), 9)
		require.Equal(t, denied.Until.Add(5*time.Minute), w.ledger.change(denied.ID).Until)
		require.Equal(t, record.RequestExpired, w.request().State)
		slow.Store(false)
		runDue(t, w, 3*time.Second)
		require.Empty(t, w.rules("vpatch"))
	})
}

// An end that fails is tried again a minute after its attempt ended, however long that took.
func TestASlowEndIsNotTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		w := slowRules(t, &slow)
		w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=10m")
		slow.Store(true)
		runDue(t, w, 14*time.Minute)
		failed := 0
		for _, e := range w.audit.all() {
			if e.Outcome == "failed" {
				failed++
			}
		}
		require.Equal(t, 2, failed)
	})
}
