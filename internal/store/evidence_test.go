package store_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func evidenceOf(ids ...string) map[string]record.Evidence {
	all := map[string]record.Evidence{}
	for _, id := range ids {
		observation := record.Observation{At: noon, Attack: apiclient.Attack{
			ID: id, Type: "sqli", Hits: apiclient.Known(100), Sources: []apiclient.Source{{IP: netip.MustParseAddr("203.0.113.7"), Hits: apiclient.Known(90)}},
		}}
		all[id] = record.Evidence{
			First: observation, CardAt: noon,
		}
	}
	return all
}

func TestEvidenceIsStored(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openOwner(t), w.open(t), t.Context()
		u := record.PollUpdate{LastGood: noon, Attacks: shownAll("x:1"), Evidence: evidenceOf("x:1", "x:2"), Events: []record.Event{event("n1", "x:1")}}
		require.NoError(t, s.Attacks.Save(ctx, "acme", u))
		later := evidenceOf("x:1")["x:1"]
		later.Late = true
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Evidence: map[string]record.Evidence{"x:1": later}}))
		id := record.AttackID("acme", "x:1")
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"x:1"}}))
		e, ok, err := other.Attacks.Evidence(ctx, "acme", id)
		require.NoError(t, err)
		require.True(t, ok, "a report is wanted long after")
		want := evidenceOf("x:1")["x:1"]
		require.Equal(t, want, e, "the first stays")
		for _, unknown := range []string{"a00000000", ""} {
			_, ok, err = other.Attacks.Evidence(ctx, "acme", unknown)
			require.NoError(t, err)
			require.False(t, ok)
		}
	})
}

func TestWhatAnAttackLookedLikeLast(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.openOwner(t), t.Context()
		all := shownAll("x:1", "x:2")
		kept := all["x:2"]
		kept.Rebuilt = true
		all["x:2"] = kept
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: all}))
		seen, ok, err := s.Attacks.LastObservation(ctx, "acme", record.AttackID("acme", "x:1"))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, record.Observation{At: noon, Attack: shown("x:1").Attack.Brief()}, seen)
		for _, id := range []string{"x:2", "x:3"} {
			_, ok, err = s.Attacks.LastObservation(ctx, "acme", record.AttackID("acme", id))
			require.NoError(t, err)
			require.False(t, ok, "%s: of one that was read back only its card is known", id)
		}
	})
}

func TestOutagesAreStored(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openOwner(t), w.open(t), t.Context()
		require.Empty(t, outages(t, other, time.Time{}))
		gone := func(from, to time.Duration, why string) record.PollUpdate {
			return record.PollUpdate{LastGood: noon.Add(to), Outage: &record.Outage{}, Gap: &record.Outage{From: noon.Add(from), Until: noon.Add(to), Why: why}}
		}
		for _, u := range []record.PollUpdate{
			gone(-31*24*time.Hour, -30*24*time.Hour-2*time.Hour, "long ago"), gone(0, time.Hour, "the service answers with errors"), gone(2*time.Hour, 3*time.Hour, ""), gone(2*time.Hour, 3*time.Hour, ""),
		} {
			require.NoError(t, s.Attacks.Save(ctx, "acme", u))
		}
		first := record.Outage{From: noon, Until: noon.Add(time.Hour), Why: "the service answers with errors"}
		second := record.Outage{From: noon.Add(2 * time.Hour), Until: noon.Add(3 * time.Hour)}
		require.Equal(t, []record.Outage{first, second}, outages(t, other, time.Time{}), "for 30 days, and the same once")
		require.Equal(t, []record.Outage{second}, outages(t, other, noon.Add(time.Hour+time.Second)), "by their ends")
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Outage: &record.Outage{From: noon.Add(4 * time.Hour), Why: "no token"}}))
		require.Equal(t, []record.Outage{second, {From: noon.Add(4 * time.Hour), Why: "no token"}}, outages(t, other, noon.Add(2*time.Hour)))
		for i := range 310 {
			require.NoError(t, s.Attacks.Save(ctx, "acme", gone(time.Duration(i)*time.Minute, time.Duration(i+1)*time.Minute, "often")))
		}
		require.Len(t, outages(t, other, time.Time{}), 300)
	})
}

func outages(t *testing.T, s *store.Store, since time.Time) []record.Outage {
	t.Helper()
	all, err := s.Attacks.Outages(t.Context(), "acme", since)
	require.NoError(t, err)
	return all
}

func TestTheTrailOfAuditEntries(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		stream := "{a:acme}:audit"
		const first = `for n = 1, 1005 do redis.call("XADD", KEYS[1], "*", "n", n, "entry", '{"account":"acme"}') end
redis.call("SET", KEYS[2], 1005)`
		err := w.rdb.Eval(ctx, first, []string{stream, "{a:acme}:audited"}).Err()
		require.ErrorIs(t, err, redis.Nil)
		require.NoError(t, w.rdb.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"n", 1006, "entry", "rubbish"}}).Err())
		require.NoError(t, w.rdb.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"n", "rubbish", "entry", "{}"}}).Err())
		require.NoError(t, failure(s.Audit.Append(ctx, record.AuditEntry{Account: "acme", At: time.Now()})))
		var numbers []int64
		bad := 0
		for e, err := range s.Audit.Trail(ctx, "acme", time.Time{}) {
			if err != nil {
				require.ErrorIs(t, err, record.ErrBadEntry)
				bad++
			}
			numbers = append(numbers, e.N)
		}
		require.Len(t, numbers, 1008)
		require.EqualValues(t, 1, numbers[0], "the oldest first")
		require.Equal(t, []int64{1006, 0, 1006}, numbers[1005:], "what can't be read doesn't hide the rest")
		require.Equal(t, 2, bad)
		for e, err := range s.Audit.Trail(ctx, "acme", time.Now().Add(time.Hour)) {
			t.Fatal("nothing is that new", e, err)
		}
	})
}
