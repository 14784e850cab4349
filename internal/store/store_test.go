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
		_, _, err := s.Inbox.Accept(t.Context(), []byte("first"), lane("acme:U1"), "1") // the script is known from here on
		require.NoError(t, err)
		net.SetFilters(nil, func([]byte) ([]byte, bool) {
			net.Refuse()
			return nil, false
		})
		_, _, err = s.Inbox.Accept(t.Context(), []byte("second"), lane("acme:U2"), "2")
		require.Error(t, err)
		require.False(t, neverSent(err), "%v", err)
		require.Len(t, w.inStream(t), 2)
	})
}

func TestEveryMethodFailsWhenRedisIsAway(t *testing.T) {
	t.Parallel()
	unused := freeAddress(t)
	for name, call := range map[string]func(ctx context.Context, s *store.Store) error{
		"Load": func(ctx context.Context, s *store.Store) error { _, err := s.Attacks.Load(ctx, "acme"); return err },
		"Notified": func(ctx context.Context, s *store.Store) error {
			_, err := s.Outbox.Notified(ctx, event("n", "x"), "C1", "1.1", true)
			return err
		},
		"Trying": func(ctx context.Context, s *store.Store) error {
			_, err := s.Outbox.BeginNotify(ctx, "acme", "n", noon)
			return err
		},
		"First": func(ctx context.Context, s *store.Store) error { _, err := s.Inbox.First(ctx, "U1", "1"); return err },
		"Card": func(ctx context.Context, s *store.Store) error {
			_, err := s.Cards.Card(ctx, "acme", "a")
			return err
		},
		"CardsOf": func(ctx context.Context, s *store.Store) error {
			_, err := s.Cards.CardsOf(ctx, "acme", "a")
			return err
		},
		"Shown": func(ctx context.Context, s *store.Store) error {
			_, _, err := s.Attacks.AttackState(ctx, "acme", "a")
			return err
		},
		"FindAttacks": func(ctx context.Context, s *store.Store) error {
			_, err := s.Attacks.FindAttacks(ctx, "acme", "a")
			return err
		},
		"KnownAttack": func(ctx context.Context, s *store.Store) error {
			_, _, err := s.Attacks.KnownAttack(ctx, "acme", "a00000000")
			return err
		},
		"MarkStale": func(ctx context.Context, s *store.Store) error {
			return s.Cards.MarkStale(ctx, "acme", "a", record.UrgentState)
		},
		"ToRedraw": func(ctx context.Context, s *store.Store) error { _, err := s.Cards.Stale(ctx, "acme"); return err },
		"Redrawn": func(ctx context.Context, s *store.Store) error {
			return s.Cards.Redrawn(ctx, "acme", "a", record.RedrawMark{ID: "1"})
		},
		"Untold": func(ctx context.Context, s *store.Store) error { _, err := s.Outbox.Waiting(ctx, "acme"); return err },
		"Restore": func(ctx context.Context, s *store.Store) error {
			return beginWith(ctx, s, "acme", store.Rebuilt{Epoch: "1 e"})
		},
		"Page":    func(ctx context.Context, s *store.Store) error { _, err := s.Triage.Page(ctx, "acme", "a"); return err },
		"Drill":   func(ctx context.Context, s *store.Store) error { _, err := s.Triage.Drill(ctx, "acme"); return err },
		"Hear":    func(ctx context.Context, s *store.Store) error { return s.Replicas.Hear(ctx) },
		"Pages":   func(ctx context.Context, s *store.Store) error { _, err := s.Triage.Pages(ctx, "acme"); return err },
		"Epoch":   func(ctx context.Context, s *store.Store) error { _, err := s.Ledger.Epoch(ctx, "acme"); return err },
		"Changes": func(ctx context.Context, s *store.Store) error { _, err := s.Ledger.Changes(ctx, "acme"); return err },
		"DueChanges": func(ctx context.Context, s *store.Store) error {
			_, err := s.Ledger.DueChanges(ctx, "acme", noon)
			return err
		},
		"Append": func(ctx context.Context, s *store.Store) error {
			_, err := s.Audit.Append(ctx, record.AuditEntry{Account: "acme"})
			return err
		},
		"Entries": func(ctx context.Context, s *store.Store) error {
			_, err := s.Audit.Entries(ctx, "acme", noon)
			return err
		},
		"Evidence": func(ctx context.Context, s *store.Store) error {
			_, _, err := s.Attacks.Evidence(ctx, "acme", "a")
			return err
		},
		"Blinds": func(ctx context.Context, s *store.Store) error {
			_, err := s.Attacks.Outages(ctx, "acme", noon)
			return err
		},
		"PostSlot": func(ctx context.Context, s *store.Store) error {
			_, err := s.Slack.PostSlot(ctx, "C1", 1, 1, 0)
			return err
		},
		"EditSlot": func(ctx context.Context, s *store.Store) error {
			_, err := s.Slack.EditSlot(ctx, 40, record.EditTurn{Of: "acme"})
			return err
		},
	} {
		require.True(t, neverSent(call(t.Context(), openURL(t, "redis://"+unused))), name)
	}
}
