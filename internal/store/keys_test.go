package store_test

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// leaveEverything does one of everything, so that each kind of key is there until the test ends.
func leaveEverything(t testing.TB, s *store.Store) {
	ctx := t.Context()
	owning(t, s)
	require.NoError(t, s.Ping(ctx))
	require.NoError(t, s.Replicas.KnowAccounts(ctx, []string{"acme"}))
	_, err := s.Replicas.BeginRestart(ctx, "a token")
	require.NoError(t, err)
	_, err = s.Ledger.Restore(ctx, "acme", store.Rebuilt{Epoch: store.NewEpoch(), FirstStart: noon})
	require.NoError(t, err)
	accept(t, s, "1")
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon, Attacks: shownAll("x:1"), Sources: map[netip.Addr]record.SourceActivity{}, Events: []record.Event{event("n1", "x:1"), event("n2", "x:1")}}))
	requireTrying(t, s, "n1", noon, noon, "first")
	recordPlace(t, s, event("n2", "x:1"), "C1", "1.1")
	require.NoError(t, s.Cards.MarkStale(ctx, "acme", record.AttackID("acme", "x:1"), record.UrgentState))
	l := draft(t, s)
	require.NoError(t, saved(l.Save(ctx, record.Saves{Triage: map[string]record.Triage{record.AttackID("acme", "x:1"): spoken()}})))
	require.NoError(t, saved(l.Save(ctx, record.Saves{Drill: &record.Drill{ID: "d1", Account: "acme"}})))
	require.NoError(t, s.Triage.SavePage(ctx, "acme", record.Page{ID: "p1", Attack: record.AttackID("acme", "x:1"), State: record.PageCalling}))
	require.NoError(t, saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{muteFor(time.Hour, typeMute)}})))
	require.NoError(t, saved(l.Save(ctx, record.Saves{Loss: new(refused())})))
	require.NoError(t, saved(l.Save(ctx, record.Saves{Protected: &[]record.Protected{{ID: "p1"}}})))
	require.NoError(t, saved(l.Save(ctx, record.Saves{Locked: &noon})))
	require.NoError(t, s.Slack.PeopleChanged(ctx, "U1"))
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Gap: &record.Outage{From: noon, Until: noon.Add(time.Hour)}, Evidence: evidenceOf("x:1")}))
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Outage: &record.Outage{From: noon}, Cap: &record.Cap{Edge: noon}}))
	require.NoError(t, s.Ledger.SaveMessageAt(ctx, "acme", "permission-1", record.Place{Channel: "C1", TS: "1.1"}, 1))
	require.NoError(t, failure(l.Save(ctx, record.Saves{Request: new(waiting("r1", time.Now()))})))
	require.NoError(t, s.Ledger.SaveMessageAt(ctx, "acme", "r1", record.Place{Channel: "C1", TS: "1.1"}, 1))
	_, err = l.Save(ctx, record.Saves{Changes: change.Scheduled(record.Change{ID: "c1", Account: "acme", State: record.StateDone, At: noon, Until: noon.Add(time.Hour), Steps: rule})})
	require.NoError(t, err)
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Judged: []record.Judgement{{Change: record.Change{ID: "c1", Account: "acme"}}}}))
	require.NoError(t, failure(s.Audit.Append(ctx, record.AuditEntry{Account: "acme", At: time.Now()})))
	require.NoError(t, failure(s.Slack.PostSlot(ctx, "C1", 0.1, 4, 0)))
	for range 2 { // the second waits
		require.NoError(t, failure(s.Slack.EditSlot(ctx, 40, record.EditTurn{Of: "acme", Keep: 100})))
	}
	_, c, err := l.Claim(ctx, begunAs("c2"))
	require.NoError(t, err)
	t.Cleanup(func() { c.Release(context.Background()) })
	require.NoError(t, failure(s.Slack.TakeLink(ctx, "l1", 10)))
}

// endsIn reports whether a key with that much left to live ends as the table says; below zero: not by itself.
func endsIn(said string, left time.Duration) bool {
	switch {
	case said == "when it is full again" || strings.Contains(said, "the last one's end"):
		return left > 0
	case strings.Contains(said, "after its end"):
		return left < 0
	}
	spans := regexp.MustCompile(`(?:^|when posted )(\d+) (s|min|h|days)\b`).FindAllStringSubmatch(said, -1)
	units := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour, "days": 24 * time.Hour}
	for _, span := range spans {
		n, _ := strconv.Atoi(span[1])
		if whole := time.Duration(n) * units[span[2]]; left > whole/4 && left <= whole {
			return true
		}
	}
	return spans == nil && left < 0
}

// The table above the keys is what people read who look into Redis.
func TestTheTableOfKeysIsTrue(t *testing.T) {
	source, err := os.ReadFile("keys.go")
	require.NoError(t, err)
	type row struct{ kind, ends string }
	table := map[string]row{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\{\S+) +(\w+) +.{53} (\S.*)$`).FindAllStringSubmatch(string(source), -1) {
		require.NotContains(t, table, m[1])
		table[m[1]] = row{m[2], m[3]}
	}
	require.Len(t, table, strings.Count(string(source), "//\t{"), "each row has its columns")
	named := strings.NewReplacer("{a:acme}", "{a:NAME}", "{c:C1}", "{c:ID}", "delivery:1", "delivery:NAME", "lane:1:T1/U1", "lane:NAME:PERSON", "card:C1:1.1", "card:CH:TS",
		"attempt:n1", "attempt:ID", "attempt:n2", "attempt:ID", "attempt:"+record.CardDelivery("acme", "x:1"), "attempt:ID", "people:U1", "people:ID", "claim:c2", "claim:ID", "evidence:"+record.AttackID("acme", "x:1"), "evidence:ID", "message:permission-1", "message:ID", "message:r1", "message:ID")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where no time passes: some run out in seconds
		w := newDialled(t)
		s := w.openWith(t, store.Config{Off: true})
		leaveEverything(t, s)
		require.NoError(t, w.rdb.HSet(t.Context(), "{a:acme}:triage", "a1", "garbage").Err())
		require.NoError(t, failure(s.Triage.AllTriage(t.Context(), "acme")))
		found := map[string]bool{}
		for _, key := range w.keys(t) {
			name := regexp.MustCompile(`^\{work-\d+\}`).ReplaceAllString(named.Replace(key), "{work-N}")
			row, ok := table[name]
			require.True(t, ok, key)
			found[name] = true
			require.Equal(t, row.kind, must(w.rdb.Type(t.Context(), key).Result())(t), key)
			left, err := w.rdb.PTTL(t.Context(), key).Result()
			require.NoError(t, err)
			require.True(t, endsIn(row.ends, left), "%s ends in %s, not %s", key, left, row.ends)
			require.True(t, left > 0 || strings.Contains(row.ends, "; "), "%s has no end, and the table doesn't say what bounds it", key)
		}
		for kind := range table {
			require.Contains(t, found, kind)
		}
	})
}

// The state of another version stops the installation whose it is, and no other on the same server.
func TestEachInstallationHasAVersionOfItsOwn(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		require.NoError(t, w.rdb.Set(t.Context(), "old:{work}:version", 1, 0).Err())
		for _, prefix := range []string{"", "new:"} {
			owning(t, w.prefixed(prefix).open(t))
		}
		old := w.prefixed("old:").open(t).Replicas
		require.ErrorIs(t, old.Hear(t.Context()), store.ErrOlder)
		_, ended := running(t, old.Beat)
		require.ErrorIs(t, await(t, ended), store.ErrOlder)
	})
}

// In a cluster everything works the same, and what counts isn't repeated there either.
func TestCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return // there is no miniature of a cluster
	}
	ctx := t.Context()
	w := &world{addr: redistest.Start(t, "--cluster-enabled", "yes").Addr}
	w.rdb = client(t, w.addr)
	require.NoError(t, w.rdb.ClusterAddSlotsRange(ctx, 0, 16383).Err())
	require.Eventually(t, func() bool { return strings.Contains(w.rdb.ClusterInfo(ctx).Val(), "cluster_state:ok") }, patience, 20*time.Millisecond)
	net := w.newWire(t)
	_, port, _ := strings.Cut(net.Addr(), ":")
	require.NoError(t, w.rdb.ConfigSet(ctx, "cluster-announce-port", port).Err())
	s := openWith(t, store.Config{Address: address.Options{URL: "redis-cluster://" + net.Addr()}})
	leaveEverything(t, s)
	for _, key := range append(w.keys(t), "foo", "{}x", "a{b}{c}") {
		require.EqualValues(t, must(w.rdb.ClusterKeySlot(ctx, key).Result())(t), slot(key), key)
	}
	require.Len(t, must(s.Attacks.FindAttacks(ctx, "acme", "a"))(t), 1)
	jobs, stop, ended := worker(t, s)
	require.NoError(t, await(t, jobs).Done(ctx))
	stop()
	require.ErrorIs(t, await(t, ended), context.Canceled)
	w.requireNoWork(t)

	asked, lost := false, false
	net.SetFilters(func(chunk []byte) ([]byte, bool) {
		asked = asked || bytes.Contains(chunk, []byte("{a:acme}:audited"))
		return chunk, true
	}, func(reply []byte) ([]byte, bool) {
		if lost || !asked || string(reply) != ":2\r\n" { // the number of the entry
			return reply, true // the client looks at the cluster by itself, and the worker leaves
		}
		lost = true
		return nil, false
	})
	require.Error(t, failure(s.Audit.Append(ctx, record.AuditEntry{Account: "acme", At: time.Now()})))
	require.Equal(t, 2, must(w.rdb.Get(ctx, "{a:acme}:audited").Int())(t))
}
