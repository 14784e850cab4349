package commands_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		globex := *c.Accounts[0]
		globex.Name = "globex"
		c.Accounts = append(c.Accounts, &globex)
		c.Services["globex"] = c.Services["acme"]
	})
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	w := newWorld(t)
	w.does(ann, "deny 203.0.113.7")
	w.does(bob, "deny 203.0.113.8")
	for by, want := range map[string]int{"@bob": 1, "Bob": 1, "U2BOB": 1, "<@U2BOB|bob>": 1, "@me": 1, "o": 1, "@carl": 0} {
		require.Len(t, w.reads(ann, "audit by="+by).Data, want, by)
	}
}

// One entry that can't be read doesn't look as if Redis were away.
func TestAuditWithAnEntryThatCannotBeRead(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	w := newWorld(t)
	for _, line := range []string{"deny 203.0.113.7", "allow 203.0.113.8", "note attack=" + w.attackOn("/login") + " seen"} {
		inv := w.asks(ann, line)
		w.moves(37 * time.Second)
		_, _ = w.do(inv)
		require.WithinDuration(t, inv.At, w.lastAudit().At, 0, line)
	}
}
