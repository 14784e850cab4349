package store_test

import (
	"context"
	"net/netip"
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

// ledger takes locks as the commands do: never of an account that is still rebuilt.
type ledger struct{ *store.Ledger }

// efficacyStore is what judging mitigations reads and writes.
type efficacyStore struct {
	*store.Ledger
	*store.Triage
}

func (l ledger) Lock(ctx context.Context, account string) (context.Context, commands.Lock, error) {
	return l.Ledger.Lock(ctx, account, false)
}

func TestTheStoreKeepsWhatCommandsRelyOn(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t testing.TB) *world{"miniredis": newMini, "redis": newReal} {
		if name == "redis" && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Store { return conforming(t, start(t)) })
		})
	}
}

// conforming is a replica's store of an account that it polls.
func conforming(t *testing.T, w *world) storetest.Store {
	s := w.openTending(t)
	begin(t, s, storetest.Account)
	return storetest.Store{
		Ledger: ledger{s.Ledger}, Effects: efficacyStore{s.Ledger, s.Triage}, Due: s.Ledger, Facts: s.Attacks, Scenes: s.Triage, Records: s.Attacks, Desk: s.Triage,
		Storms: s.Attacks, Ties: s.Permissions, Requests: s.Approvals, Drills: s.Drills, Audit: s.Audit,
		Polled: func(t *testing.T, p storetest.Polled) {
			require.NoError(t, s.Attacks.Save(t.Context(), storetest.Account, updateOf(p)))
		},
		Wanted: func(t *testing.T) (ids []string) {
			wanted, err := s.Attacks.WantedCards(t.Context(), storetest.Account)
			require.NoError(t, err)
			for id := range wanted {
				ids = append(ids, id)
			}
			return ids
		},
		LoseLock: func(t *testing.T) { require.NoError(t, w.rdb.Del(t.Context(), "{a:acme}:lock").Err()) },
		Spoil: func(t *testing.T, _ time.Time) {
			n, err := w.rdb.Incr(t.Context(), "{a:acme}:audited").Result()
			require.NoError(t, err)
			require.NoError(t, w.rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: "{a:acme}:audit", Values: []any{"n", n, "entry", "rubbish"}}).Err())
		},
	}
}

// updateOf is what the poller saves.
func updateOf(p storetest.Polled) poller.Update {
	u := poller.Update{LastGood: p.At, Attacks: map[string]record.AttackState{}, Evidence: map[string]record.Evidence{}}
	for _, a := range p.Attacks {
		one := record.AttackState{Attack: a, ObservedAt: p.At, Notified: true, Channel: "C1", StormID: p.In[a.ID]}
		if storm, ok := p.Storms[a.ID]; ok {
			one.Storm = &storm
		}
		u.Attacks[a.ID] = one
	}
	for id, e := range p.Evidence {
		u.Evidence[id] = record.Evidence{First: e.First, Late: e.Late, Dropped: e.Dropped}
	}
	switch o := p.Blind; {
	case o.From.IsZero():
	case o.Until.IsZero():
		u.Outage = &record.Outage{From: o.From, Why: o.Why}
	default:
		u.Gap = &record.Outage{From: o.From, Until: o.Until, Why: o.Why}
	}
	if p.Sources != nil {
		u.Sources = map[netip.Addr]record.SourceActivity{}
		for source, seen := range p.Sources {
			u.Sources[source] = record.SourceActivity{Attacks: seen.Attacks, Apps: seen.Apps}
		}
	}
	return u
}
