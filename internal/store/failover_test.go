package store_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/store"
)

// onSets runs a test on a cluster and, in make full, on a master with sentinels, with a copy of whatever counts.
func onSets(t *testing.T, test func(t *testing.T, set *redistest.Set)) {
	t.Parallel()
	if testing.Short() {
		return
	}
	sets := map[string]func(testing.TB, *redistest.Secured) *redistest.Set{"cluster": redistest.StartCluster}
	if full.On() {
		sets["sentinel"] = redistest.StartSentinel
	}
	for name, start := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, nil))
		})
	}
}

// eventually tries something again until it succeeds, as callers do while a server fails over.
func eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	var err error
	require.Eventually(t, func() bool { err = try(); return err == nil }, patience, 20*time.Millisecond, "%s: %s", what, lastly{&err})
}

type lastly struct{ err *error }

func (l lastly) String() string { return fmt.Sprint(*l.err) }

// Masters die one after another while two replicas of wafbot share the accounts and the work. What was acknowledged is
// there, and everything goes on by itself.
func TestFailovers(t *testing.T) {
	full.Only(t)
	onSets(t, func(t *testing.T, set *redistest.Set) {
		ctx := t.Context()
		names := accounts(9)
		w := newWatch(t, names...)
		w.asynchronous = true
		one := w.start("one", openCopied(t, set.URL), nil)
		two := w.start("two", openCopied(t, set.URL), nil)
		w.settled(5, 4)
		direct := openCopied(t, set.URL)
		eventually(t, "begin", func() error { return beginWith(ctx, direct, "acme", store.Rebuilt{Epoch: store.NewEpoch()}) })

		var mu sync.Mutex
		done := map[string]int{}
		for _, r := range []*replica{one, two} {
			running(t, func(ctx context.Context) error {
				return r.store.Inbox.Work(ctx, func(p *store.Piece) {
					mu.Lock()
					done[string(p.Work())]++
					mu.Unlock()
					_ = p.Done(ctx)
				})
			})
		}
		var accepted []string
		masters := len(set.Masters())
		for n := range masters {
			stop, _ := running(t, func(ctx context.Context) error {
				for i := 0; ctx.Err() == nil; i++ {
					id := fmt.Sprint(n, " ", i)
					if _, _, err := direct.Inbox.Accept(ctx, []byte(id), lane("acme:"+id), id); err == nil {
						mu.Lock()
						accepted = append(accepted, id)
						mu.Unlock()
					}
				}
				return nil
			})
			killed, err := set.KillMaster(n)
			require.NoError(t, err)
			promoted := time.Now()
			w.settled(5, 4)
			t.Logf("shared out %s after the promotion of another in place of %s", time.Since(promoted).Round(10*time.Millisecond), killed.Addr)
			require.NoError(t, killed.Restart()) // a cluster's shard of two has no copies before
			require.NoError(t, set.Whole())
			whole := time.Now()
			eventually(t, "accept", func() error {
				_, _, err := direct.Inbox.Accept(ctx, []byte("after"), lane("acme:U1"), fmt.Sprint("after ", n))
				return err
			})
			eventually(t, "draft, save", func() error {
				_, d, err := direct.Ledger.Begin(ctx, "acme", "", false)
				if err != nil {
					return err
				}
				return saveChange(ctx, d, record.Change{ID: fmt.Sprint("c", n), Account: "acme", State: record.StateDone, At: noon})
			})
			eventually(t, "notify", func() error {
				id := fmt.Sprint("n", n)
				if err := direct.Outbox.Announce(ctx, event(id, "x:1")); err != nil {
					return err
				}
				if _, err := direct.Outbox.BeginNotify(ctx, "acme", id, noon); err != nil {
					return err
				}
				_, err := direct.Outbox.Notified(ctx, event(id, "x:1"), "C1", "1.1", true)
				return err
			})
			for account, h := range w.holds() {
				eventually(t, "save "+account, func() error {
					return h.replica.store.Attacks.Save(ctx, account, record.PollUpdate{LastGood: noon, Attacks: shownAll("x:1")})
				})
			}
			t.Logf("all goes on %s after there were copies again", time.Since(whole).Round(10*time.Millisecond))
			stop()
		}
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			for _, id := range accepted {
				if done[id] == 0 {
					return false
				}
			}
			return true
		}, patience, 20*time.Millisecond, "what was accepted is done")
		mu.Lock()
		twice, sum := 0, len(accepted)
		for _, n := range done {
			twice += max(0, n-1)
		}
		mu.Unlock()
		t.Logf("%d accepted, %d of them handed over again; overlaps of leases, which are not waited for: %v", sum, twice, w.overlaps())
		require.Len(t, must(direct.Ledger.Changes(ctx, "acme"))(t), masters)
	})
}

// A server that dies and stays away is missed only until another was promoted, also by who asks for no copies.
func TestFailoverWithoutReturn(t *testing.T) {
	onSets(t, func(t *testing.T, set *redistest.Set) {
		ctx, s := t.Context(), openURL(t, set.URL)
		names := accounts(20)
		w := newWatch(t, names...)
		w.asynchronous = true
		w.start("one", s, nil)
		w.settled(len(names))
		killed, err := set.KillMaster(0)
		require.NoError(t, err)
		promoted := time.Now()
		for _, account := range names {
			eventually(t, "announce", func() error { n := event("n1", "x:1"); n.Account = account; return s.Outbox.Announce(ctx, n) })
			eventually(t, "append", func() error { _, err := s.Audit.Append(ctx, record.AuditEntry{Account: account, At: noon}); return err })
			eventually(t, "load", func() error { _, err := s.Attacks.Load(ctx, account); return err })
		}
		eventually(t, "accept", func() error { _, _, err := s.Inbox.Accept(ctx, []byte("after"), lane("acme:U1"), "after"); return err })
		t.Logf("all goes on %s after the promotion of another in place of %s", time.Since(promoted).Round(10*time.Millisecond), killed.Addr)
		w.settled(len(names))
		for _, account := range names {
			eventually(t, "save "+account, func() error { return s.Attacks.Save(ctx, account, record.PollUpdate{LastGood: noon}) })
		}
		t.Logf("all is owned %s after it", time.Since(promoted).Round(10*time.Millisecond))
	})
}

// A server that hangs takes along what lies on it, and no other account.
//
// It runs alone: thirty leases are renewed in real time, which a busy processor delays, too.
func TestAServerThatHangsTakesNothingElseAlong(t *testing.T) {
	full.Only(t)
	ctx, set := t.Context(), redistest.StartCluster(t, nil)
	hangs := client(t, set.Masters()[0].Addr)
	var without []string // anything on that server
	for _, account := range accounts(30) {
		if err := hangs.Get(ctx, "{a:"+account+"}:lease").Err(); redis.HasErrorPrefix(err, "MOVED") {
			without = append(without, account)
		}
	}
	require.NotEmpty(t, without)
	w := newWatch(t, accounts(30)...)
	w.asynchronous = true
	w.start("one", openURL(t, set.URL), nil)
	w.start("two", openURL(t, set.URL), nil)
	w.settled(15, 15)
	before := w.holds()

	info, err := hangs.Info(ctx, "server").Result()
	require.NoError(t, err)
	pid, err := strconv.Atoi(regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(info)[1])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	require.Never(t, func() bool {
		return slices.ContainsFunc(without, func(account string) bool {
			return before[account].held.Err() != nil
		})
	}, 8*time.Second, 20*time.Millisecond)
	w.settled(15, 15)
}

// The shards of a server that hangs wait for it. What others hold is accepted, taken over and done, also while the
// replicas' beats hang.
func TestAServerThatHangsTakesOnlyItsOwnClicksAlong(t *testing.T) {
	full.Only(t)
	t.Parallel()
	ctx, set := t.Context(), redistest.StartCluster(t, nil)
	one, two := openURL(t, set.URL), openURL(t, set.URL)
	dying, die, died := worker(t, one)
	users := map[int]string{} // one of each shard
	for i := 0; len(users) < len(store.Shards()); i++ {
		user := fmt.Sprint("U", i)
		users[store.ShardOf(user)] = user
	}
	acceptOf := func(s *store.Store, user, work string) {
		eventually(t, "accept", func() error {
			_, _, err := s.Inbox.Accept(ctx, []byte(work+user), lane("acme:"+user), work+user)
			return err
		})
	}
	for _, user := range users {
		acceptOf(one, user, "first ")
	}
	for range users {
		await(t, dying)
	}
	var hangs *redis.Client // the one that has the beats
	for _, m := range set.Masters() {
		if rdb := client(t, m.Addr); rdb.ZCard(ctx, "{work}:beats").Err() == nil {
			hangs = rdb
		}
	}
	var want []string
	for shard, user := range users {
		if err := hangs.Exists(ctx, fmt.Sprintf("{work-%d}:stream", shard)).Err(); redis.HasErrorPrefix(err, "MOVED") {
			want = append(want, "first "+user, "second "+user)
		}
	}
	require.NotEmpty(t, want)
	jobs, _, _ := worker(t, two)
	eventually(t, "two lives", func() error {
		if n := hangs.ZCard(ctx, "{work}:beats").Val(); n != 2 {
			return fmt.Errorf("%d beat", n)
		}
		return nil
	})
	info, err := hangs.Info(ctx, "server").Result()
	require.NoError(t, err)
	pid, err := strconv.Atoi(regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(info)[1])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	die()
	require.ErrorIs(t, await(t, died), context.Canceled)
	for _, work := range want {
		if user, second := strings.CutPrefix(work, "second "); second {
			acceptOf(two, user, "second ")
		}
	}
	got := map[string]bool{} // more than is wanted where the server was given up meanwhile
	for slices.ContainsFunc(want, func(work string) bool { return !got[work] }) {
		j := await(t, jobs)
		require.NoError(t, j.Done(ctx))
		require.False(t, got[j.work], "%s came twice", j.work)
		got[j.work] = true
	}
}
