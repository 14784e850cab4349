package store_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

func TestABadAddressIsNoStore(t *testing.T) {
	t.Parallel()
	_, err := store.Open(store.Config{Address: address.Options{URL: "redis://:hunter2@127.0.0.1:6379/zero"}})
	require.ErrorContains(t, err, "redis.url")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestPingFailsUnlessRedisTakesWrites(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		require.NoError(t, s.Ping(t.Context()))
		if w.mini != nil {
			w.mini.SetError("READONLY You can't write against a read only replica.")
		} else {
			require.NoError(t, w.rdb.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
		}
		require.ErrorContains(t, s.Ping(t.Context()), "write to redis")
	})
}

// neverSent decides what the bot answers: whether what they clicked can have been recorded.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func TestRedisThatRefuses(t *testing.T) {
	t.Parallel()
	var dialled atomic.Int32
	s := opened(t, store.OpenDialling(store.Config{}, func(context.Context, string, string) (net.Conn, error) {
		dialled.Add(1)
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}))
	_, _, err := s.Inbox.Accept(t.Context(), []byte("work"), lane("acme:U1"), "1")
	require.True(t, neverSent(err), "%v", err)
	_, _, err = s.Ledger.Begin(t.Context(), "acme", "", false)
	require.True(t, neverSent(err), "%v", err)
	require.LessOrEqual(t, dialled.Load(), int32(4), "at most another one in the background: none is tried again")
}

func TestRedisThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, store.OpenDialling(store.Config{}, func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe() // no server answers
			t.Cleanup(func() { _ = far.Close() })
			return near, nil
		}))
		begun := time.Now()
		_, _, err := s.Inbox.Accept(t.Context(), []byte("work"), lane("acme:U1"), "1")
		require.Error(t, err)
		require.LessOrEqual(t, time.Since(begun), 2*time.Second)
	})
}

func TestRedisThatHangsLater(t *testing.T) {
	t.Parallel()
	for name, filters := range map[string][2]proxytest.Filter{"before it reads": {proxytest.Drop, nil}, "before it answers": {nil, proxytest.Drop}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				net := newDialled(t).newWire(t)
				s := net.open(t)
				require.NoError(t, s.Ping(t.Context()))
				net.SetFilters(filters[0], filters[1])
				begun := time.Now()
				_, _, err := s.Inbox.Accept(t.Context(), []byte("work"), lane("acme:U1"), "1")
				require.Error(t, err)
				require.False(t, neverSent(err), "%v", err)
				require.LessOrEqual(t, time.Since(begun), 2*time.Second)
			})
		})
	}
}

// Redis takes a click and dies before it answers: no user may hear that nothing was recorded.
func TestWhatWasSentIsNeverCalledUnsent(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := w.newWire(t)
		s := net.open(t)
		accept(t, w.open(t), "1") // the script is known from here on
		eventually(t, "connect", func() error { return s.Ping(t.Context()) })
		net.SetFilters(nil, func([]byte) ([]byte, bool) {
			net.Refuse()
			return nil, false
		})
		_, _, err := s.Inbox.Accept(t.Context(), []byte("second"), lane("acme:U2"), "2")
		require.Error(t, err)
		require.False(t, neverSent(err), "%v", err)
		require.Len(t, w.inStream(t), 2)
	})
}

// failure is the error of a call that returns a value, too.
func failure[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

func TestEveryMethodFailsWhenRedisIsAway(t *testing.T) {
	t.Parallel()
	s, ctx := openURL(t, "redis://"+freeAddress(t)), t.Context()
	for name, err := range map[string]error{
		"Load":        failure(s.Attacks.Load(ctx, "acme")),
		"Notified":    failure(s.Outbox.Notified(ctx, event("n", "x"), "C1", "1.1", true)),
		"Trying":      failure(s.Outbox.BeginNotify(ctx, "acme", "n", noon)),
		"First":       failure(s.Inbox.First(ctx, "U1", "1")),
		"Card":        failure(s.Cards.Card(ctx, "acme", "a")),
		"CardsOf":     failure(s.Cards.CardsOf(ctx, "acme", "a")),
		"Shown":       third(s.Attacks.AttackState(ctx, "acme", "a")),
		"FindAttacks": failure(s.Attacks.FindAttacks(ctx, "acme", "a")),
		"KnownAttack": third(s.Attacks.KnownAttack(ctx, "acme", "a00000000")),
		"MarkStale":   s.Cards.MarkStale(ctx, "acme", "a", record.UrgentState),
		"ToRedraw":    failure(s.Cards.Stale(ctx, "acme")),
		"Redrawn":     s.Cards.Redrawn(ctx, "acme", "a", record.RedrawMark{ID: "1"}),
		"Untold":      failure(s.Outbox.Waiting(ctx, "acme")),
		"Restore":     beginWith(ctx, s, "acme", store.Rebuilt{Epoch: "1 e"}),
		"Page":        failure(s.Triage.Page(ctx, "acme", "a")),
		"Drill":       failure(s.Triage.Drill(ctx, "acme")),
		"Hear":        s.Replicas.Hear(ctx),
		"Pages":       failure(s.Triage.Pages(ctx, "acme")),
		"Epoch":       failure(s.Ledger.Epoch(ctx, "acme")),
		"Changes":     failure(s.Ledger.Changes(ctx, "acme")),
		"DueChanges":  failure(s.Ledger.DueChanges(ctx, "acme", noon)),
		"Append":      failure(s.Audit.Append(ctx, record.AuditEntry{Account: "acme"})),
		"Entries":     failure(s.Audit.Entries(ctx, "acme", noon)),
		"Evidence":    third(s.Attacks.Evidence(ctx, "acme", "a")),
		"Blinds":      failure(s.Attacks.Outages(ctx, "acme", noon)),
		"PostSlot":    failure(s.Slack.PostSlot(ctx, "C1", 1, 1, 0)),
		"EditSlot":    failure(s.Slack.EditSlot(ctx, 40, record.EditTurn{Of: "acme"})),
	} {
		require.True(t, neverSent(err), name)
	}
}
