package commands_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
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

func TestAModeThatIsTheAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	account := w.accountModeRule()
	require.Contains(t, textOf(w.reads(eve, "mode app:default")), "the default application by rules: monitoring (the account's, by rule "+account+"; a node's own setting can override it)")
	require.Equal(t, map[string]any{"application": 7.0, "mode": "monitoring"}, w.program("mode legacy")["data"])
	require.NotContains(t, textOf(w.reads(eve, "mode Shop")), "the account's", "it has its own")
	w.nothing(ann, "mode app:default monitoring", "is in mode monitoring already, by rule "+account)
	ch := w.anyway(ann, "mode -1 block")
	require.Equal(t, []string{"monitoring", "block"}, w.modes())
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes(), "inherited again")

	w.pass(time.Minute)
	w.ruleByHand(`"type":"service_mode","mode":"block","action":[]`)
	require.Contains(t, textOf(w.reads(eve, "mode 7")), "Mode of Legacy by rules: block", "the last one written wins")
	require.Contains(t, textOf(w.reads(eve, "mode 4")), "Mode of Shop by rules: monitoring")
	w.refuses(root, "mode -1 monitoring", refusal.ErrAsk, "milder than now (block)")
	require.Contains(t, textOf(w.reads(eve, "summary")), "No incidents can be registered on all applications without a mode of their own since 2026-11-20 03:01 UTC: it is in mode block")
	w.ruleByHand(`"type":"service_mode","mode":"default","action":[{"type":"equal","value":"7","point":["instance"]}]`)
	require.Contains(t, textOf(w.reads(eve, "mode 7")), "Mode of Legacy by rules: block (the account's", "default is the account's")
}

func TestBlockModeIsNotOfferedWhereTheAccountsModeBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{App: -1, Path: "/login"})
	offersMode := func() bool {
		return slices.ContainsFunc(advice.Advise(w.situation(id)).Suggestions, func(s call.Suggestion) bool { return s.Line.Name == "mode" })
	}
	require.True(t, offersMode())
	w.pass(time.Minute)
	w.ruleByHand(`"type":"service_mode","mode":"block","action":[]`)
	require.False(t, offersMode())
}

// accountModeRule is the number of the rule of the account's own mode.
func (w *world) accountModeRule() string {
	all := w.state().Rules
	i := slices.IndexFunc(all, func(r waf.RuleState) bool { return r.Words == accountMode })
	require.GreaterOrEqual(w.t, i, 0)
	return itoa(all[i].ID)
}

func TestTheAccountsModeIsNotListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.accountModeRule()
	w.refuses(root, "delete-rule "+id, refusal.ErrAsk, "then the mode of all applications without a mode of their own by rules is inherited, not visible")
	w.anyway(root, "delete-rule "+id)
	w.pass(time.Minute)
	require.Contains(t, textOf(w.reads(eve, "mode 7")), "Mode of Legacy by rules: inherited, not visible (a node's")
	w.refuses(ann, "mode -1 safe_blocking", refusal.ErrDenied)
	w.refuses(root, "mode -1 monitoring", refusal.ErrAsk, "inherited and not visible: perhaps less is blocked")
}

func TestMilderNeedsAnAdmin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveModeOff))
	w.anyway(ann, "mode 4 safe_blocking")
	w.refuses(ann, "mode 4 monitoring", refusal.ErrDenied, "mode 4 monitoring needs the role admin")
	w.refuses(ann, "mode 4 default", refusal.ErrDenied)
	w.refuses(root, "mode 4 monitoring", refusal.ErrAsk, "milder than now (safe_blocking): less is blocked for 2 h")
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
	w := newWorld(t, withoutApproval(config.ApproveModeOff))
	for _, mode := range []string{"block", "safe_blocking"} {
		w.refuses(root, "mode legacy "+mode, refusal.ErrGuarded, "Legacy can't block")
	}
	w.anyway(root, "mode legacy off")
}

func TestNarrowerRulesStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.byHand(http.MethodPost, "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"off","validated":false,"action":[`+
		`{"type":"equal","value":"4","point":["instance"]},{"type":"iequal","value":"api.example.com","point":["header","HOST"]}]}`)
	w.refuses(ann, "mode 4 block", refusal.ErrAsk, "rules that set the mode for parts of it, and stay as they are: 1")
	require.Contains(t, textOf(w.reads(eve, "mode 4")), "for a part of it: mode off for api.example.com on Shop")
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
	w.fault("POST /v1/objects/hint/create", "mode_kept", 1)
	w.fault("POST /v1/objects/hint/delete", "status:403", 0)
	inv := w.asks(ann, "mode 4 block")
	inv.Anyway = true
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "Failed in part: Switch Shop to block for 2 h")
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
