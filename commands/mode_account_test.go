package commands_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func TestTheAccountsOwnMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := w.accountModeRule()
	require.Contains(t, textOf(w.reads(eve, "mode Account")), "Mode of all applications without a mode of their own by rules: monitoring (the account's, by rule "+rule+"; a node's own setting can override it)\n"+
		"• for a part of it: mode monitoring for Shop, rule ")
	w.nothing(ann, "mode account monitoring", "the account's own mode is monitoring already, by rule "+rule)
	w.refuses(root, "mode account default", refusal.ErrGuarded, "the account's own mode has nothing to inherit from")
	w.refuses(ann, "mode account block", refusal.ErrAsk, "Switch all applications without a mode of their own to block for 2 h?", "rules that set the mode for parts of it, and stay as they are: 1",
		"It needs approval first: the account's own mode holds for all applications without a mode of their own")
	q := w.waits(ann, "mode account block")
	res, err := w.try(bob, "approve "+q.ID)
	require.NoError(t, err)
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
	t.Parallel()
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
