package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// A process dies between sending and writing down: the replica that gets the delivery again finds what was done.
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
				require.ErrorIs(t, err, refusal.ErrAway)
				require.ErrorContains(t, err, "wafbot verifies before it sends")
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
			w.requireAsAtFirst()
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
	require.ErrorContains(t, err, "Failed, or perhaps done")
	w.service.ClearFaults()
	w.pass(11 * time.Minute)
	sent := w.changesSent()
	_, err = w.do(inv)
	require.ErrorContains(t, err, "Failed: Deny 203.0.113.7")
	require.ErrorContains(t, err, "over 10 min ago")
	require.Equal(t, sent, w.changesSent())
	w.does(ann, "deny 203.0.113.7")
	require.Equal(t, []string{"203.0.113.7"}, w.denied())
}

// It is resumed: that its outcome was unknown makes no second event.
func TestWhatIsResumedIsNoNewEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "status:500", 0)
	inv := w.asks(ann, "deny 203.0.113.7 203.0.113.8")
	_, err := w.do(inv)
	require.ErrorContains(t, err, "Failed, or perhaps done")
	require.Equal(t, 1, w.ledger.perhaps)
	w.service.ClearFaults()
	_, err = w.do(inv)
	require.NoError(t, err)
	require.Equal(t, 1, w.ledger.perhaps)
}

// Another user's line long after has nothing to do with it.
func TestAChangeBegunLongAgoIsNotResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "status:500", 0)
	_, err := w.try(ann, "deny 203.0.113.7")
	require.ErrorContains(t, err, "Failed, or perhaps done")
	w.service.ClearFaults()
	w.pass(5 * time.Hour)
	require.Equal(t, "Bob", w.does(bob, "deny 203.0.113.7").Actor.Name)
	require.Equal(t, []string{"203.0.113.7"}, w.denied())
}

func TestACrashAmidContain(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		w := newWorld(t)
		inv := w.asks(ann, "contain attack="+w.attackOn("/login"))
		w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
		_, err := w.do(inv)
		require.ErrorIs(t, err, refusal.ErrAway)
		require.Empty(t, w.rules("vpatch"))
		w.ledger.set(func(l *ledger) { l.saveFail = nil })
		if late {
			w.pass(11 * time.Minute)
		}
		res, err := w.do(inv)
		require.Len(t, w.entries("black"), 1)
		if late {
			require.ErrorContains(t, err, "Failed in part. Deny 203.0.113.7")
			require.ErrorContains(t, err, "over 10 min ago, and nothing of it was done")
			require.Empty(t, w.rules("vpatch"))
		} else {
			require.NoError(t, err)
			require.Len(t, res.Changes, 2)
			require.Len(t, w.rules("vpatch"), 1)
		}
	}
}

// The undo of a change of unknown outcome undoes what there is.
func TestUndoVerifiesWhatWasSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
	_, err := w.try(ann, "patch shop.example.com/login type=sqli part=get.q for=1h")
	require.ErrorIs(t, err, refusal.ErrAway)
	w.ledger.set(func(l *ledger) { l.saveFail = nil })
	ch := w.ledger.all()[0]
	require.Equal(t, record.StateBegun, ch.State)
	require.Equal(t, w.clock().Add(time.Hour), ch.DueAt(), "even then it has an end")
	w.does(bob, "undo "+ch.ID) // as soon as it is listed
	require.Empty(t, w.rules("vpatch"))
}

// The replica that gets the delivery again can't know who asked: nothing is refused that was begun. It is gone on with once Slack says it.
func TestACrashWhileSlackDoesNotSayWhoAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	change := w.does(ann, "deny 203.0.113.7").ID
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
	undo := w.asks(ann, "undo "+change)
	_, err := w.do(undo)
	require.ErrorIs(t, err, refusal.ErrAway)
	w.ledger.set(func(l *ledger) { l.saveFail = nil })

	w.members.setFail()
	audited := w.lastAudit()
	_, err = w.do(undo)
	require.ErrorIs(t, err, refusal.ErrAway)
	require.ErrorContains(t, err, "this was begun")
	require.Equal(t, audited, w.lastAudit(), "it is no refusal")
	w.refuses(ann, "undo "+change, refusal.ErrDenied, "Slack doesn't say who you are")

	w.members.set(func(m *members) { m.broken = false })
	res, err := w.do(undo)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	require.Empty(t, w.denied())
}
