package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestUndoMyLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.does(ann, "deny 203.0.113.7")
	w.pass(time.Second)
	second := w.does(ann, "deny 203.0.113.8")
	w.pass(time.Second)
	w.does(bob, "deny 203.0.113.9")
	w.pass(time.Second)
	require.Equal(t, second.ID, w.does(ann, "undo").Undoes)
	w.pass(time.Second)
	require.Equal(t, first.ID, w.does(ann, "undo").Undoes)
	w.nothing(ann, "undo", "nothing of yours is in force")
	require.Equal(t, []string{"203.0.113.9/32 [0] 3h59m58s"}, w.entries("black"))
}

func TestUndoByPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7")
	undone := w.does(bob, "undo "+ch.ID[:4])
	require.Equal(t, "Undo of: Deny 203.0.113.7 everywhere for 4 h", undone.Does)
	require.Empty(t, w.entries("black"))
	kept := w.ledger.change(ch.ID)
	require.Equal(t, record.StateUndone, kept.State)
	require.Equal(t, "Bob", kept.EndedBy.Name)
	require.Equal(t, w.clock(), kept.EndedAt)
	w.nothing(ann, "undo "+ch.ID, "undone already by Bob at 2026-11-20 03:00 UTC")
	w.refuses(ann, "undo "+undone.ID, refusal.ErrUsage, "is an undo itself")
	require.NotContains(t, textOf(w.reads(eve, "status")), ch.ID)
}

func TestUndoOfAPutBackDenialIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.does(ann, "deny 203.0.113.7 for=2h")
	w.pass(time.Minute)
	second := w.does(bob, "deny 203.0.113.7 for=4h")
	w.nothing(ann, "undo "+first.ID, "another author's now", second.ID)
	w.does(bob, "undo "+second.ID)
	require.Empty(t, w.entries("black"), "what was undone meanwhile doesn't come back")

	first = w.does(ann, "deny 203.0.113.7 for=2h")
	w.pass(time.Minute)
	second = w.does(bob, "deny 203.0.113.7 for=4h")
	w.does(bob, "undo "+second.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 1h59m0s"}, w.entries("black"))
	w.does(ann, "undo "+first.ID)
	require.Empty(t, w.entries("black"))
}

func TestUndoLeavesWhatExpired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7")
	w.pass(2 * time.Hour)
	w.does(ann, "undo "+ch.ID)
	require.Empty(t, w.entries("black"), "what was there before would have ended by now")
	ch = w.does(ann, "deny 203.0.113.8 for=1h")
	w.pass(2 * time.Hour)
	w.nothing(ann, "undo "+ch.ID, "gone already")
}

func TestUndoOfWhatNeverWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "status:403", 1)
	_, err := w.try(ann, "deny 203.0.113.7")
	require.ErrorIs(t, err, refusal.ErrService)
	w.nothing(ann, "undo "+w.ledger.all()[0].ID, "was never made", "lacks the permission")
}

func TestUndoOfADeletedPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
	w.pass(time.Minute) // what wafbot made later is there even where it isn't listed
	w.byHand("POST", "/v1/objects/hint/delete", `{"filter":{"clientid":[5],"id":`+itoa(ch.Steps[0].ID)+`}}`)
	w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"vpatch","attack_type":"sqli","point":[["get","q"]],"validated":false,"action":[`+
		`{"type":"equal","value":"shop.example.com","point":["header","HOST"]},{"type":"absent","value":null,"point":["path",0]},`+
		`{"type":"equal","value":"login","point":["action_name"]},{"type":"absent","value":null,"point":["action_ext"]}]}`)
	w.nothing(ann, "undo "+ch.ID, "gone already")
	require.Len(t, w.rules("vpatch"), 1, "an equal one of another author stays")
}

func TestUndoOfSeveralSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.8", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7 203.0.113.8 203.0.113.9")
	w.overwrite(w.entry("203.0.113.7"), "mine now", time.Hour)
	w.does(ann, "undo "+ch.ID)
	require.ElementsMatch(t, []string{"203.0.113.7/32 [0] 1h0m0s", "203.0.113.8/32 [0] 1h0m0s"}, w.entries("black"))
}

func TestAnUndoThatFailsCanBeAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7")
	w.fault("DELETE /v4/ip_rules", "status:403", 1)
	_, err := w.try(ann, "undo "+ch.ID)
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "Failed: Undo of: Deny")
	require.Equal(t, record.StateDone, w.ledger.change(ch.ID).State)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, "by hand", w.listed("black")[0].Reason)
}
