package commands_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestTheSameDeliveryTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	for _, line := range []string{"deny 192.0.2.1", "patch attack=" + id, "contain attack=" + id, "mode 4 block", "undo"} {
		inv := w.asks(ann, line)
		inv.Anyway = true
		first, err := w.do(inv)
		require.NoError(t, err)
		sent := w.changesSent()
		again, err := w.do(inv)
		require.NoError(t, err, line)
		require.Equal(t, len(first.Changes), len(again.Changes), line)
		for i := range first.Changes {
			require.Equal(t, first.Changes[i].ID, again.Changes[i].ID, line)
			require.Equal(t, first.Changes[i].Steps[0].ID, again.Changes[i].Steps[0].ID, line)
		}
		require.Equal(t, sent, w.changesSent(), line)
	}
}

func TestADeliveryNeedsItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inv := w.asks(ann, "deny 192.0.2.1")
	inv.ID = ""
	_, err := w.do(inv)
	require.ErrorContains(t, err, "delivery id")
	require.Zero(t, w.changesSent())
}

// Whatever becomes of the answer, one line makes one entry or rule, and one undo takes it back.
func TestTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"500_applied", "reset_applied", "cut", "status:500", "reset", "html"} {
		for _, times := range []int{1, 2} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.fault("POST /v4/ip_rules", kind, times)
				denied := w.does(ann, "deny 203.0.113.7")
				require.Equal(t, []string{"203.0.113.7/32 [0] 4h0m0s"}, w.entries("black"))
				require.Equal(t, w.listed("black")[0].ID, denied.Steps[0].ID)

				w.fault("POST /v1/objects/hint/create", kind, 1)
				patched := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
				require.Len(t, w.rules("vpatch"), 1)
				require.Equal(t, w.rules("vpatch")[0].ID, patched.Steps[0].ID)

				w.fault("POST /v1/objects/hint/delete", kind, times)
				w.does(ann, "undo "+patched.ID)
				require.Empty(t, w.rules("vpatch"))
				w.fault("DELETE /v4/ip_rules", kind, times)
				w.does(ann, "undo "+denied.ID)
				require.Empty(t, w.entries("black"))
			})
		}
	}
}

func TestTheAnswerToAModeIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "reset_applied", 1)
	w.fault("POST /v1/objects/hint/delete", "500_applied", 2)
	ch := w.anyway(ann, "mode 4 block")
	require.Equal(t, []string{"block"}, w.modes())
	w.fault("POST /v1/objects/hint/create", "500_applied", 1)
	w.fault("POST /v1/objects/hint/delete", "reset_applied", 1)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
}

func TestAPutBackWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7")
	w.fault("POST /v4/ip_rules", "500_applied", 1)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 1h0m0s"}, w.entries("black"))
}

// An equal rule that was there before is never taken for the one that was lost.
func TestAnEqualRuleOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "status:500", 0)
	inv := w.asks(ann, "patch shop.example.com/login type=sqli part=get.q")
	_, err := w.do(inv)
	require.ErrorContains(t, err, "Perhaps done: Patch exactly")
	require.Equal(t, "unknown", w.lastAudit().Outcome)
	require.Empty(t, w.rules("vpatch"))
	w.service.ClearFaults()
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	require.Len(t, w.rules("vpatch"), 1)
	require.Empty(t, res.Changes[0].Fault)
}

// The service can't be read back: nobody knows, and the next who asks finds out.
func TestNobodyKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "reset_applied", 2)
	require.NoError(t, w.service.SetFault(waf.Fault{Endpoint: "POST /v4/ip_rules", Kind: "status:500"}))
	read := 0
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(int) bool { // the lists can't be read any more once the step is written down
			if read++; read == 1 {
				_ = w.service.SetFault(waf.Fault{Endpoint: "GET /v4/ip_rules", Kind: "status:500"})
			}
			return false
		}
	})
	_, err := w.try(ann, "deny 203.0.113.7")
	require.ErrorIs(t, err, commands.ErrService)
	require.ErrorContains(t, err, "Perhaps done: Deny 203.0.113.7")
	require.ErrorContains(t, err, "Ask the same again")
	require.Equal(t, commands.StateBegun, w.ledger.all()[0].State)
	w.service.ClearFaults()
	res, err := w.try(bob, "deny 203.0.113.7")
	require.NoError(t, err)
	require.Len(t, w.entries("black"), 1)
	require.Contains(t, text(res), "by Ann")
	require.Len(t, w.ledger.all(), 1)
}

// A process dies between sending and writing down: whoever gets the delivery again finds what was done.
func TestACrashAfterSending(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"deny 203.0.113.7 203.0.113.8", "patch shop.example.com/login type=sqli part=get.q", "mode 4 block"} {
		for save := 2; save <= 3; save++ {
			w := newWorld(t)
			w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= save } })
			inv := w.asks(ann, line)
			inv.Anyway = true
			_, err := w.do(inv)
			if err != nil {
				require.ErrorIs(t, err, commands.ErrAway)
				require.ErrorContains(t, err, "wafbot looks before it sends")
			}
			w.ledger.set(func(l *ledger) { l.saveFail = nil })
			w.pass(11 * time.Minute) // it was begun in time
			res, err := w.do(inv)
			require.NoError(t, err, line)
			require.Equal(t, "done", res.Outcome)
			w.pass(time.Minute)
			switch line[:4] {
			case "deny":
				require.Len(t, w.entries("black"), 2)
			case "patc":
				require.Len(t, w.rules("vpatch"), 1)
			default:
				require.Equal(t, []string{"block"}, w.modes())
			}
			w.does(ann, "undo "+res.Changes[0].ID)
			require.Empty(t, w.entries("black"))
			require.Empty(t, w.rules("vpatch"))
			require.Equal(t, []string{"monitoring"}, w.modes())
		}
	}
}

// It was written down, never sent, and found long after: then it isn't sent any more.
func TestACrashBeforeSending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "status:500", 0)
	inv := w.asks(ann, "deny 203.0.113.7")
	_, err := w.do(inv)
	require.ErrorContains(t, err, "Perhaps done")
	w.service.ClearFaults()
	w.pass(11 * time.Minute)
	sent := w.changesSent()
	_, err = w.do(inv)
	require.ErrorContains(t, err, "NOT done: Deny 203.0.113.7")
	require.ErrorContains(t, err, "over 10 min ago")
	require.Equal(t, sent, w.changesSent())
	w.does(ann, "deny 203.0.113.7")
	require.Equal(t, []string{"203.0.113.7/32 [0] 4h0m0s"}, w.entries("black"))
}

// The undo of a change of unknown outcome takes back what there is.
func TestUndoLooksAtWhatWasSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
	_, err := w.try(ann, "patch shop.example.com/login type=sqli part=get.q for=1h")
	require.ErrorIs(t, err, commands.ErrAway)
	w.ledger.set(func(l *ledger) { l.saveFail = nil })
	ch := w.ledger.all()[0]
	require.Equal(t, commands.StateBegun, ch.State)
	require.Equal(t, w.clock().Add(time.Hour), ch.DueAt(), "even then it has an end")
	w.does(bob, "undo "+ch.ID)
	require.Empty(t, w.rules("vpatch"))
}

func TestAskedTooLongAgo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inv := w.asks(ann, "deny 203.0.113.7")
	w.pass(10*time.Minute + time.Second)
	_, err := w.do(inv)
	require.ErrorIs(t, err, commands.ErrGuarded)
	require.ErrorContains(t, err, "that was asked at 2026-11-20 03:00 UTC, over 10 min ago: nothing was done")
	require.Zero(t, w.changesSent())
	inv = w.asks(ann, "deny 203.0.113.7")
	w.pass(10 * time.Minute)
	_, err = w.do(inv)
	require.NoError(t, err)
}

func TestTwoPeopleAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var wg sync.WaitGroup
	results := make([]commands.Result, 8)
	for i := range results {
		inv := w.asks([]commands.Actor{ann, bob}[i%2], "deny 203.0.113.7")
		wg.Go(func() {
			var err error
			results[i], err = w.do(inv)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, w.entries("black"), 1)
	require.Equal(t, 1, w.changesSent())
	done := w.ledger.all()
	require.Len(t, done, 1)
	made := 0
	for _, res := range results {
		made += len(res.Changes)
		if len(res.Changes) == 0 {
			require.Contains(t, text(res), "done already by "+done[0].Actor.Name)
		}
	}
	require.Equal(t, 1, made)
}

// The lock is lost, or the caller gone, while nobody knows what came of it.
func TestTheContextEndsInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) { c.ReadBack = [2]time.Duration{time.Hour, time.Hour} })
	ctx, cancel := context.WithCancel(t.Context())
	w.fault("POST /v1/objects/hint/create", "reset", 0)
	inv := w.asks(ann, "patch shop.example.com/login type=sqli part=get.q")
	done := make(chan error, 1)
	go func() { _, err := w.Do(ctx, inv); done <- err }()
	for creating := false; !creating; {
		changed := w.service.Watch()
		for _, r := range w.service.Requests("") {
			creating = creating || r.Path == "/v1/objects/hint/create"
		}
		if !creating {
			select {
			case <-changed:
			case <-time.After(time.Millisecond): // requests alone are no change to the service
			}
		}
	}
	cancel()
	err := <-done
	require.ErrorContains(t, err, "Perhaps done")
	require.Equal(t, commands.StateBegun, w.ledger.all()[0].State, "written down although the caller had gone")
}
