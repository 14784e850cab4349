package commands_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
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

// A request ages by the clock that the replicas share; what it makes begins and ends by the service's.
func TestAskedByAnotherClockThanTheServices(t *testing.T) {
	t.Parallel()
	for _, shared := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		w := newWorld(t)
		w.shared = shared
		inv := w.asks(ann, "deny 203.0.113.7 for=1h")
		inv.At = w.Now().Add(-10 * time.Minute)
		res, err := w.do(inv)
		require.NoError(t, err, shared)
		require.Equal(t, w.clock(), res.Changes[0].At)
		require.Equal(t, w.clock().Add(time.Hour), res.Changes[0].Until)
		inv = w.asks(ann, "deny 203.0.113.8")
		inv.At = w.Now().Add(-10*time.Minute - time.Second)
		_, err = w.do(inv)
		require.ErrorContains(t, err, "over 10 min ago: nothing was done", shared)
	}
}

// ticking are clocks that go on with each look, and whose service says another time from some look on.
type ticking struct {
	commands.Clocks
	looks atomic.Int64
	from  int64
	ahead time.Duration
}

func (k *ticking) Now() time.Time {
	return k.Clocks.Now().Add(time.Duration(k.looks.Add(1)) * time.Millisecond)
}

func (k *ticking) ServiceNow(account string) time.Time {
	n := k.looks.Add(1)
	now := k.Clocks.ServiceNow(account).Add(time.Duration(n) * time.Millisecond)
	if n >= k.from {
		return now.Add(k.ahead)
	}
	return now
}

// What is read since some time is read once, although time passes; also where the service's first answer says that it
// is another time.
func TestTimePassesWhileACallIsRead(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"status", "status account=acme", "handover to=@me --all", "deny 203.0.113.7 for=1h"} {
		for from := range int64(20) {
			w := newWorld(t, func(c *commands.Config) { c.Clocks = &ticking{Clocks: c.Clocks, from: from, ahead: 3 * time.Hour} })
			_, err := w.do(w.asks(ann, line))
			require.NoError(t, err, "%s, from %d", line, from)
		}
	}
}

func TestAskedTooLongAgo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inv := w.asks(ann, "deny 203.0.113.7")
	w.pass(10*time.Minute + time.Second)
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrGuarded)
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
	results := make([]call.Result, 8)
	for i := range results {
		inv := w.asks([]record.Actor{ann, bob}[i%2], "deny 203.0.113.7")
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
			require.Contains(t, textOf(res), " by "+done[0].Actor.Name)
		}
	}
	require.Equal(t, 1, made)
}

// canceller ends a context when something is logged.
type canceller func()

func (c canceller) Write(p []byte) (int, error) { c(); return len(p), nil }

// The lock is lost, or the caller gone, while the outcome is unknown.
func TestTheContextEndsInBetween(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := newWorld(t, func(c *commands.Config) {
		c.Log = slog.New(slog.NewTextHandler(canceller(cancel), nil)) // the first line says that the outcome is unknown
	})
	w.fault("POST /v1/objects/hint/create", "reset", 0)
	_, err := w.Do(ctx, w.asks(ann, "patch shop.example.com/login type=sqli part=get.q"))
	require.ErrorContains(t, err, "Failed, or perhaps done")
	require.Equal(t, record.StateBegun, w.ledger.all()[0].State, "written down although the caller had gone")
}

func TestADeliveryComesAgainAfterItsUndo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inv := w.asks(ann, "deny 203.0.113.7")
	res, err := w.do(inv)
	require.NoError(t, err)
	w.does(bob, "undo "+res.Changes[0].ID)
	_, err = w.do(inv)
	require.ErrorIs(t, err, refusal.ErrNothing)
	require.ErrorContains(t, err, "undone already by Bob")
	require.Empty(t, w.entries("black"))
}

func TestChangesAreNotifiedWhenWrittenDown(t *testing.T) {
	t.Parallel()
	watch := &notified{}
	w := newWorld(t, func(c *commands.Config) { c.Changed = watch.Changed })
	ch := w.does(ann, "deny 203.0.113.7")
	undone := w.does(ann, "undo")
	w.fault("POST /v4/ip_rules", "status:403", 0)
	_, err := w.try(ann, "deny 203.0.113.8")
	require.ErrorIs(t, err, refusal.ErrService)
	failed := w.ledger.all()[0]
	for _, c := range w.ledger.all() {
		if c.State == record.StateFailed {
			failed = c
		}
	}
	require.Equal(t, []string{ch.ID + ":done", undone.ID + ":done", w.notified.of(record.PermissionLost)[0].ID, failed.ID + ":failed"}, w.notified.ids())
	require.Equal(t, w.notified.events, w.ledger.events(), "each is saved with its change")
	require.Equal(t, 3, watch.changed)
}

// The same button, clicked again an hour later: one effect, and its end stays where it is.
func TestTheSameAskedAgainWhileItHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.does(ann, "deny 203.0.113.7 for=4h")
	w.pass(time.Hour)
	res, err := w.try(bob, "deny 203.0.113.7 for=4h reason=again")
	require.NoError(t, err)
	require.Equal(t, "nothing", res.Outcome)
	require.Contains(t, textOf(res), "done already by Ann")
	require.Contains(t, textOf(res), "extend "+first.ID+" for=… extends it")
	require.Equal(t, []string{"203.0.113.7/32 [0] 3h0m0s"}, w.entries("black"))

	longer := w.does(bob, "deny 203.0.113.7 for=8h")
	require.Equal(t, []string{"203.0.113.7/32 [0] 8h0m0s"}, w.entries("black"), "another line is another effect")
	w.does(bob, "undo "+longer.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 3h0m0s"}, w.entries("black"))
	w.does(bob, "remove 203.0.113.7")
	w.pass(2 * time.Minute)
	w.does(bob, "deny 203.0.113.7 for=4h")
	require.Equal(t, []string{"203.0.113.7/32 [0] 4h0m0s"}, w.entries("black"), "what is gone can be asked again")
}
