package store_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/webhooks"
	"github.com/wafbot/wafbot/internal/norace"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// hooks are the webhooks that want an event of that name.
type hooks map[string][]string

func (h hooks) Wanting(_, event string) []string { return h[event] }

func (w *world) hooked(t *testing.T, h hooks) *store.Store {
	t.Helper()
	return w.openWith(t, store.Config{Webhooks: h})
}

func waitingFor(t *testing.T, s *store.Store, hook string, logged int) webhooks.Queue {
	t.Helper()
	q, err := s.Webhooks.Waiting(t.Context(), "acme", hook, logged)
	require.NoError(t, err)
	return q
}

// What is stored with an event and its audit entry, in one step, is what each webhook that wants it is sent, in that order, until it was sent.
func TestWhatIsStoredWaitsForItsWebhooks(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := w.hooked(t, hooks{"change": {"h1"}, "audit": {"h1", "h2"}})
		_, err := s.Epochs.Restore(ctx, "acme", store.Rebuilt{Epoch: store.NewEpoch()})
		require.NoError(t, err)
		_, err = s.Audit.Append(ctx, record.AuditEntry{Account: "acme", At: noon, Line: "first"})
		require.NoError(t, err)
		settled := record.Event{ID: "c1:done", Account: "acme", Kind: record.ChangeSettled, Channel: "C1", At: noon, Payload: record.ChangeFacts{Change: "c1"}}
		other := record.Event{ID: "s", Account: "acme", Kind: record.SummaryDue, At: noon}
		n, err := draft(t, s).SaveChanges(ctx, &record.AuditEntry{Account: "acme", At: noon, Line: "second"}, []record.Event{settled, other}, record.Change{ID: "c1", Account: "acme", State: record.StateDone})
		require.NoError(t, err)
		require.EqualValues(t, 2, n)

		one, two := waitingFor(t, s, "h1", 0), waitingFor(t, s, "h2", 0)
		require.Equal(t, []int{3, 2}, []int{one.Waiting, two.Waiting})
		require.Equal(t, "first", one.Entries[0].Audit.Line)
		require.Equal(t, settled, *one.Entries[1].Event)
		require.Equal(t, record.AuditEntry{N: 2, Account: "acme", At: noon, Line: "second"}, *one.Entries[2].Audit, "with its number")
		all, err := s.Waiting(ctx, map[string][]string{"acme": {"h1", "h2", "h3"}, "globex": {"h1"}})
		require.NoError(t, err)
		require.Equal(t, map[string]store.Backlog{"h1": {Waiting: 3, Oldest: one.Entries[0].At}, "h2": {Waiting: 2, Oldest: two.Entries[0].At}, "h3": {}}, all.Webhooks)
		for _, e := range two.Entries {
			require.NoError(t, s.Webhooks.Done(ctx, "acme", "h2", e.Place))
			require.NoError(t, s.Webhooks.Done(ctx, "acme", "h2", e.Place), "another replica sent it, too")
		}
		require.Zero(t, waitingFor(t, s, "h2", 0).Waiting)
		require.Equal(t, 3, waitingFor(t, s, "h1", 0).Waiting, "each webhook has its own")
		bytes, err := w.rdb.HGet(ctx, "{a:acme}:webhook:h2:kept", "bytes").Int()
		require.NoError(t, err)
		require.Zero(t, bytes)

		_, err = w.hooked(t, nil).Audit.Append(ctx, record.AuditEntry{Account: "acme", At: noon})
		require.NoError(t, err)
		require.Equal(t, 3, waitingFor(t, s, "h1", 0).Waiting, "no webhook is configured any more")
	})
}

// A queue that nobody takes anything off holds the newest 8 MiB. What is dropped for that is counted until it was said.
func TestAWebhooksQueueIsBoundedInBytes(t *testing.T) {
	norace.Defer(t)
	if testing.Short() {
		return
	}
	t.Parallel()
	w := newReal(t) // a miniredis takes long over so much
	const most, size, all = 8 << 20, 300_000, 36
	s := w.hooked(t, hooks{"audit": {"h1"}})
	for n := range all {
		_, err := s.Audit.Append(t.Context(), record.AuditEntry{Account: "acme", At: noon, Line: strconv.Itoa(n) + " " + strings.Repeat("x", size)})
		require.NoError(t, err)
	}
	q := waitingFor(t, s, "h1", 0)
	require.Equal(t, most/(size+200), q.Waiting)
	require.Equal(t, all-q.Waiting, q.Dropped)
	require.True(t, strings.HasPrefix(q.Entries[0].Audit.Line, strconv.Itoa(q.Dropped)+" "), "the oldest were dropped")
	held, err := w.rdb.HGet(t.Context(), "{a:acme}:webhook:h1:kept", "bytes").Int()
	require.NoError(t, err)
	require.Greater(t, held, q.Waiting*size)
	require.LessOrEqual(t, held, most)

	require.Zero(t, waitingFor(t, s, "h1", q.Dropped).Dropped, "it was said")
	require.Zero(t, waitingFor(t, s, "h1", 0).Dropped)
}

// That people are notified of what was dropped is stored with the event that does it, and ends when the webhook takes one.
func TestPeopleAreNotifiedOnceOfWhatIsDropped(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.hooked(t, hooks{"events_dropped": {"h1"}})
		require.False(t, waitingFor(t, s, "h1", 0).Noted)
		e := record.Event{ID: "d", Account: "acme", Kind: record.EventsDropped, Channel: "C1", At: noon, Payload: record.DroppedFacts{Webhook: "webhooks[0]", Dropped: 3, Why: "away"}}
		require.NoError(t, s.Webhooks.Note(t.Context(), "h1", e))
		all, err := s.Outbox.Waiting(t.Context(), "acme")
		require.NoError(t, err)
		require.Equal(t, []record.Event{e}, all)
		q := waitingFor(t, s, "h1", 0)
		require.True(t, q.Noted)
		require.Equal(t, e, *q.Entries[0].Event, "the webhook learns of it, too")
		require.NoError(t, s.Webhooks.Done(t.Context(), "acme", "h1", q.Entries[0].Place))
		require.False(t, waitingFor(t, s, "h1", 0).Noted)
		ttl, err := w.rdb.PTTL(t.Context(), "{a:acme}:webhook:h1:kept").Result()
		require.NoError(t, err)
		require.Positive(t, ttl)
	})
}

// What waited for a day is dropped, and counted; a queue that nothing is added to any more ends by itself.
func TestWhatWaitsForAWebhookForADayIsDropped(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.hooked(t, hooks{"audit": {"h1"}})
		now := time.Now()
		for _, age := range []time.Duration{25 * time.Hour, 24*time.Hour + time.Minute, 23 * time.Hour} {
			add := &redis.XAddArgs{Stream: "{a:acme}:webhook:h1", ID: strconv.FormatInt(now.Add(-age).UnixMilli(), 10) + "-0", Values: []string{"n", "1", "entry", `{"line":"` + age.String() + `"}`}}
			require.NoError(t, w.rdb.XAdd(t.Context(), add).Err())
		}
		_, err := s.Audit.Append(t.Context(), record.AuditEntry{Account: "acme", At: noon, Line: "now"})
		require.NoError(t, err)
		q := waitingFor(t, s, "h1", 0)
		require.Equal(t, []int{2, 2}, []int{q.Waiting, q.Dropped})
		require.Equal(t, "23h0m0s", q.Entries[0].Audit.Line)
		require.WithinDuration(t, now.Add(-23*time.Hour), q.Entries[0].At, time.Second)
		for _, key := range []string{"{a:acme}:webhook:h1", "{a:acme}:webhook:h1:kept"} {
			ttl, err := w.rdb.PTTL(t.Context(), key).Result()
			require.NoError(t, err)
			require.InDelta(t, 25*time.Hour, ttl, float64(5*time.Minute))
		}
	})
}

// What a newer wafbot wrote, or somebody else, can't be read: that is said with the entry, and the others can be.
func TestAnEntryThatCantBeRead(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.hooked(t, hooks{"audit": {"h1"}})
		for _, entry := range []string{`{"kind":"unheard of"}`, `{`, `{"line":7}`} {
			require.NoError(t, w.rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: "{a:acme}:webhook:h1", Values: []string{"n", "1", "entry", entry}}).Err())
		}
		_, err := s.Audit.Append(t.Context(), record.AuditEntry{Account: "acme", At: noon, Line: "now"})
		require.NoError(t, err)
		q := waitingFor(t, s, "h1", 0)
		require.Len(t, q.Entries, 4)
		for _, e := range q.Entries[:3] {
			require.Error(t, e.Unreadable)
		}
		require.Equal(t, "now", q.Entries[3].Audit.Line)
	})
}
