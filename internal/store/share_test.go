package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func accounts(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("account-", i)
	}
	return all
}

// startOn starts a replica that reaches its Redis over a wire of its own.
func (w *watch) startOn(redis *world, name string) *replica {
	net := redis.newWire(w.t)
	if redis.wire != nil {
		time.Sleep(time.Millisecond) // replicas have their order by when they begin
	}
	return w.start(name, net.open(w.t), net)
}

// evenly is how n accounts are shared out among so many replicas, the most first.
func evenly(n, replicas int) (shares []int) {
	for i := range min(n, replicas) {
		share := n / replicas
		if i < n%replicas {
			share++
		}
		shares = append(shares, share)
	}
	return shares
}

// Replicas come, die, are paused and stop; each account is owned by one at a time all along, and all are shared out
// evenly every time.
func TestAccountsAreSharedOutEvenly(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onEach(t, func(t *testing.T, redis *world) {
				w := newWatch(t, accounts(n)...)
				one := w.startOn(redis, "one")
				w.settled(evenly(n, 1)...)
				two := w.startOn(redis, "two")
				w.settled(evenly(n, 2)...)
				three, four := w.startOn(redis, "three"), w.startOn(redis, "four")
				w.settled(evenly(n, 4)...)

				two.kill()
				w.settled(evenly(n, 3)...)
				three.stop()
				require.NoError(t, await(t, three.ended))
				w.settled(evenly(n, 2)...)
				resume := four.net.Stall()
				w.settled(evenly(n, 1)...)
				resume()
				w.settled(evenly(n, 2)...)
				one.stop()
				four.stop()
				require.NoError(t, await(t, one.ended))
				require.NoError(t, await(t, four.ended))
				require.Empty(t, w.holds())
			})
		})
	}
}

func TestWhatADeadReplicaOwnedIsTakenOverWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(*replica){
		"its network is cut": (*replica).kill,
		"nothing goes out":   func(r *replica) { r.net.SetFilters(proxytest.Drop, nil) },
		"nothing comes back": func(r *replica) { r.net.SetFilters(nil, proxytest.Drop) }, // renewed once more, without knowing
		"it is paused":       func(r *replica) { r.net.Stall() },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, redis *world) {
				w := newWatch(t, "acme")
				one := w.startOn(redis, "one")
				first := await(t, w.begun)
				w.startOn(redis, "two")
				redis.requireNever(t, func() bool { return len(w.begun) > 0 }, 1500*time.Millisecond)
				require.NoError(t, first.held.Err())
				die(one)
				died := time.Now()
				next := await(t, w.begun)
				require.Equal(t, "two owns acme", next.String())
				redis.requireWithin(t, 5*time.Second, next.began.Sub(died))
				require.ErrorContains(t, context.Cause(first.held), "lease lost")
			})
		})
	}
}

// With accounts the round trips don't grow that a replica needs to find the last ones of its share.
func TestManyAccountsAreTakenOverInFewRoundTrips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 20
		n := full.Of(100, 400)
		redis, w := newDialled(t), newWatch(t, accounts(n)...)
		dead := w.startOn(redis, "0")
		var asked [3]atomic.Int64
		for i := range asked {
			w.startOn(redis, fmt.Sprint(i+1)).net.SetFilters(func(chunk []byte) ([]byte, bool) {
				if bytes.Contains(chunk, []byte(":lease")) {
					asked[i].Add(1)
				}
				return chunk, true
			}, nil)
		}
		w.settled(evenly(n, 4)...)
		for i := range asked {
			asked[i].Store(0)
		}
		dead.kill()
		died := time.Now()
		w.settled(evenly(n, 3)...)
		require.Less(t, time.Since(died), 5*time.Second)
		for i := range asked {
			require.Less(t, asked[i].Load(), int64(most), "chunks about leases")
		}
	})
}

func TestACleanStopHandsOverAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, redis *world) {
		w := newWatch(t, "acme")
		one := w.startOn(redis, "one")
		await(t, w.begun)
		w.startOn(redis, "two")
		require.Eventually(t, func() bool { n, _ := redis.rdb.ZCard(t.Context(), "{work}:beats").Result(); return n == 2 }, patience, 10*time.Millisecond)
		one.stop()
		stopped := time.Now()
		redis.requireWithin(t, 2*time.Second, await(t, w.begun).began.Sub(stopped)) // not only when the lease runs out
		require.NoError(t, await(t, one.ended))
	})
}

// What is in hand is finished first, by a stop as well as when another replica is to have the account.
func TestAnAccountIsGivenUpWhenWhatIsInHandIsDone(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(*watch, *world, *replica){
		"surplus": func(w *watch, redis *world, _ *replica) { w.startOn(redis, "two") },
		"stop": func(w *watch, redis *world, one *replica) {
			w.startOn(redis, "two")
			one.stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, redis *world) {
				w := newWatch(t, "a", "b")
				w.busy = true
				one := w.startOn(redis, "one")
				begun := map[string]*hold{}
				for range 2 {
					h := await(t, w.begun)
					begun[h.account] = h
				}
				giveUp(w, redis, one)
				given := func() (all []*hold) {
					for _, h := range begun {
						if h.more.Err() != nil {
							all = append(all, h)
						}
					}
					return all
				}
				require.Eventually(t, func() bool { return len(given()) > 0 }, patience, 10*time.Millisecond)
				redis.requireNever(t, func() bool { return len(w.begun) > 0 }, 1500*time.Millisecond)
				for _, h := range given() {
					require.NoError(t, h.held.Err(), "it has time to finish, and no other begins")
					h.end()
				}
				for range given() {
					h := await(t, w.begun)
					require.Equal(t, "two", h.replica.name)
					h.end()
				}
				for _, h := range begun {
					h.end()
				}
			})
		})
	}
}

func TestWhatIsInHandWhenMoreEndsHasTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t, "acme")
		w.busy = true
		one := w.startOn(newDialled(t), "one")
		h := await(t, w.begun)
		one.stop()
		stopped := time.Now()
		await(t, h.held.Done())
		require.Equal(t, 10*time.Second, time.Since(stopped))
		require.ErrorContains(t, context.Cause(h.held), "not given up")
		require.NoError(t, await(t, one.ended))
	})
}

// A process that was stopped and goes on looks at its context before its timers have run.
func TestALeaseIsOverToTheInstant(t *testing.T) {
	t.Parallel()
	for range 100 { // the timer may be quick
		held, end := store.Held(t.Context(), time.Now())
		require.ErrorIs(t, held.Err(), context.Canceled)
		require.ErrorContains(t, context.Cause(held), "lease lost")
		end()
	}
	held, end := store.Held(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, held.Err())
	end()
	require.ErrorIs(t, held.Err(), context.Canceled)
}

func TestPendingComesAboutOnceASecond(t *testing.T) {
	onEach(t, func(t *testing.T, redis *world) {
		s := redis.open(t)
		h := owning(t, s)
		require.Never(t, func() bool { return len(h.pending) > 0 }, 1500*time.Millisecond, 100*time.Millisecond, "there are none")
		until := time.Now().Add(time.Hour).Truncate(time.Second)
		require.NoError(t, s.Outbox.Announce(t.Context(), event("n1", "x:1")))
		save(t, s, record.Change{ID: "c1", AttackID: "a1", State: record.StateDone, At: noon, Until: until, Steps: rule, CheckAt: until.Add(-15 * time.Minute)})
		save(t, s, record.Change{ID: "c2", AttackID: "a2", State: record.StateDone, At: noon, Until: until.Add(time.Hour), Steps: rule, CheckAt: until.Add(45 * time.Minute)})
		require.Eventually(t, func() bool {
			d := await(t, h.pending)
			return d.Events == 1 && d.StaleCards == 2 && d.Due.Equal(until.Add(-15*time.Minute))
		}, patience, time.Millisecond)
	})
}

// A replica that owns an account no longer, or not any more as it was, saves nothing and posts nothing: what was posted
// before is lost with the rest.
func TestOnlyTheOwnerOfAnAccountStores(t *testing.T) {
	t.Parallel()
	update := record.PollUpdate{LastGood: noon, Attacks: shownAll("x:1"), Events: []record.Event{event("n1", "x:1")}}
	for name, lose := range map[string]func(t *testing.T, redis *world, s *store.Store) (held context.Context){
		"it never did": func(t *testing.T, _ *world, _ *store.Store) context.Context { return t.Context() },
		"another does": func(t *testing.T, redis *world, s *store.Store) context.Context {
			held := owning(t, s).held
			require.NoError(t, redis.rdb.Set(t.Context(), "{a:acme}:lease", "another", 0).Err())
			return held
		},
		"redis was emptied": func(t *testing.T, redis *world, s *store.Store) context.Context {
			held := owning(t, s).held
			require.NoError(t, redis.rdb.FlushAll(t.Context()).Err())
			return held
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, redis *world) {
				s := redis.open(t)
				held := lose(t, redis, s)
				refused := func(err error) {
					t.Helper()
					require.Error(t, err)
					if !errors.Is(err, context.Canceled) { // the loss was noticed
						require.ErrorContains(t, err, "lease lost")
					}
				}
				refused(s.Attacks.Save(held, "acme", update))
				if _, err := s.Outbox.BeginNotify(held, "acme", "n1", noon); name != "it never did" { // a replica that answers a request may post without
					refused(err)
				}
				m, err := s.Attacks.Load(t.Context(), "acme")
				require.NoError(t, err)
				require.Empty(t, m.Attacks)
				require.True(t, m.LastGood.IsZero())
				require.Empty(t, waitingEvents(t, s))
			})
		})
	}
}

func TestALostLeaseEndsItsContextAndIsTakenAgain(t *testing.T) {
	onEach(t, func(t *testing.T, redis *world) {
		w := newWatch(t, "acme")
		one := w.startOn(redis, "one")
		first := await(t, w.begun)
		require.NoError(t, redis.rdb.FlushAll(t.Context()).Err())
		await(t, first.held.Done())
		require.ErrorContains(t, context.Cause(first.held), "lease lost")
		await(t, w.begun)
		require.NoError(t, one.store.Attacks.Save(t.Context(), "acme", record.PollUpdate{LastGood: noon}))
	})
}

// An older replica that meets what a newer one wrote touches nothing.
func TestAnOlderReplicaKeepsItsHandsOff(t *testing.T) {
	onEach(t, func(t *testing.T, redis *world) {
		w := newWatch(t, "acme", "beta")
		one := w.startOn(redis, "one")
		await(t, w.begun)
		version, err := redis.rdb.Get(t.Context(), "{work}:version").Int()
		require.NoError(t, err)
		require.NoError(t, redis.rdb.Set(t.Context(), "{work}:version", version+1, 0).Err())
		require.ErrorIs(t, await(t, one.ended), store.ErrNewer)
		require.Empty(t, w.holds())

		require.NoError(t, redis.rdb.Set(t.Context(), "{a:acme}:epoch", fmt.Sprint(version+1, " later"), 0).Err())
		before := redis.keys(t)
		two := w.startOn(redis, "two")
		require.ErrorIs(t, await(t, two.ended), store.ErrNewer)
		_, _, err = redis.open(t).Ledger.Begin(t.Context(), "acme", "", false)
		require.ErrorIs(t, err, store.ErrNewer)
		require.ElementsMatch(t, before, redis.keys(t))

		require.NoError(t, redis.rdb.Set(t.Context(), "{work}:version", version, 0).Err())
		w.startOn(redis, "three")
		require.Eventually(t, func() bool { return w.holds()["beta"] != nil }, patience, 10*time.Millisecond)
		require.Nil(t, w.holds()["acme"], "its state is newer")
	})
}

// A newer replica that meets what an older one wrote reads nothing of it, and touches nothing.
func TestTheStateOfAnOlderReplicaIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, redis *world) {
		w := newWatch(t, "acme", "beta")
		require.NoError(t, redis.rdb.Set(t.Context(), "{work}:version", 1, 0).Err())
		require.NoError(t, redis.rdb.Set(t.Context(), "{a:acme}:epoch", "1 earlier", 0).Err())
		before := redis.keys(t)
		one := w.startOn(redis, "one")
		require.ErrorIs(t, await(t, one.ended), store.ErrOlder)
		_, _, err := redis.open(t).Ledger.Begin(t.Context(), "acme", "", false)
		require.ErrorIs(t, err, store.ErrOlder)
		require.Empty(t, w.holds())
		require.ElementsMatch(t, before, redis.keys(t))
	})
}

// Answers that are lost leave no account without anybody.
func TestALeaseWhoseAnswerWasLostIsTakenSoon(t *testing.T) {
	onEach(t, func(t *testing.T, redis *world) {
		net := redis.newWire(t)
		s := net.open(t)
		require.NoError(t, s.Ping(t.Context()))
		var lost sync.Once
		net.SetFilters(nil, func(chunk []byte) ([]byte, bool) {
			goOn := true
			if string(chunk) == "$5\r\ntaken\r\n" {
				lost.Do(func() { goOn = false })
			}
			if !goOn {
				return nil, false
			}
			return chunk, true
		})
		w := newWatch(t, "acme")
		w.start("one", s, net)
		await(t, w.begun)
	})
}

// The lease that was taken would run for 4 s, in which no replica owned the account.
func TestALeaseWhoseAnswerWasLostIsTakenAtTheNextTry(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net := w.newWire(t)
		s := net.open(t)
		require.NoError(t, s.Ping(t.Context()))
		var lost, losing atomic.Bool
		net.SetFilters(func(chunk []byte) ([]byte, bool) {
			takes := bytes.Contains(chunk, []byte("{a:acme}:lease")) && bytes.Contains(chunk, []byte("redis.call"))
			losing.Store(takes && lost.CompareAndSwap(false, true))
			return chunk, true
		}, func(chunk []byte) ([]byte, bool) {
			if losing.Load() {
				return nil, false
			}
			return chunk, true
		})
		all := newWatch(t, "acme")
		all.start("it", s, nil)
		await(t, all.begun)
		require.True(t, lost.Load())
	})
}
