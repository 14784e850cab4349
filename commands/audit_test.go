package commands_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestEveryChangeIsAudited(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny attack="+id[:6]+" reason=why")
	e := w.lastAudit()
	require.Regexp(t, "^e[0-9a-z]{8}$", e.RequestID)
	require.Equal(t, record.AuditEntry{
		N: 1, At: w.clock(), Account: "acme", Actor: ann, Line: "deny 203.0.113.7 attack=" + id + " for=4h reason=why", Outcome: "done", Change: ch.ID, RequestID: e.RequestID, Attack: id,
		Before: []string{`add to list black: 203.0.113.7 apps=[0] until 2026-11-20T04:00:00Z force=false reason="by hand"`},
		After:  []string{`add to list black: 203.0.113.7 apps=[0] until 2026-11-20T07:00:00Z force=true reason="wafbot ` + ch.ID + ` by Ann (U1ANN) for ` + id + `: why"`},
		Why:    "why",
	}, e)
	w.does(bob, "undo "+ch.ID)
	require.Equal(t, "undo "+ch.ID, w.lastAudit().Line)
	require.Len(t, w.lastAudit().After, 2)
	require.Equal(t, "Bob", w.lastAudit().Actor.Name)
}

func TestRefusalsAreAudited(t *testing.T) {
	w := newWorld(t, sources(cdn))
	w.seed(waf.IPRule{Subnet: "203.0.113.7"})
	for line, want := range map[string]struct {
		outcome string
		kind    error
	}{
		"deny 192.0.2.1":      {"refused", refusal.ErrGuarded},
		"allow 203.0.113.7":   {"refused", refusal.ErrDenied},
		"mode 4 block":        {"asked", refusal.ErrAsk},
		"remove 198.51.100.7": {"nothing", refusal.ErrNothing},
	} {
		n := len(w.audit.all())
		_, err := w.try(ann, line)
		require.ErrorIs(t, err, want.kind, line)
		require.Len(t, w.audit.all(), n+1, line)
		e := w.lastAudit()
		require.Equal(t, want.outcome, e.Outcome, line)
		require.Equal(t, line, e.Line)
		require.Contains(t, err.Error(), e.Why)
		require.Equal(t, ann, e.Actor)
		require.Equal(t, w.clock(), e.At)
	}
	w.nothing(ann, "deny 203.0.113.7")
	require.Equal(t, "nothing", w.lastAudit().Outcome)
	require.Contains(t, w.lastAudit().Why, "denied already")
}

func TestARefusalIsAuditedWhereItBelongs(t *testing.T) {
	w := newWorld(t, secondAccount)
	w.refuses(eve, "deny 203.0.113.7 account=globex", refusal.ErrDenied)
	require.Equal(t, "globex", w.lastAudit().Account)
	w.refuses(ann, "deny 203.0.113.7", refusal.ErrUsage, "Missing: account=, one of: acme, globex")
	inv := w.asks(eve, "deny 203.0.113.7")
	inv.Account = "globex"
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrDenied)
	require.Equal(t, "globex", w.lastAudit().Account)
	require.Empty(t, w.reads(eve, "audit account=acme").Data)
	require.Len(t, w.reads(eve, "audit").Data, 2)
}

func TestAuditLinesComeOutEvenWithoutTheStore(t *testing.T) {
	w := newWorld(t)
	w.does(ann, "deny 203.0.113.7")
	w.audit.setFail(true)
	_, err := w.try(ann, "deny 203.0.113.8")
	require.ErrorIs(t, err, refusal.ErrAway, "it is one store, and one step")
	var numbers []int64
	for line := range strings.Lines(w.out.String()) {
		var out struct{ Audit record.AuditEntry }
		require.NoError(t, json.Unmarshal([]byte(line), &out))
		require.Equal(t, "done", out.Audit.Outcome)
		numbers = append(numbers, out.Audit.N)
	}
	require.Equal(t, []int64{1, 0}, numbers)
}

func TestReadAudit(t *testing.T) {
	w := newWorld(t)
	for range 12 {
		_, err := w.try(ann, "deny 10.0.0.1")
		require.ErrorIs(t, err, refusal.ErrGuarded)
	}
	w.pass(25 * time.Hour)
	w.does(bob, `deny 203.0.113.7 reason="a`+"\u202e"+`b"`)
	require.Len(t, w.reads(eve, "audit").Data, 1)
	for _, by := range []string{"ANN", "<@" + ann.ID + ">", "<@" + ann.ID + "|ann>", "@" + ann.ID} {
		require.Len(t, w.reads(eve, "audit since=2d by="+by).Data, 12, by)
	}
	require.Len(t, w.reads(ann, "audit since=2d by=@me").Data, 12)
	require.Empty(t, w.reads(eve, "audit since=2d by=me").Data)
	res := w.reads(eve, "audit since=forever")
	require.Len(t, res.Data, 13)
	require.Len(t, res.Lines, 12)
	require.Contains(t, textOf(res), "… and 3 more")
	require.NotContains(t, textOf(res), "\u202e")
	require.Contains(t, textOf(res), "#13 2026-11-21 04:00 UTC Bob (slash)")
	require.Len(t, w.reads(eve, "audit since=forever --all").Lines, 14)
}

func TestAuditOfAUserByName(t *testing.T) {
	w := newWorld(t)
	w.does(ann, "deny 203.0.113.7")
	w.does(bob, "deny 203.0.113.8")
	for by, want := range map[string]int{"@bob": 1, "Bob": 1, "U2BOB": 1, "<@U2BOB|bob>": 1, "@me": 1, "o": 1, "@carl": 0} {
		require.Len(t, w.reads(ann, "audit by="+by).Data, want, by)
	}
}

// One entry that can't be read doesn't look as if Redis were away.
func TestAuditWithAnEntryThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.does(ann, "deny attack="+id)
	w.audit.spoil(0)
	w.refuses(ann, "audit", refusal.ErrAway, "an entry of the audit log can't be read. At the terminal wafbot audit export names it, and gives the others")
	doc := w.document(id)
	require.Contains(t, doc, "What was asked and said: an entry of the audit log can't be read")
	require.NotContains(t, doc, "Redis")
}

// An entry says when the press was accepted, however late it was carried out or refused.
func TestAnEntryIsOfTheTimeOfThePress(t *testing.T) {
	w := newWorld(t)
	for _, line := range []string{"deny 203.0.113.7", "allow 203.0.113.8", "note attack=" + w.attackOn("/login") + " seen"} {
		inv := w.asks(ann, line)
		w.moves(37 * time.Second)
		_, _ = w.do(inv)
		require.WithinDuration(t, inv.At, w.lastAudit().At, 0, line)
	}
}

// newTrail is a world whose audit log has a hundred refusals, one a minute.
func newTrail(t *testing.T) *world {
	w := newWorld(t)
	for range 100 {
		w.pass(time.Minute)
		_, err := w.try(ann, fmt.Sprintf("remove 198.51.100.%d", w.ids+1))
		require.ErrorIs(t, err, refusal.ErrNothing)
	}
	require.Equal(t, 100, strings.Count(w.out.String(), "\n"))
	return w
}

func TestAuditExport(t *testing.T) {
	w := newTrail(t)
	w.pass(time.Minute)
	w.does(bob, "deny 203.0.113.250")
	export := func(line string) (lines string, faults int) {
		for item, err := range w.reads(atTerminal, line).Stream {
			if err != nil {
				faults++
				continue
			}
			text, err := json.Marshal(item)
			require.NoError(t, err)
			lines += string(text) + "\n"
		}
		return lines, faults
	}
	all, faults := export("audit export")
	require.Equal(t, w.out.String(), all, "the very lines that were printed")
	require.Zero(t, faults)
	lately, _ := export("audit export since=3m")
	require.Equal(t, 4, strings.Count(lately, "\n"))
	bobs, _ := export("audit export by=bob")
	require.Equal(t, 1, strings.Count(bobs, "\n"))
	w.audit.spoil(7)
	rest, faults := export("audit export")
	require.Equal(t, 100, strings.Count(rest, "\n"))
	require.Equal(t, 1, faults)

	res := w.reads(eve, "audit export since=2h by=bob")
	require.Nil(t, res.Stream)
	require.Contains(t, textOf(res), "wafbot audit export account=acme by=bob since=2h")
	_, err := w.try(eve, "audit exprot")
	require.ErrorIs(t, err, refusal.ErrUsage)
}

func TestTheSameDeliveryTwice(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	for _, line := range []string{"deny 192.0.2.1", "patch attack=" + id, "contain attack=" + id, "mode 4 block", "undo"} {
		inv := w.asks(ann, line)
		inv.Anyway = true
		first, err := w.do(inv)
		require.NoError(t, err)
		sent := w.changesSent()
		again, err := w.do(inv)
		require.NoError(t, err, line)
		require.Equal(t, len(first.Changes), len(again.Changes), line)
		for i := range first.Changes {
			require.Equal(t, first.Changes[i].ID, again.Changes[i].ID, line)
			require.Equal(t, first.Changes[i].Steps[0].ID, again.Changes[i].Steps[0].ID, line)
		}
		require.Equal(t, sent, w.changesSent(), line)
	}
}

func TestADeliveryNeedsItsID(t *testing.T) {
	w := newWorld(t)
	inv := w.asks(ann, "deny 192.0.2.1")
	inv.ID = ""
	_, err := w.do(inv)
	require.ErrorContains(t, err, "delivery id")
	require.Zero(t, w.changesSent())
}

// A request ages by the clock that the replicas share; what it makes begins and ends by the service's.
func TestAskedByAnotherClockThanTheServices(t *testing.T) {
	for _, shared := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		w := newWorld(t)
		w.shared = shared
		inv := w.asks(ann, "deny 203.0.113.7 for=1h")
		inv.At = w.Now().Add(-10 * time.Minute)
		res, err := w.do(inv)
		require.NoError(t, err, shared)
		require.Equal(t, w.clock(), res.Changes[0].At)
		require.Equal(t, w.clock().Add(time.Hour), res.Changes[0].Until)
		inv = w.asks(ann, "deny 203.0.113.8")
		inv.At = w.Now().Add(-10*time.Minute - time.Second)
		_, err = w.do(inv)
		require.ErrorContains(t, err, "over 10 min ago: nothing was done", shared)
	}
}

// ticking are clocks that go on with each look, and whose service says another time from some look on.
type ticking struct {
	commands.Clocks
	looks atomic.Int64
	from  int64
	ahead time.Duration
}

func (k *ticking) Now() time.Time {
	return k.Clocks.Now().Add(time.Duration(k.looks.Add(1)) * time.Millisecond)
}

func (k *ticking) ServiceNow(account string) time.Time {
	n := k.looks.Add(1)
	now := k.Clocks.ServiceNow(account).Add(time.Duration(n) * time.Millisecond)
	if n >= k.from {
		return now.Add(k.ahead)
	}
	return now
}

// What is needed since a point in time is read once, though time passes meanwhile. If the service's first answer
// corrects the clock, it is read again, once.
func TestTimePassesWhileACallIsRead(t *testing.T) {
	for _, line := range []string{"status", "status account=acme", "handover to=@me --all", "deny 203.0.113.7 for=1h"} {
		for from := int64(0); from < 20; from += int64(full.Of(3, 1)) {
			w := newWorld(t, func(c *commands.Config) { c.Clocks = &ticking{Clocks: c.Clocks, from: from, ahead: 3 * time.Hour} })
			_, err := w.do(w.asks(ann, line))
			require.NoError(t, err, "%s, from %d", line, from)
		}
	}
}

func TestAskedTooLongAgo(t *testing.T) {
	w := newWorld(t)
	inv := w.asks(ann, "deny 203.0.113.7")
	w.pass(10*time.Minute + time.Second)
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrGuarded)
	require.ErrorContains(t, err, "that was asked at 2026-11-20 03:00 UTC, over 10 min ago: nothing was done")
	require.Zero(t, w.changesSent())
	inv = w.asks(ann, "deny 203.0.113.7")
	w.pass(10 * time.Minute)
	_, err = w.do(inv)
	require.NoError(t, err)
}

func TestTwoPeopleAtOnce(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	results := make([]call.Result, 8)
	for i := range results {
		inv := w.asks([]record.Actor{ann, bob}[i%2], "deny 203.0.113.7")
		wg.Go(func() {
			var err error
			results[i], err = w.do(inv)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, w.entries("black"), 1)
	require.Equal(t, 1, w.changesSent())
	done := w.ledger.all()
	require.Len(t, done, 1)
	made := 0
	for _, res := range results {
		made += len(res.Changes)
		if len(res.Changes) == 0 {
			require.Contains(t, textOf(res), " by "+done[0].Actor.Name)
		}
	}
	require.Equal(t, 1, made)
}

// canceller ends a context when something is logged.
type canceller func()

func (c canceller) Write(p []byte) (int, error) { c(); return len(p), nil }

// The lock is lost, or the caller gone, while the outcome is unknown.
func TestTheContextEndsInBetween(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := newWorld(t, func(c *commands.Config) {
		c.Log = slog.New(slog.NewTextHandler(canceller(cancel), nil)) // the first line says that the outcome is unknown
	})
	w.fault("POST /v1/objects/hint/create", "reset", 0)
	_, err := w.Do(ctx, w.asks(ann, "patch shop.example.com/login type=sqli part=get.q"))
	require.ErrorContains(t, err, "Failed, or perhaps done")
	require.Equal(t, record.StateBegun, w.ledger.all()[0].State, "written down although the caller had gone")
}

func TestADeliveryComesAgainAfterItsUndo(t *testing.T) {
	w := newWorld(t)
	inv := w.asks(ann, "deny 203.0.113.7")
	res, err := w.do(inv)
	require.NoError(t, err)
	w.does(bob, "undo "+res.Changes[0].ID)
	_, err = w.do(inv)
	require.ErrorIs(t, err, refusal.ErrNothing)
	require.ErrorContains(t, err, "undone already by Bob")
	require.Empty(t, w.entries("black"))
}

func TestChangesAreNotifiedWhenWrittenDown(t *testing.T) {
	watch := &notified{}
	w := newWorld(t, func(c *commands.Config) { c.Changed = watch.Changed })
	ch := w.does(ann, "deny 203.0.113.7")
	undone := w.does(ann, "undo")
	w.fault("POST /v4/ip_rules", "status:403", 0)
	_, err := w.try(ann, "deny 203.0.113.8")
	require.ErrorIs(t, err, refusal.ErrService)
	failed := w.ledger.all()[0]
	for _, c := range w.ledger.all() {
		if c.State == record.StateFailed {
			failed = c
		}
	}
	require.Equal(t, []string{ch.ID + ":done", undone.ID + ":done", w.notified.of(record.PermissionLost)[0].ID, failed.ID + ":failed"}, w.notified.ids())
	require.Equal(t, w.notified.events, w.ledger.events(), "each is saved with its change")
	require.Equal(t, 3, watch.changed)
}

// The same button, clicked again an hour later: one effect, and its end stays where it is.
func TestTheSameAskedAgainWhileItHolds(t *testing.T) {
	w := newWorld(t)
	first := w.does(ann, "deny 203.0.113.7 for=4h")
	w.pass(time.Hour)
	res := w.reads(bob, "deny 203.0.113.7 for=4h reason=again")
	require.Equal(t, "nothing", res.Outcome)
	require.Contains(t, textOf(res), "done already by Ann")
	require.Contains(t, textOf(res), "extend "+first.ID+" for=… extends it")
	require.Equal(t, []string{"203.0.113.7/32 [0] 3h0m0s"}, w.entries("black"))

	longer := w.does(bob, "deny 203.0.113.7 for=8h")
	require.Equal(t, []string{"203.0.113.7/32 [0] 8h0m0s"}, w.entries("black"), "another line is another effect")
	w.does(bob, "undo "+longer.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 3h0m0s"}, w.entries("black"))
	w.does(bob, "remove 203.0.113.7")
	w.pass(2 * time.Minute)
	w.does(bob, "deny 203.0.113.7 for=4h")
	require.Equal(t, []string{"203.0.113.7/32 [0] 4h0m0s"}, w.entries("black"), "what is gone can be asked again")
}
