package store_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// ledger does as the commands need it: nothing of an account that is still rebuilt.
type ledger struct{ *store.Ledger }

func (l ledger) Begin(ctx context.Context, account, attack string) (record.Basis, *store.Draft, error) {
	return l.Ledger.Begin(ctx, account, attack, false)
}

func (l ledger) Resume(ctx context.Context, ch record.Change) (context.Context, *store.Claim, error) {
	return l.Ledger.Resume(ctx, ch, false)
}

// conforming is a replica's store of the account acme, which it polls, and whose state has begun. Nothing else was
// written to it.
type conforming struct {
	*store.Store

	Ledger ledger
	redis  *world
}

// polled is what a poll found. Attacks go by the service's ids.
type polled struct {
	At       time.Time // on the service's clock
	Attacks  []apiclient.Attack
	Storms   map[string]record.Storm // by the id of the attack that stands for the storm
	In       map[string]string       // the storms that attacks are in
	Evidence map[string]record.Evidence
	Outage   record.Outage // zero: none; without an end it is ongoing
	Sources  map[netip.Addr]record.SourceActivity
}

// What commands rely on holds on each Redis. With a neighbour each write is many, which with the race detector outlive
// the leases.
func TestTheStoreKeepsWhatCommandsRelyOn(t *testing.T) {
	t.Parallel()
	all := map[string]func(t testing.TB) *world{"miniredis": newMini}
	if !testing.Short() {
		all["redis"] = newReal
	}
	if full.On() {
		all["miniredis with a neighbour"], all["redis with a neighbour"] = withNeighbour(newMini), withNeighbour(newReal)
	}
	for name, start := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, test := range conformance {
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					test(t, newConforming(t, start(t)))
				})
			}
		})
	}
}

// conformance is what commands rely on, each of it on a store of its own.
var conformance = map[string]func(t *testing.T, s conforming){
	"changes come newest first":                    testChanges,
	"a draft writes what nobody wrote since":       testDraft,
	"a claim is one's until the outcome is stored": testClaim,
	"a claim is all or none":                       testClaimAll,
	"a lost claim writes nothing":                  testLostClaim,
	"events come with their state":                 testEvents,
	"an event is never without its state":          testOneStep,
	"changes become due, the oldest first":         testDue,
	"decisions keep what people are notified of":   testDecisions,
	"audit entries are numbered in each account":   testAudit,
	"audit entries that can't be read":             testSpoiled,
	"efficacy is stored by change":                 testEfficacy,
	"requests come newest first":                   testRequests,
	"triage and mutes":                             testTriage,
	"the account's context":                        testContext,
	"permission losses":                            testPermissions,
	"what a change goes by":                        testBasis,
	"drills":                                       testDrills,
	"attacks and their history":                    testPolled,
	"outages come oldest first":                    testOutages,
	"storms come newest first":                     testStorms,
}

// withNeighbour starts a Redis that another installation uses, too, for an account of the same name. Neither may see
// anything of the other.
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

func newConforming(t *testing.T, w *world) conforming {
	s := w.openOwner(t)
	begin(t, s, "acme")
	return conforming{s, ledger{s.Ledger}, w}
}

// polled stores what a poll found.
func (s conforming) polled(t *testing.T, p polled) {
	require.NoError(t, s.Attacks.Save(t.Context(), "acme", updateOf(p)))
}

// events are the account's, in no order.
func (s conforming) events(t *testing.T) []record.Event {
	events, err := s.Outbox.Waiting(t.Context(), "acme")
	require.NoError(t, err)
	return events
}

// loseClaim has the holder of a change's claim lose it.
func (s conforming) loseClaim(t *testing.T, ch record.Change) {
	require.NoError(t, s.redis.rdb.Del(t.Context(), s.redis.prefix+"{a:acme}:claim:"+ch.ID).Err())
}

// spoil stores an audit entry that has the next number and can't be read.
func (s conforming) spoil(t *testing.T) {
	n, err := s.redis.rdb.Incr(t.Context(), s.redis.prefix+"{a:acme}:audited").Result()
	require.NoError(t, err)
	rubbish := redis.XAddArgs{Stream: s.redis.prefix + "{a:acme}:audit", Values: []any{"n", n, "entry", "rubbish"}}
	require.NoError(t, s.redis.rdb.XAdd(t.Context(), &rubbish).Err())
}

// updateOf is what the poller saves.
func updateOf(p polled) record.PollUpdate {
	u := record.PollUpdate{LastGood: p.At, Attacks: map[string]record.AttackState{}, Evidence: p.Evidence, Sources: p.Sources}
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

// now is a time as it comes back from the store.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func ann() record.Actor {
	return record.Actor{ID: "U1", Team: "T1", Name: "Ann", Via: record.ViaButton}
}

// drafted does something with a draft on what is stored now.
func (s conforming) drafted(t *testing.T, do func(d *store.Draft)) {
	t.Helper()
	_, d, err := s.Ledger.Begin(t.Context(), "acme", "")
	require.NoError(t, err)
	do(d)
}

// save stores changes without an audit entry.
func (s conforming) save(t *testing.T, all ...record.Change) {
	t.Helper()
	s.drafted(t, func(d *store.Draft) {
		require.Zero(t, must(d.Save(t.Context(), record.Saves{Changes: all}))(t), "there is no entry")
	})
}

func entry(at time.Time, line string) record.AuditEntry {
	return record.AuditEntry{
		At: at, Account: "acme", Actor: ann(), Line: line, Outcome: "done",
		Before: []string{"nothing"}, After: []string{"203.0.113.7"}, Change: "c1", Attack: "a1", Why: "it is still trying",
	}
}

// saved is the error of a save.
func saved(_ int64, err error) error { return err }
