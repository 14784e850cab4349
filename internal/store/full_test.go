package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/redistest"
)

// fill has another client fill Redis' memory, so that it is full until room gives some back.
func fill(t *testing.T, rdb *redis.Client) (room func()) {
	t.Helper()
	ctx, err := t.Context(), error(nil)
	for i := 0; err == nil; i++ {
		err = rdb.Set(ctx, fmt.Sprintf("other:%d", i), strings.Repeat("x", 100_000), 0).Err()
	}
	require.True(t, isFull(err), "%v", err)
	require.NoError(t, rdb.ConfigSet(ctx, "maxmemory", "15mb").Err()) // some of it is free from moment to moment
	return func() {
		t.Helper()
		require.NoError(t, rdb.ConfigSet(ctx, "maxmemory", "16mb").Err())
		for i := range 50 {
			require.NoError(t, rdb.Del(ctx, fmt.Sprintf("other:%d", i)).Err())
		}
	}
}

// What was claimed may have been sent: if Redis' memory fills before its outcome is known, the outcome, its audit entry
// and its event get in all the same. What isn't begun yet isn't, until there is room. Cards go on.
func TestAFullRedis(t *testing.T) {
	full.Only(t)
	t.Parallel()
	ctx := t.Context()
	w := &world{addr: redistest.Start(t, "--maxmemory", "16mb", "--maxmemory-policy", "noeviction").Addr}
	w.rdb = client(t, w.addr)
	s, other := w.openOwner(t), w.open(t)
	d := draft(t, s)
	_, c, err := d.Claim(ctx, begunAs("c1"))
	require.NoError(t, err)
	_, left, err := d.Claim(ctx, begunAs("c2"))
	require.NoError(t, err)
	left.Release(ctx)
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon, Events: []record.Event{event("n1", "x:1")}}))
	waits := draft(t, s)
	room := fill(t, w.rdb)

	// What isn't begun is refused.
	require.True(t, isFull(s.Ping(ctx)))
	_, _, err = s.Inbox.Accept(ctx, []byte("work"), lane("acme:U1"), "1")
	require.True(t, isFull(err), "%v", err)
	_, _, err = waits.Claim(ctx, begunAs("c3"))
	require.True(t, isFull(err), "%v", err)
	require.Contains(t, refusal.Away(err).Text.String(), "its memory is full")
	require.True(t, isFull(s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:3")})))

	// What was begun is finished, also by another replica.
	e := record.AuditEntry{At: time.Now(), Account: "acme", Line: "deny 203.0.113.7", Outcome: "done", Change: "c1"}
	done := begunAs("c1")
	done.State = record.StateDone
	n, err := c.Save(ctx, record.Saves{Changes: []record.Change{done}, Events: []record.Event{event("n2", "x:1")}, Entry: &e})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	c.Release(ctx)
	_, c, err = other.Ledger.Resume(ctx, begunAs("c2"), false)
	require.NoError(t, err)
	failed := begunAs("c2")
	failed.State, failed.At = record.StateFailed, time.Now()
	require.NoError(t, failure(c.Save(ctx, record.Saves{Changes: []record.Change{failed}, Entry: &e})))
	c.Release(ctx)
	require.Equal(t, []int64{2, 1}, numbers(must(s.Audit.Entries(ctx, "acme", time.Time{}))(t)))
	changes, err := s.Ledger.Changes(ctx, "acme")
	require.NoError(t, err)
	require.Len(t, changes, 2)
	for _, ch := range changes {
		require.NotEqual(t, record.StateBegun, ch.State)
	}

	// Cards, posts and replicas go on.
	require.Equal(t, []string{"n1", "n2"}, waitingEvents(t, s))
	requireTrying(t, s, "n1", noon, noon, "first")
	recordPlace(t, s, event("n1", "x:1"), "C1", "1.1")
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon, Attacks: shownAll("x:2"), Events: []record.Event{event("n3", "x:2")}}))
	require.NoError(t, s.Triage.SavePage(ctx, "acme", record.Page{ID: "p1", Attack: "a1", State: record.PageCalling}))
	require.NoError(t, s.Cards.MarkStale(ctx, "acme", "a1", record.UrgentState))
	for range 2 {
		require.NoError(t, failure(s.Slack.PostSlot(ctx, "C1", 1, 4, 0)))
	}
	require.NoError(t, failure(s.Slack.TakeLink(ctx, "l1", 10)))
	newWatch(t, "globex").start("another", other, nil)
	require.Eventually(t, func() bool {
		err := s.Replicas.Hear(ctx)
		living, _ := s.Replicas.Living()
		return err == nil && living == 2
	}, 10*time.Second, 50*time.Millisecond)

	room()
	_, c, err = draft(t, s).Claim(ctx, begunAs("c3"))
	require.NoError(t, err)
	c.Release(ctx)
	accept(t, s, "2")
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:3")}))
}

// isFull reports whether Redis took nothing because its memory is full.
func isFull(err error) bool {
	return err != nil && strings.HasPrefix(refusal.TroubleOf(err).Is, "its memory is full")
}
