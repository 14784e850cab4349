package commands_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

func TestMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuses(ann, "mode shop block", refusal.ErrAsk, "Switch Shop to block for 2 h?", "incidents are registered only in monitoring", "only look like attacks")
	ch := w.anyway(ann, "mode shop BLOCK")
	require.Equal(t, "mode 4 block for=2h", ch.Line.String())
	require.Equal(t, []string{"block"}, w.modes())
	require.Equal(t, w.clock().Add(2*time.Hour), ch.DueAt())
	require.Contains(t, textOf(w.reads(eve, "mode 4")), "Mode of Shop by rules: block")
	w.pass(time.Minute)
	w.nothing(bob, "mode 4 block for=1h", "Shop is in mode block already, by rule "+itoa(w.rules("service_mode")[0].ID)+", until 2026-11-20 05:00 UTC: extend c")
	w.does(bob, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
	require.NotContains(t, w.state().Applications, "block")
}

func TestAModeThatWasInherited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Contains(t, textOf(w.reads(eve, "mode app:default")), "the default application by rules: inherited, not visible")
	ch := w.anyway(ann, "mode -1 block")
	require.Equal(t, []string{"monitoring", "block"}, w.modes())
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes(), "inherited again")
}

func TestMilderNeedsAnAdmin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(policy.ApproveModeOff))
	w.anyway(ann, "mode 4 safe_blocking")
	w.refuses(ann, "mode 4 monitoring", refusal.ErrDenied, "needs the role admin")
	w.refuses(ann, "mode -1 safe_blocking", refusal.ErrDenied)
	w.refuses(ann, "mode 4 default", refusal.ErrDenied)
	w.refuses(root, "mode 4 monitoring", refusal.ErrAsk, "milder than now (safe_blocking): less is blocked for 2 h")
	w.refuses(root, "mode -1 monitoring", refusal.ErrAsk, "inherited and not visible: perhaps less is blocked")
	ch := w.anyway(root, "mode 4 off")
	require.Equal(t, w.clock().Add(30*time.Minute), ch.Until)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"safe_blocking"}, w.modes())
}

func TestAButtonsDialogHasSaidSomeWarnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inv := w.asks(ann, "mode 4 block")
	inv.Warned = true
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	inv = w.asks(root, "mode 4 monitoring")
	inv.Warned = true
	_, err = w.do(inv)
	require.ErrorIs(t, err, refusal.ErrAsk, "only the rules show that it is milder")
}

func TestAnApplicationThatCannotBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, mode := range []string{"block", "safe_blocking"} {
		w.refuses(root, "mode legacy "+mode, refusal.ErrGuarded, "Legacy can't block")
	}
	w.anyway(root, "mode legacy monitoring")
}

func TestNarrowerRulesStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.byHand(http.MethodPost, "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"off","validated":false,"action":[`+
		`{"type":"equal","value":"4","point":["instance"]},{"type":"iequal","value":"api.example.com","point":["header","HOST"]}]}`)
	w.refuses(ann, "mode 4 block", refusal.ErrAsk, "rules that set the mode for parts of it, and stay as they are: 1")
	require.Contains(t, textOf(w.reads(eve, "mode 4")), "for a part of it: mode off for api.example.com app=4")
	ch := w.anyway(ann, "mode 4 block")
	require.ElementsMatch(t, []string{"off", "block"}, w.modes())
	w.does(ann, "undo "+ch.ID)
	require.ElementsMatch(t, []string{"off", "monitoring"}, w.modes())
}

// Within the minute in which a repeated line counts as the same, what has been switched since does not.
func TestBackAndForth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.anyway(ann, "mode 4 block")
	w.anyway(root, "mode 4 monitoring")
	require.Equal(t, []string{"monitoring"}, w.modes())
	w.anyway(ann, "mode 4 block")
	require.Equal(t, []string{"block"}, w.modes())
}

// Two switches that overlap leave the application as it was before both, in whatever order they end.
func TestOverlappingModes(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][2]int{"the first ends first": {0, 1}, "the second ends first": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ids := []string{w.anyway(ann, "mode 4 block").ID}
			w.pass(time.Minute)
			ids = append(ids, w.anyway(root, "mode 4 safe_blocking").ID)
			require.Equal(t, []string{"safe_blocking"}, w.modes())
			if _, err := w.try(ann, "undo "+ids[order[0]]); err != nil {
				require.ErrorIs(t, err, refusal.ErrNothing)
			}
			want := map[int]string{0: "safe_blocking", 1: "block"}[order[0]]
			require.Equal(t, []string{want}, w.modes())
			w.does(ann, "undo "+ids[order[1]])
			require.Equal(t, []string{"monitoring"}, w.modes())
		})
	}
}

func TestAnotherUserSwitchedInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ch := w.anyway(ann, "mode 4 block")
	mine := w.rules("service_mode")[0].ID
	w.pass(time.Minute) // what wafbot made later is there even where it isn't listed
	w.byHand(http.MethodPost, "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"safe_blocking","validated":false,"action":[{"type":"equal","value":"4","point":["instance"]}]}`)
	w.byHand(http.MethodPost, "/v1/objects/hint/delete", `{"filter":{"clientid":[5],"id":`+itoa(mine)+`}}`)
	w.nothing(ann, "undo "+ch.ID, "was deleted or changed", "gone already")
	require.Equal(t, []string{"safe_blocking"}, w.modes())
	require.Equal(t, record.StateUndone, w.ledger.change(ch.ID).State, "there is nothing left to end")
}

func TestASwitchThatHalfFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/delete", "status:403", 0)
	inv := w.asks(ann, "mode 4 block")
	inv.Anyway = true
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "Only partly done: Switch Shop to block for 2 h")
	require.ErrorContains(t, err, "lacks the permission")
	require.Equal(t, "half", w.lastAudit().Outcome)
	require.Len(t, w.modes(), 2)
	w.service.ClearFaults()
	ch := w.ledger.all()[0]
	require.Equal(t, record.StateHalf, ch.State)
	require.NotZero(t, ch.DueAt(), "what was done of it is ended too")
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
}
