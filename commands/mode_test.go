package commands_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestMode(t *testing.T) {
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
	w := newWorld(t, withoutApproval(config.ApproveModeOff))
	for _, mode := range []string{"block", "safe_blocking"} {
		w.refuses(root, "mode legacy "+mode, refusal.ErrGuarded, "Legacy can't block")
	}
	w.anyway(root, "mode legacy off")
}

func TestNarrowerRulesStay(t *testing.T) {
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
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "mode_kept", 1)
	w.fault("POST /v1/objects/hint/delete", "status:403", 0)
	_, err := w.all(ann, "mode 4 block")
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

func TestTheAccountsOwnMode(t *testing.T) {
	w := newWorld(t)
	rule := w.accountModeRule()
	require.Contains(t, textOf(w.reads(eve, "mode Account")), "Mode of all applications without a mode of their own by rules: monitoring (the account's, by rule "+rule+"; a node's own setting can override it)\n"+
		"• for a part of it: mode monitoring for Shop, rule ")
	w.nothing(ann, "mode account monitoring", "the account's own mode is monitoring already, by rule "+rule)
	w.refuses(root, "mode account default", refusal.ErrGuarded, "the account's own mode has nothing to inherit from")
	w.refuses(ann, "mode account block", refusal.ErrAsk, "Switch all applications without a mode of their own to block for 2 h?", "rules that set the mode for parts of it, and stay as they are: 1",
		"It needs approval first: the account's own mode holds for all applications without a mode of their own")
	q := w.waits(ann, "mode account block")
	res := w.reads(bob, "approve "+q.ID)
	ch := res.Changes[0]
	require.Equal(t, "mode account block for=2h", ch.Line.With("reason", "").String())
	require.Equal(t, []string{"monitoring", "block"}, w.modes(), "Shop's own stays")
	require.Contains(t, textOf(w.reads(eve, "mode 7")), "Mode of Legacy by rules: block (the account's, by rule ")
	require.Contains(t, textOf(w.reads(eve, "mode 4")), "Mode of Shop by rules: monitoring (a node's")
	require.Contains(t, textOf(w.reads(eve, "rules")), "mode block, the account's own: for all applications without a mode of their own, made by wafbot for Ann")
	w.pass(time.Minute)
	require.Contains(t, textOf(w.reads(eve, "summary")), "No incidents can be registered on all applications without a mode of their own from 2026-11-20 03:00 UTC to 2026-11-20 05:00 UTC: it is in mode block")
	require.Equal(t, 1, strings.Count(textOf(w.reads(eve, "summary")), "No incidents can be registered"), "once")
	require.Contains(t, textOf(w.reads(eve, "status")), "all applications without a mode of their own")

	back, _ := throughSlack(t, ch)
	require.Equal(t, ch.Line.String(), back.Line.String())
	w.does(bob, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes(), "Shop's; the account's as it was")
	require.Contains(t, textOf(w.reads(eve, "mode account")), "by rules: monitoring")
}

func TestTheAccountsModeOffNeedsAnAdmin(t *testing.T) {
	w := newWorld(t)
	w.refuses(ann, "mode account off", refusal.ErrDenied)
	w.waits(root, "mode account off", "mode off lets everything through", "the account's own mode holds for")
}

// soleMode is a bubble in which no mode needs approval, with what becomes of a mode rule beside a new one.
func soleMode(t *testing.T, fault string) *world {
	w := newBubble(t, withoutApproval(config.ApproveRulesEverywhere, config.ApproveModeOff))
	w.fault("POST /v1/objects/hint/create", fault, 0)
	return w
}

// told are the switches of which people were told that something is wrong.
func (w *world) told() (faults []string) {
	for _, d := range w.ledger.takeDue(func(d record.DueDecision) bool { return d.Listed }) {
		faults = append(faults, change.Failure(w.ledger.change(d.Change.ID)).String())
	}
	return faults
}

// A switch is verified when the listings must show it, whatever the service does with two rules: once, and without a
// word if all is well.
func TestASwitchLeavesOneRule(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"mode_replaced", "mode_kept"} {
		for _, app := range []string{"4", "account"} {
			t.Run(fault+" "+app, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := soleMode(t, fault)
					before := w.modes()
					ch := w.anyway(ann, "mode "+app+" block for=1h")
					sent := w.changesSent()
					require.Equal(t, map[string][]string{"4": {"block"}, "account": {"monitoring", "block"}}[app], w.modes())
					runDue(t, w, 2*time.Minute)
					require.True(t, w.ledger.change(ch.ID).ModeVerified)
					require.Equal(t, sent, w.changesSent())
					require.Empty(t, w.told())
					runDue(t, w, ch.Until.Sub(w.clock())+5*time.Second)
					require.ElementsMatch(t, before, w.modes(), "and ends as ever")
					runDue(t, w, time.Minute)
					require.Empty(t, w.told())
				})
			})
		}
	}
}

// All rules for the same requests go, though only the last written held, and that one comes back.
func TestASwitchWhereTwoRulesStood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := soleMode(t, "mode_kept")
		w.ruleByHand(`"type":"service_mode","mode":"safe_blocking","action":[{"type":"equal","value":"4","point":["instance"]}]`)
		time.Sleep(time.Minute)
		require.Contains(t, textOf(w.reads(eve, "mode 4")), "Mode of Shop by rules: safe_blocking")
		ch := w.anyway(ann, "mode 4 block")
		require.Equal(t, []string{"block"}, w.modes())
		w.does(ann, "undo "+ch.ID)
		require.Equal(t, []string{"safe_blocking"}, w.modes())
	})
}

// What was to be deleted and is listed still is deleted again, once.
func TestADoubleOfAModeIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := soleMode(t, "mode_kept")
		ch := w.anyway(ann, "mode 4 block")
		again := w.ruleByHand(`"type":"service_mode","mode":"monitoring","action":[{"type":"equal","value":"4","point":["instance"]}]`)
		kept, err := strconv.ParseInt(again, 10, 64)
		require.NoError(t, err)
		ch = w.ledger.change(ch.ID)
		ch.Steps[1].Rule.ID = kept // as if it had never been deleted
		w.ledger.set(func(l *ledger) { l.put(ch) })
		runDue(t, w, 3*time.Minute)
		require.Equal(t, []string{"block"}, w.modes())
		require.Empty(t, w.told())
		require.True(t, w.ledger.change(ch.ID).ModeVerified)
		last := w.lastAudit()
		require.Equal(t, "clock", string(last.Actor.Via))
		require.Contains(t, last.Line, "delete-rule "+again)
		require.Contains(t, last.Line, "left over beside the mode that "+ch.ID+" set")
		w.does(ann, "undo "+ch.ID)
		require.Equal(t, []string{"monitoring"}, w.modes())
	})
}

func TestAnotherRuleBesideASwitchIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := soleMode(t, "mode_kept")
		w.anyway(ann, "mode account block")
		other := w.ruleByHand(`"type":"service_mode","mode":"off","action":[]`)
		runDue(t, w, time.Minute)
		require.Equal(t, []string{"Failed: Switch all applications without a mode of their own to block for 2 h: for the same requests there is rule " + other +
			" (mode off), too, and the service goes by the last written: delete-rule deletes one"}, w.told())
		require.Equal(t, []string{"monitoring", "block", "off"}, w.modes(), "what others made stays")
		events := w.ledger.events()
		require.Equal(t, record.ChangeSettled, events[len(events)-1].Kind)
		runDue(t, w, 5*time.Minute)
		require.Empty(t, w.told(), "once")
	})
}

func TestASwitchWhoseRuleWasRemovedIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := soleMode(t, "mode_replaced")
		ch := w.anyway(ann, "mode 4 block")
		other := w.ruleByHand(`"type":"service_mode","mode":"safe_blocking","action":[{"type":"equal","value":"4","point":["instance"]}]`)
		runDue(t, w, time.Minute)
		require.Equal(t, []string{"Failed: Switch Shop to block for 2 h: rule " + itoa(ch.Steps[0].ID) + ", which sets it, is not listed as wafbot made it: it was removed or changed; " +
			"for the same requests there is rule " + other + " (mode safe_blocking), too, and the service goes by the last written: delete-rule deletes one"}, w.told())
	})
}

// A switch that another one has overtaken leaves nothing to look for.
func TestASwitchThatWasOvertakenIsNotVerified(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := soleMode(t, "mode_replaced")
		w.anyway(ann, "mode 4 safe_blocking")
		time.Sleep(10 * time.Second)
		w.anyway(ann, "mode 4 block")
		runDue(t, w, 2*time.Minute)
		require.Empty(t, w.told())
		require.Equal(t, []string{"block"}, w.modes())
	})
}

// What can't be read is looked at again later.
func TestASwitchIsVerifiedLaterWhereItCanNotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := soleMode(t, "mode_replaced")
		ch := w.anyway(ann, "mode 4 block")
		w.fault("POST /v1/objects/hint", "status:403", 1)
		runDue(t, w, time.Minute)
		require.False(t, w.ledger.change(ch.ID).ModeVerified)
		runDue(t, w, time.Minute)
		require.True(t, w.ledger.change(ch.ID).ModeVerified)
		require.Empty(t, w.told())
	})
}
