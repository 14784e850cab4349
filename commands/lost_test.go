package commands_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

// A process is paused in the middle of a change, loses its lock, and wakes up when another one has gone on with the same request.
func TestALockLostInTheMiddleOfAChange(t *testing.T) {
	t.Parallel()
	for line, save := range map[string]int{"deny 203.0.113.7": 2, "patch shop.example.com/login type=sqli part=get.q": 2, "mode 4 block": 3, "ack attack=%s": 1} {
		for at := 1; at <= save; at++ {
			t.Run(fmt.Sprint(line, " at ", at), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				if line == "ack attack=%s" {
					line = fmt.Sprintf(line, w.attackOn("/login"))
				}
				inv := w.asks(ann, line)
				inv.Anyway = true
				lost := false
				w.ledger.lose(at, func() {
					lost = true
					_, err := w.do(inv)
					require.NoError(t, err, "the successor")
				})
				res, err := w.do(inv)
				require.NoError(t, err)
				require.True(t, lost)
				require.NotEmpty(t, res.Lines)
				require.LessOrEqual(t, len(w.entries("black"))+len(w.rules("vpatch")), 1)
				require.LessOrEqual(t, len(w.modes()), 1)
				require.LessOrEqual(t, len(w.ledger.all()), 1)
				for _, ch := range w.ledger.all() {
					require.Equal(t, record.StateDone, ch.State)
					w.does(ann, "undo "+ch.ID)
				}
				w.requireAsAtFirst()
			})
		}
	}
}

// The successor looked before the paused one's rule could be seen, and made one of its own.
func TestARuleMadeTwiceIsDeletedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inv := w.asks(ann, "patch shop.example.com/login type=sqli part=get.q")
	w.ledger.lose(2, func() {
		// What the paused one sent is as good as not there when its successor looks, and there again afterwards.
		made := w.rules("vpatch")
		require.Len(t, made, 1)
		w.ledger.set(func(l *ledger) {
			ch := l.only()
			ch.Steps[0].Equal = append(ch.Steps[0].Equal, made[0].ID)
			l.put(ch)
		})
		_, err := w.do(inv)
		require.NoError(t, err)
		require.Len(t, w.rules("vpatch"), 2)
	})
	_, err := w.do(inv)
	require.NoError(t, err)
	require.Len(t, w.rules("vpatch"), 1)
	require.Equal(t, w.ledger.all()[0].Steps[0].ID, w.rules("vpatch")[0].ID, "the one that is written down stays")
	require.Contains(t, w.lastAudit().Why+w.out.String(), "it was made twice")
}

// Redis was emptied while a change was being made: who made it still knows all of it.
func TestAChangeThatRedisLostIsSavedAgain(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"deny 203.0.113.7", "patch shop.example.com/login type=sqli part=get.q", "mode 4 block"} {
		w := newWorld(t)
		inv := w.asks(ann, line)
		inv.Anyway = true
		w.ledger.lose(2, w.ledger.forget)
		res, err := w.do(inv)
		require.NoError(t, err, line)
		require.Equal(t, "done", res.Outcome)
		require.Len(t, w.audit.all(), 1)
		ch := w.ledger.all()[0]
		require.Equal(t, record.StateDone, ch.State)
		w.does(ann, "undo "+ch.ID)
		w.requireAsAtFirst()
	}
}

// It is saved when Redis is read back, and if that takes longer than the call may, the audit log's output has it.
func TestAChangeThatRedisLostWaitsForItsRebuild(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{4 * time.Minute, 6 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t)
			w.ledger.lose(2, func() {
				w.ledger.set(func(l *ledger) {
					l.forget()
					l.beginFail = true
				})
			})
			time.AfterFunc(back, func() { w.ledger.set(func(l *ledger) { l.beginFail = false }) })
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			_, err := w.Do(ctx, w.asks(ann, "deny 203.0.113.7"))
			require.Contains(t, w.out.String(), `"outcome":"done"`)
			if back < 5*time.Minute {
				require.NoError(t, err)
				require.Equal(t, record.StateDone, w.ledger.only().State)
				return
			}
			require.ErrorContains(t, err, "isn't written down")
			require.Empty(t, w.ledger.all())
		})
	}
}

// The claim is lost after the first half of a change; what the second half would do, another user does meanwhile.
func TestAClaimLostBetweenTwoHalves(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 5; at++ {
		w := newWorld(t)
		id := w.attackOn("/login")
		w.ledger.lose(at, func() { _, _ = w.try(bob, "patch attack="+id) })
		if _, err := w.do(w.asks(ann, "contain attack="+id)); err != nil { // Bob's patch stands, and hers was cut short
			require.ErrorContains(t, err, "Failed: Patch", "at save %d", at)
		}
		require.Len(t, w.rules("vpatch"), 1, "at save %d", at)
		require.Len(t, w.entries("black"), 1, "at save %d", at)
	}
}
