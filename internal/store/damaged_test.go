package store_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// damages are what somebody may have left in the place of a value of each kind.
var damages = map[string]func(t *testing.T, rdb *redis.Client, key, kind string){
	"another kind": func(t *testing.T, rdb *redis.Client, key, kind string) {
		_, err := rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error { // a beat may come between
			p.Del(t.Context(), key)
			if kind == "list" {
				return p.Set(t.Context(), key, "garbage", 0).Err()
			}
			return p.RPush(t.Context(), key, "garbage").Err()
		})
		require.NoError(t, err)
	},
	"garbage":        spoil("garbage"),
	"cut short":      spoil(`{"id":"c1","at":"2026-`),
	"another form":   spoil(`{"id":7,"at":[],"state":{},"n":"x","attack":{"ID":[]}}`),
	"nothing at all": spoil(""),
}

// spoil writes a text in the place of each value that a key holds.
func spoil(text string) func(t *testing.T, rdb *redis.Client, key, kind string) {
	return func(t *testing.T, rdb *redis.Client, key, kind string) {
		ctx := t.Context()
		switch kind {
		case "string":
			require.NoError(t, rdb.Set(ctx, key, text, 0).Err())
		case "list":
			require.NoError(t, rdb.LSet(ctx, key, 0, text).Err())
		case "hash":
			for field := range rdb.HGetAll(ctx, key).Val() {
				require.NoError(t, rdb.HSet(ctx, key, field, text).Err())
			}
		case "set":
			require.NoError(t, rdb.SAdd(ctx, key, text).Err())
		case "zset":
			require.NoError(t, rdb.ZAdd(ctx, key, redis.Z{Score: 1, Member: text}).Err())
		case "stream":
			require.NoError(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: map[string]any{"garbage": text}}).Err())
		}
	}
}

// useEverything reads and writes as a replica does, and returns what fails.
func useEverything(t *testing.T, s *store.Store) (faults []error) {
	ctx := t.Context()
	try := func(err error) {
		if err == nil || !strings.Contains(err.Error(), "lease lost") { // its owner takes it again
			faults = append(faults, err)
		}
	}
	attack := record.AttackID("acme", "x:1")
	try(s.Replicas.Hear(ctx))
	_, err := s.Attacks.Load(ctx, "acme")
	try(err)
	_, err = s.Attacks.LastPoll(ctx, "acme")
	try(err)
	_, err = s.Attacks.StatesOf(ctx, "acme", []string{attack})
	try(err)
	_, err = s.Attacks.Outages(ctx, "acme", time.Time{})
	try(err)
	_, _, err = s.Attacks.Evidence(ctx, "acme", attack)
	try(err)
	_, _, err = s.Cards.BeginCard(ctx, event("n1", "x:1"), noon)
	try(err)
	_, err = s.Cards.Stale(ctx, "acme")
	try(err)
	_, err = s.Outbox.Waiting(ctx, "acme")
	try(err)
	_, err = s.Outbox.Notified(ctx, event("n1", "x:1"), "C1", "1.2", true)
	try(err)
	_, err = s.Triage.AllTriage(ctx, "acme")
	try(err)
	_, err = s.Triage.Pages(ctx, "acme")
	try(err)
	_, err = s.Triage.Drill(ctx, "acme")
	try(err)
	_, err = s.Ledger.Requests(ctx, "acme")
	try(err)
	_, _, err = s.Ledger.MessageAt(ctx, "acme", "r1")
	try(err)
	_, _, err = s.Ledger.MessageAt(ctx, "acme", "permission-1")
	try(err)
	_, err = s.Waiting(ctx, []string{"acme"})
	try(err)
	_, err = s.Ledger.Efficacy(ctx, "acme")
	try(err)
	_, err = s.Ledger.DueChanges(ctx, "acme", time.Now())
	try(err)
	_, _, err = s.Replicas.NotEnded(ctx, nil)
	try(err)
	_, err = s.Replicas.BeginRestart(ctx, "another")
	try(err)
	_, err = s.Slack.PostSlot(ctx, "C1", 1, 4, 0)
	try(err)
	_, err = s.Slack.EditSlot(ctx, 40, record.EditTurn{Of: "acme"})
	try(err)
	_, err = s.Slack.TakeLink(ctx, "l2", 10)
	try(err)
	_, err = s.Slack.PeopleMark(ctx, "U1")
	try(err)
	_, _, err = s.Inbox.Accept(ctx, []byte("work"), lane("acme:U1"), "3")
	try(err)
	_, d, err := s.Ledger.Begin(ctx, "acme", attack, true)
	if try(err); err == nil {
		_, err = d.Save(ctx, record.Saves{Changes: []record.Change{record.Change{ID: "c9", Account: "acme", State: record.StateDone, At: noon}}, Entry: &record.AuditEntry{Account: "acme", At: time.Now()}})
		try(err)
	}
	return slices.DeleteFunc(faults, func(err error) bool { return err == nil })
}

// Whatever a key holds, the rest goes on: what can't be read is set aside, once, with its name.
func TestDamagedValuesAreSetAside(t *testing.T) {
	t.Parallel()
	for _, name := range full.Some(2, slices.Sorted(maps.Keys(damages))) {
		damage := damages[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "another kind" { // a miniredis answers XLEN twice
				if testing.Short() {
					t.Skip("wants a real redis-server")
				}
				requireDamageIsSetAside(t, newReal(t), damage)
				return
			}
			synctest.Test(t, func(t *testing.T) { requireDamageIsSetAside(t, newDialled(t), damage) })
		})
	}
}

// requireDamageIsSetAside damages each key in turn.
func requireDamageIsSetAside(t *testing.T, w *world, damage func(t *testing.T, rdb *redis.Client, key, kind string)) {
	t.Helper()
	s := w.openWith(t, store.Config{Off: true})
	leaveEverything(t, s)
	require.Empty(t, useEverything(t, s))
	for _, key := range w.keys(t) {
		kind := w.rdb.Type(t.Context(), key).Val()
		before := w.rdb.Dump(t.Context(), key).Val()
		damage(t, w.rdb, key, kind)
		if key == "{a:acme}:attacks" || key == "{a:acme}:last_good" || key == "{a:acme}:first_start" {
			useEverything(t, s) // it fails once, and is rebuilt
		}
		require.Empty(t, useEverything(t, s), "%s, which held %q", key, before)
	}
}

// A change whose record can't be read may be active: it stays known by its id, also when its record was set aside
// before.
func TestAnUnreadableChangeIsUnknownNotAbsent(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var named []string
		s := w.openWith(t, store.Config{Damaged: func(names []string) { named = append(named, names...) }})
		owning(t, s)
		_, err := draft(t, s).Save(t.Context(), record.Saves{Changes: []record.Change{begunAs("c1"), begunAs("c2")}})
		require.NoError(t, err)
		require.NoError(t, w.rdb.HSet(t.Context(), "{a:acme}:changes", "c1", `{"id":"c1","steps":7}`).Err())
		for range 2 {
			all, err := s.Ledger.Changes(t.Context(), "acme")
			require.NoError(t, err)
			require.Len(t, all, 2)
			require.Equal(t, "c2", all[0].ID)
			require.Equal(t, record.Change{ID: "c1", Account: "acme", State: record.StateUnreadable, Does: "Something unknown"}, all[1])
			b, _, err := s.Ledger.Begin(t.Context(), "acme", "", true)
			require.NoError(t, err)
			require.Equal(t, all, b.Changes)
			require.Equal(t, []string{"{a:acme}:changes c1"}, b.Context.Damaged)
		}
		require.Equal(t, []string{"{a:acme}:changes c1"}, named, "once")
		require.Equal(t, `{"id":"c1","steps":7}`, w.rdb.HGet(t.Context(), "{a:acme}:damaged", "{a:acme}:changes c1").Val())
	})
}

// What is set aside is bounded, and ends.
func TestWhatIsSetAsideIsBounded(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		for i := range 120 {
			require.NoError(t, w.rdb.HSet(t.Context(), "{a:acme}:triage", fmt.Sprint("a", i), "garbage").Err())
		}
		require.Empty(t, must(s.Triage.AllTriage(t.Context(), "acme"))(t))
		require.EqualValues(t, 50, w.rdb.HLen(t.Context(), "{a:acme}:damaged").Val())
		require.Positive(t, w.rdb.PTTL(t.Context(), "{a:acme}:damaged").Val())
		require.Zero(t, w.rdb.Exists(t.Context(), "{a:acme}:triage").Val())
	})
}

// The numbers of the audit log go on from its last entry where their counter can't be read.
func TestTheAuditLogSurvivesItsCounter(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		for _, counter := range []any{1, "garbage", "99999999999999999999"} {
			require.NoError(t, w.rdb.Set(t.Context(), "{a:acme}:audited", counter, 0).Err())
			_, err := s.Audit.Append(t.Context(), record.AuditEntry{Account: "acme", At: time.Now()})
			require.NoError(t, err)
		}
		require.Equal(t, []int64{4, 3, 2}, numbers(must(s.Audit.Entries(t.Context(), "acme", time.Time{}))(t)))
	})
}

// A garbage version is damage, no newer wafbot; after a garbage epoch the account is rebuilt.
func TestGarbageIsNoNewerWafbot(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.openOwner(t)
		require.NoError(t, w.rdb.Set(t.Context(), "{work}:version", "garbage", 0).Err())
		require.NoError(t, s.Replicas.Hear(t.Context()))
		require.NoError(t, w.rdb.Set(t.Context(), "{a:acme}:epoch", "garbage", 0).Err())
		_, _, err := s.Ledger.Begin(t.Context(), "acme", "", false)
		require.ErrorIs(t, err, store.ErrEmptied)
		require.Zero(t, w.rdb.Exists(t.Context(), "{a:acme}:epoch").Val())
	})
}

// Redis 6.0 takes NOMKSTREAM for an id, and knows no MINID. Nothing that counts is written to it, neither at a start
// nor after a fail-over to it.
func TestAnOldRedisIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx, net := t.Context(), w.newWire(t)
		s := net.openPatiently(t, store.Config{})
		owning(t, s)
		d := draft(t, s)
		_, c, err := d.Claim(ctx, begunAs("c1"))
		require.NoError(t, err)
		require.NoError(t, w.rdb.ScriptFlush(ctx).Err()) // the one that was failed over to knows none
		net.SetFilters(func(chunk []byte) ([]byte, bool) {
			return bytes.ReplaceAll(chunk, []byte("NOMKSTREAM"), []byte("NO-STREAM-")), true
		}, nil)
		stored := w.rdb.HGetAll(ctx, "{a:acme}:changes").Val()
		done := begunAs("c1")
		done.State = record.StateDone
		_, saved := c.Save(ctx, record.Saves{Changes: []record.Change{done}, Entry: &record.AuditEntry{Account: "acme", At: time.Now()}})
		_, _, claimed := d.Claim(ctx, begunAs("c2"))
		_, _, resumed := s.Ledger.Resume(ctx, begunAs("c3"), true)
		for _, err := range []error{saved, claimed, resumed, s.Replicas.Hear(ctx)} {
			require.ErrorContains(t, refusal.Advised(err), "redis is older than 6.2, which wafbot needs: upgrade it")
			require.Contains(t, refusal.Away(err).Text.String(), "not done: wafbot's store (Redis) takes nothing just now: it is older than 6.2. Without it nothing is changed")
		}
		require.NoError(t, w.rdb.Del(ctx, "{work}:none").Err()) // a miniredis makes it
		require.ErrorContains(t, s.Replicas.Hear(ctx), "this one is ")
		require.Equal(t, stored, w.rdb.HGetAll(ctx, "{a:acme}:changes").Val())
		require.Zero(t, w.rdb.Exists(ctx, "{a:acme}:audited", "{a:acme}:audit").Val())
		net.SetFilters(nil, nil)
		require.NoError(t, failure(c.Save(ctx, record.Saves{Changes: []record.Change{done}})))
	})
}

// Scripts are made and read in one place each, which checks what keys hold, and how long answers are.
func TestScriptsAreCheckedInOnePlace(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, "_test.go") || file == "checked.go" {
			continue
		}
		require.NotRegexp(t, regexp.MustCompile(`redis\.NewScript|\.Slice\(\)|\.StringSlice\(\)`), string(source), file)
	}
}

// Who reads a script must not have to read its callers.
func TestScriptsSayWhatTheyTakeAndAnswer(t *testing.T) {
	t.Parallel()
	fragments := []string{"bucket", "check_kinds", "kinds", "new_enough", "take_new"}
	files, err := filepath.Glob("scripts/*.lua")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		want := `^-- \w`
		if !slices.Contains(fragments, strings.TrimSuffix(filepath.Base(file), ".lua")) {
			want = `^(-- .+\n)+-- KEYS.+\n(-- .+\n)*-- ARGV.+\n(-- .+\n)*-- Result: .+\n`
		}
		require.Regexp(t, want, string(text), file)
	}
}
