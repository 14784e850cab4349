package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/storetest"
	"github.com/wafbot/wafbot/poller"
)

// ledger does as the commands need it: nothing of an account that is still rebuilt.
type ledger struct{ *store.Ledger }

func (l ledger) Begin(ctx context.Context, account, attack string) (record.Basis, commands.Draft, error) {
	return l.Ledger.Begin(ctx, account, attack, false)
}

func (l ledger) Resume(ctx context.Context, ch record.Change) (context.Context, commands.Claim, error) {
	return l.Ledger.Resume(ctx, ch, false)
}

// efficacyStore is what judging mitigations reads and writes.
type efficacyStore struct {
	*store.Ledger
	*store.Triage
}

func TestTheStoreKeepsWhatCommandsRelyOn(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t testing.TB) *world{"miniredis": newMini, "redis": newReal, "miniredis with a neighbour": withNeighbour(newMini), "redis with a neighbour": withNeighbour(newReal)} {
		if strings.HasPrefix(name, "redis") && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Store { return conforming(t, start(t)) })
		})
	}
}

// withNeighbour starts a Redis that another installation uses, too, for an account of the same name. Neither may see anything of the other.
func withNeighbour(start func(t testing.TB) *world) func(t testing.TB) *world {
	return func(t testing.TB) *world {
		w := start(t)
		neighbour := &world{addr: w.addr, prefix: "blue"}
		leaveEverything(t, neighbour.open(t))
		w.prefix = "blue-green:"
		before := w.lasting(t, "blue{")
		require.NotEmpty(t, before)
		t.Cleanup(func() {
			require.Equal(t, before, w.lasting(t, "blue{"))
			for _, key := range w.keys(t) {
				require.True(t, strings.HasPrefix(key, "blue{") || strings.HasPrefix(key, w.prefix+"{"), key)
			}
		})
		return w
	}
}

// lasting is what keys with a prefix hold that don't run out.
func (w *world) lasting(t testing.TB, prefix string) map[string]any {
	ctx, all := context.WithoutCancel(t.Context()), map[string]any{}
	for _, key := range w.keys(t) {
		if !strings.HasPrefix(key, prefix) || w.rdb.PTTL(ctx, key).Val() > 0 {
			continue
		}
		read := map[string][]any{
			"string": {"GET", key}, "hash": {"HGETALL", key}, "set": {"SMEMBERS", key}, "zset": {"ZRANGE", key, 0, -1}, "list": {"LRANGE", key, 0, -1}, "stream": {"XRANGE", key, "-", "+"},
		}[w.rdb.Type(ctx, key).Val()]
		if read == nil {
			continue // it has run out meanwhile
		}
		held, err := w.rdb.Do(ctx, read...).Result()
		require.NoError(t, err, key)
		all[key] = held
	}
	return all
}

// conforming is a replica's store of an account that it polls.
func conforming(t *testing.T, w *world) storetest.Store {
	s := w.openOwner(t)
	begin(t, s, storetest.Account)
	return storetest.Store{
		Ledger: ledger{s.Ledger}, Efficacy: efficacyStore{s.Ledger, s.Triage}, Due: s.Ledger, Attacks: s.Attacks, Contexts: s.Triage, History: s.Attacks, Triage: s.Triage,
		Storms: s.Attacks, Permissions: s.Permissions, Approvals: s.Approvals, Drills: s.Drills, Audit: s.Audit,
		Polled: func(t *testing.T, p storetest.Polled) {
			require.NoError(t, s.Attacks.Save(t.Context(), storetest.Account, updateOf(p)))
		},
		Events: func(t *testing.T) []record.Event {
			events, err := s.Outbox.Waiting(t.Context(), storetest.Account)
			require.NoError(t, err)
			return events
		},
		LoseClaim: func(t *testing.T, ch record.Change) {
			require.NoError(t, w.rdb.Del(t.Context(), w.prefix+"{a:acme}:claim:"+ch.ID).Err())
		},
		Spoil: func(t *testing.T, _ time.Time) {
			n, err := w.rdb.Incr(t.Context(), w.prefix+"{a:acme}:audited").Result()
			require.NoError(t, err)
			require.NoError(t, w.rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: w.prefix + "{a:acme}:audit", Values: []any{"n", n, "entry", "rubbish"}}).Err())
		},
	}
}

// updateOf is what the poller saves.
func updateOf(p storetest.Polled) poller.Update {
	u := poller.Update{LastGood: p.At, Attacks: map[string]record.AttackState{}, Evidence: p.Evidence, Sources: p.Sources}
	for _, a := range p.Attacks {
		one := record.AttackState{Attack: a, ObservedAt: p.At, Notified: true, Channel: "C1", StormID: p.In[a.ID]}
		if storm, ok := p.Storms[a.ID]; ok {
			one.Storm = &storm
		}
		u.Attacks[a.ID] = one
	}
	switch o := p.Outage; {
	case o.From.IsZero():
	case o.Until.IsZero():
		u.Outage = &o
	default:
		u.Gap = &o
	}
	return u
}
