package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// waiting is a request that was asked then and waits for 15 minutes.
func waiting(id string, at time.Time) record.ApprovalRequest {
	at = at.UTC().Truncate(time.Second)
	return record.ApprovalRequest{
		ID: id, Account: "acme", Line: record.Line{Name: "deny", Words: []string{"country:FR"}}.With("for", "4h"), Does: "Deny country:FR",
		Needs: []record.ApprovalReason{{What: config.ApproveBroad, Why: "it is broad"}}, Role: record.Responder,
		Asker: record.Actor{ID: "U1", Team: "T1", Name: "Ann", Via: record.ViaSlash}, At: at, Until: at.Add(15 * time.Minute), OverrideAt: at.Add(5 * time.Minute), CheckAt: at.Add(5 * time.Minute),
		Premise: record.Premise{Steps: []string{"add"}, Role: record.Admin}, State: record.RequestWaiting, Revision: 1,
	}
}

func saveRequest(ctx context.Context, l *store.Draft, q record.ApprovalRequest) error {
	_, err := l.Save(ctx, record.Saves{Request: &q})
	return err
}

// The account's owner hears when a request has to be checked, whichever is due first.
func TestPendingHoldsDueRequests(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		begin(t, s, "acme")
		q := waiting("r1", time.Now())
		drafted(t, s, func(l *store.Draft) error { return saveRequest(ctx, l, q) })
		score := func() float64 { return w.rdb.ZScore(ctx, "{a:acme}:approvals:due", "r1").Val() }
		require.EqualValues(t, q.OverrideAt.Unix(), score())
		q.OverrideOpen, q.CheckAt = true, q.Until
		drafted(t, s, func(l *store.Draft) error { return saveRequest(ctx, l, q) })
		require.EqualValues(t, q.Until.Unix(), score())
		share, stop := context.WithCancel(ctx)
		defer stop()
		found := make(chan store.Pending, 1)
		go func() { _ = s.Replicas.Beat(share) }()
		go func() {
			_ = s.Replicas.Share(share, share, []string{"acme"}, func(_, more context.Context, _ string, pending <-chan store.Pending) {
				select {
				case d := <-pending:
					found <- d
				case <-more.Done():
				}
				<-more.Done()
			})
		}()
		require.Equal(t, q.Until.Unix(), (<-found).Due.Unix())
		q.State, q.CheckAt = record.RequestExpired, time.Time{}
		drafted(t, s, func(l *store.Draft) error { return saveRequest(ctx, l, q) })
		require.Zero(t, w.rdb.ZCard(ctx, "{a:acme}:approvals:due").Val())
	})
}

func TestOldRequestsAreDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx, now := w.open(t), t.Context(), time.Now()
		for id, q := range map[string]record.ApprovalRequest{"old": waiting("old", now.Add(-8*24*time.Hour)), "lately": waiting("lately", now.Add(-6*24*time.Hour))} {
			q.State, q.CheckAt = record.RequestRejected, time.Time{}
			drafted(t, s, func(l *store.Draft) error { return saveRequest(ctx, l, q) })
			require.NoError(t, s.Ledger.SaveMessageAt(ctx, "acme", id, record.Place{Channel: "C1", TS: "1.1"}, 3))
		}
		at, revision, err := s.Ledger.MessageAt(ctx, "acme", "old")
		require.NoError(t, err)
		require.Equal(t, []any{record.Place{Channel: "C1", TS: "1.1"}, 3}, []any{at, revision})
		require.Len(t, must(s.Ledger.Requests(ctx, "acme"))(t), 1)
		require.Equal(t, []string{"lately"}, w.rdb.HKeys(ctx, "{a:acme}:approvals").Val())
		left := w.rdb.TTL(ctx, "{a:acme}:message:old").Val()
		require.True(t, left > 8*24*time.Hour && left <= 30*24*time.Hour, left)
	})
}
