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

// ledger takes locks as the commands do: never of an account that is still read back.
type ledger struct{ *store.Store }

func (l ledger) Lock(ctx context.Context, account string) (context.Context, commands.Lock, error) {
	return l.Store.Lock(ctx, account, false)
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
		Ledger: ledger{s}, Effects: s, Due: s, Facts: s, Scenes: s, Records: s, Desk: s, Storms: s, Ties: s, Requests: s, Drills: s, Audit: s,
		Polled: func(t *testing.T, p storetest.Polled) {
			require.NoError(t, s.Remember(t.Context(), storetest.Account, updateOf(p)))
		},
		Wanted: func(t *testing.T) (ids []string) {
			wanted, err := s.Wanted(t.Context(), storetest.Account)
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

// updateOf is what the poller writes down.
func updateOf(p storetest.Polled) poller.Update {
	u := poller.Update{LastGood: p.At, Shown: map[string]record.AttackState{}, Evidence: map[string]record.Evidence{}}
	for _, a := range p.Attacks {
		one := record.AttackState{Attack: a, SeenAt: p.At, Told: true, Channel: "C1", In: p.In[a.ID]}
		if storm, ok := p.Storms[a.ID]; ok {
			one.Storm = (*record.Storm)(&storm)
		}
		u.Shown[a.ID] = one
	}
	for id, e := range p.Evidence {
		u.Evidence[id] = record.Evidence{First: record.Observation(e.First), Late: e.Late, Dropped: e.Dropped}
	}
	switch spell := p.Blind; {
	case spell.From.IsZero():
	case spell.Until.IsZero():
		u.Blind = &record.Outage{From: spell.From, Why: spell.Why}
	default:
		u.Absence = &record.Outage{From: spell.From, Until: spell.Until, Why: spell.Why}
	}
	if p.Sources != nil {
		u.Seen = map[netip.Addr]record.SourceActivity{}
		for source, seen := range p.Sources {
			u.Seen[source] = record.SourceActivity{Attacks: seen.Attacks, Apps: seen.Apps}
		}
	}
	return u
}
