package store_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
)

// leaveEverything does one of everything, so that each kind of key is there until the test ends.
func leaveEverything(t testing.TB, s *store.Store) {
	ctx := t.Context()
	reigns, _, _ := leader(t, s)
	within(t, 10*time.Second, reigns)
	_, unlock, err := s.Lock(ctx, "acme")
	require.NoError(t, err)
	t.Cleanup(unlock)
	require.NoError(t, s.Ping(ctx))
	require.NoError(t, s.Restore(ctx, "acme", store.Recalled{Epoch: store.NewEpoch(), Began: noon}))
	accept(t, s, "1")
	require.NoError(t, s.Remember(ctx, "acme", poller.Update{LastGood: noon, Shown: shownAll("x:1"), News: []poller.News{news("n1", "x:1"), news("n2", "x:1")}}))
	_, _, err = s.Trying(ctx, "acme", "n1", noon)
	require.NoError(t, err)
	require.NoError(t, s.Told(ctx, "acme", news("n2", "x:1"), "C1", "1.1"))
	_, err = s.TakeLink(ctx, "l1", 10)
	require.NoError(t, err)
	require.NoError(t, s.Outdated(ctx, "acme", commands.AttackID("acme", "x:1")))
	require.NoError(t, s.SaveCase(ctx, "acme", commands.AttackID("acme", "x:1"), spoken()))
	require.NoError(t, s.SaveMutes(ctx, "acme", []commands.Mute{muteFor(time.Hour, typeMute)}))
	require.NoError(t, s.Remember(ctx, "acme", poller.Update{Blind: &poller.Spell{Since: noon}}))
	require.NoError(t, s.SaveTied(ctx, refused(), news("n3", "")))
	require.NoError(t, s.Noticed(ctx, "acme", "tied-1", "C1", "1.1", 1))
	save(t, s, commands.Change{ID: "c1", State: commands.StateDone, At: noon, Until: noon.Add(time.Hour), Steps: rule})
	_, err = s.Append(ctx, commands.AuditEntry{Account: "acme", At: time.Now()})
	require.NoError(t, err)
	_, err = s.PostSlot(ctx, "C1", 1, 4)
	require.NoError(t, err)
	_, err = s.EditSlot(ctx, "T1", 40)
	require.NoError(t, err)
}

// The table above the keys is what people read who look into Redis.
func TestTheTableOfKeysIsTrue(t *testing.T) {
	source, err := os.ReadFile("keys.go")
	require.NoError(t, err)
	type row struct {
		kind string
		ends bool // by itself
	}
	table := map[string]row{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\{\S+) +(\w+) +.*?   *(\S.*)$`).FindAllStringSubmatch(string(source), -1) {
		table[m[1]] = row{m[2], regexp.MustCompile(`^\d|full again`).MatchString(m[3]) && !strings.Contains(m[3], "after its end")}
	}
	named := strings.NewReplacer("{a:acme}", "{a:NAME}", "{c:C1}", "{c:ID}", "{w:T1}", "{w:TEAM}", "seen:1", "seen:NAME", "card:C1:1.1", "card:CH:TS", "tried:n1", "tried:ID")
	onEach(t, func(t *testing.T, w *world) {
		leaveEverything(t, w.open(t))
		found := map[string]row{}
		for _, key := range w.keys(t) {
			kind, err := w.rdb.Type(t.Context(), key).Result()
			require.NoError(t, err)
			ttl, err := w.rdb.PTTL(t.Context(), key).Result()
			require.NoError(t, err)
			found[named.Replace(key)] = row{kind, ttl > 0}
		}
		require.Equal(t, table, found)
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
	require.Eventually(t, func() bool { return strings.Contains(w.rdb.ClusterInfo(ctx).Val(), "cluster_state:ok") }, 10*time.Second, 20*time.Millisecond)
	net := newWire(t, w.addr)
	_, port, _ := strings.Cut(net.listener.Addr().String(), ":")
	require.NoError(t, w.rdb.ConfigSet(ctx, "cluster-announce-port", port).Err())
	s := openURL(t, "redis-cluster://"+net.listener.Addr().String())
	leaveEverything(t, s)
	for _, key := range append(w.keys(t), "foo", "{}x", "a{b}{c}") {
		want, err := w.rdb.ClusterKeySlot(ctx, key).Result()
		require.NoError(t, err)
		require.EqualValues(t, want, slot(key), key)
	}
	found, err := s.FindAttacks(ctx, "acme", "a")
	require.NoError(t, err)
	require.Len(t, found, 1)
	jobs, stop, ended := worker(t, s)
	require.NoError(t, within(t, 5*time.Second, jobs).done(ctx))
	stop()
	require.ErrorIs(t, within(t, 5*time.Second, ended), context.Canceled)
	w.requireNoWork(t)

	net.goWrong(nil, func([]byte) ([]byte, bool) {
		net.replies = nil
		return nil, false
	})
	_, err = s.Append(ctx, commands.AuditEntry{Account: "acme", At: time.Now()})
	require.Error(t, err)
	n, err := w.rdb.Get(ctx, "{a:acme}:audited").Int()
	require.NoError(t, err)
	require.Equal(t, 2, n)
}
