package commands_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// A process dies between sending and writing down: the replica that gets the delivery again finds what was done.
func TestACrashAfterSending(t *testing.T) {
	for _, line := range []string{"deny 203.0.113.7 203.0.113.8", "patch shop.example.com/login type=sqli part=get.q", "mode 4 block"} {
		for save := 2; save <= 3; save++ {
			w := newWorld(t)
			w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= save } })
			inv := w.asks(ann, line)
			inv.Anyway = true
			_, err := w.do(inv)
			if err != nil {
				require.ErrorIs(t, err, refusal.ErrAway)
				require.ErrorContains(t, err, "wafbot verifies before it sends")
			}
			w.ledger.set(func(l *ledger) { l.saveFail = nil })
			w.pass(11 * time.Minute) // it was begun in time
			res, err := w.do(inv)
			require.NoError(t, err, line)
			require.Equal(t, "done", res.Outcome)
			w.pass(time.Minute)
			switch line[:4] {
			case "deny":
				require.Len(t, w.entries("black"), 2)
			case "patc":
				require.Len(t, w.rules("vpatch"), 1)
			default:
				require.Equal(t, []string{"block"}, w.modes())
			}
			w.does(ann, "undo "+res.Changes[0].ID)
			w.requireAsAtFirst()
		}
	}
}

// It was written down, never sent, and found long after: then it isn't sent any more.
func TestACrashBeforeSending(t *testing.T) {
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "status:500", 0)
	inv := w.asks(ann, "deny 203.0.113.7")
	_, err := w.do(inv)
	require.ErrorContains(t, err, "Failed, or perhaps done")
	w.service.ClearFaults()
	w.pass(11 * time.Minute)
	sent := w.changesSent()
	_, err = w.do(inv)
	require.ErrorContains(t, err, "Failed: Deny 203.0.113.7")
	require.ErrorContains(t, err, "over 10 min ago")
	require.Equal(t, sent, w.changesSent())
	w.does(ann, "deny 203.0.113.7")
	require.Equal(t, []string{"203.0.113.7"}, w.denied())
}

// It is resumed: that its outcome was unknown makes no second event.
func TestWhatIsResumedIsNoNewEvent(t *testing.T) {
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "status:500", 0)
	inv := w.asks(ann, "deny 203.0.113.7 203.0.113.8")
	_, err := w.do(inv)
	require.ErrorContains(t, err, "Failed, or perhaps done")
	require.Equal(t, 1, w.ledger.perhaps)
	w.service.ClearFaults()
	_, err = w.do(inv)
	require.NoError(t, err)
	require.Equal(t, 1, w.ledger.perhaps)
}

// Another user's line long after has nothing to do with it.
func TestAChangeBegunLongAgoIsNotResumed(t *testing.T) {
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "status:500", 0)
	_, err := w.try(ann, "deny 203.0.113.7")
	require.ErrorContains(t, err, "Failed, or perhaps done")
	w.service.ClearFaults()
	w.pass(5 * time.Hour)
	require.Equal(t, "Bob", w.does(bob, "deny 203.0.113.7").Actor.Name)
	require.Equal(t, []string{"203.0.113.7"}, w.denied())
}

func TestACrashAmidContain(t *testing.T) {
	for _, late := range []bool{false, true} {
		w := newWorld(t)
		inv := w.asks(ann, "contain attack="+w.attackOn("/login"))
		w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
		_, err := w.do(inv)
		require.ErrorIs(t, err, refusal.ErrAway)
		require.Empty(t, w.rules("vpatch"))
		w.ledger.set(func(l *ledger) { l.saveFail = nil })
		if late {
			w.pass(11 * time.Minute)
		}
		res, err := w.do(inv)
		require.Len(t, w.entries("black"), 1)
		if late {
			require.ErrorContains(t, err, "Failed in part. Deny 203.0.113.7")
			require.ErrorContains(t, err, "over 10 min ago, and nothing of it was done")
			require.Empty(t, w.rules("vpatch"))
		} else {
			require.NoError(t, err)
			require.Len(t, res.Changes, 2)
			require.Len(t, w.rules("vpatch"), 1)
		}
	}
}

// The undo of a change of unknown outcome undoes what there is.
func TestUndoVerifiesWhatWasSent(t *testing.T) {
	w := newWorld(t)
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
	_, err := w.try(ann, "patch shop.example.com/login type=sqli part=get.q for=1h")
	require.ErrorIs(t, err, refusal.ErrAway)
	w.ledger.set(func(l *ledger) { l.saveFail = nil })
	ch := w.ledger.all()[0]
	require.Equal(t, record.StateBegun, ch.State)
	require.Equal(t, w.clock().Add(time.Hour), ch.DueAt(), "even then it has an end")
	w.does(bob, "undo "+ch.ID) // as soon as it is listed
	require.Empty(t, w.rules("vpatch"))
}

// The replica that gets the delivery again can't know who asked: nothing is refused that was begun. It is gone on with once Slack says it.
func TestACrashWhileSlackDoesNotSayWhoAsked(t *testing.T) {
	w := newWorld(t)
	change := w.does(ann, "deny 203.0.113.7").ID
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
	undo := w.asks(ann, "undo "+change)
	_, err := w.do(undo)
	require.ErrorIs(t, err, refusal.ErrAway)
	w.ledger.set(func(l *ledger) { l.saveFail = nil })

	w.members.setFail()
	audited := w.lastAudit()
	_, err = w.do(undo)
	require.ErrorIs(t, err, refusal.ErrAway)
	require.ErrorContains(t, err, "this was begun")
	require.Equal(t, audited, w.lastAudit(), "it is no refusal")
	w.refuses(ann, "undo "+change, refusal.ErrDenied, "Slack doesn't say who you are")

	w.members.set(func(m *members) { m.broken = false })
	res, err := w.do(undo)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	require.Empty(t, w.denied())
}

// lags has all of the service's listings be ten seconds behind.
func (w *world) lags() {
	w.fault("GET /v4/ip_rules", "lagging", 0)
	w.fault("POST /v1/objects/hint", "lagging", 0)
}

// What was made a moment ago is taken back for certain, and nothing stays behind.
func TestUndoAtOnceWhileListingsLag(t *testing.T) {
	for _, line := range []string{"deny 203.0.113.7 203.0.113.8", "gray 203.0.113.7", "patch shop.example.com/login type=sqli part=get.q", "mode 4 block"} {
		for _, later := range []time.Duration{0, time.Second, 9 * time.Second} {
			w := newWorld(t)
			w.lags()
			ch := w.insists(ann, line)
			w.pass(later)
			w.does(ann, "undo "+ch.ID)
			w.requireAsAtFirst()
			require.Empty(t, w.entries("gray"))
			w.pass(later)
			again := w.insists(ann, line)
			require.NotEqual(t, ch.ID, again.ID, "what was undone can be done again")
			w.pass(time.Minute)
			w.does(bob, "undo "+again.ID)
			w.requireAsAtFirst()
		}
	}
}

func TestModeTwiceInARowWhileListingsLag(t *testing.T) {
	w := newWorld(t)
	w.lags()
	first := w.anyway(ann, "mode 4 safe_blocking")
	second := w.anyway(ann, "mode 4 block")
	require.Equal(t, []string{"block"}, w.modes())
	w.nothing(bob, "mode 4 block", "already")
	w.pass(time.Second)
	w.does(ann, "undo "+second.ID)
	require.Equal(t, []string{"safe_blocking"}, w.modes())
	w.does(ann, "undo "+first.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
}

// A rule that was made twice and shows late goes with the next switch, and one comes back.
func TestAModeThatWasMadeTwice(t *testing.T) {
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "mode_kept", 1)
	w.byHand(http.MethodPost, "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"monitoring","validated":false,"action":[{"type":"equal","value":"4","point":["instance"]}]}`)
	require.Equal(t, []string{"monitoring", "monitoring"}, w.modes())
	ch := w.anyway(ann, "mode 4 block")
	require.Equal(t, []string{"block"}, w.modes())
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
}

func TestRemoveAndDenyAgainWhileListingsLag(t *testing.T) {
	w := newWorld(t)
	w.lags()
	w.does(ann, "deny 203.0.113.7")
	w.nothing(bob, "deny 203.0.113.7 for=1h", "denied already")
	w.does(ann, "remove 203.0.113.7")
	require.Empty(t, w.entries("black"))
	w.nothing(ann, "remove 203.0.113.7", "is on no list")
	w.does(ann, "deny 203.0.113.7 for=2h")
	w.does(ann, "deny 203.0.113.7 for=8h")
	require.Equal(t, []string{"203.0.113.7/32 [0] 8h0m0s"}, w.entries("black"))
	require.Contains(t, textOf(w.reads(eve, "lists")), "203.0.113.7 everywhere until 2026-11-20 11:00 UTC")
}

func TestADenialEndsWhileListingsLag(t *testing.T) {
	w := newWorld(t)
	w.lags()
	w.anyway(ann, "deny 203.0.113.7 for=5s")
	w.pass(6 * time.Second)
	require.NotContains(t, textOf(w.reads(eve, "lists")), "203.0.113.7", "it has ended, and what wafbot did does not bring it back")
	w.does(ann, "deny 203.0.113.7 for=1h")
	require.Equal(t, []string{"203.0.113.7/32 [0] 1h0m0s"}, w.entries("black"))
}

// After an unknown outcome a list entry is sent again at once and without more force; that it exists already says
// nothing until it is listed.
func TestUnknownOutcomesWhileListingsLag(t *testing.T) {
	for _, kind := range []string{"500_applied", "reset_applied", "status:500", "reset"} {
		w := newWorld(t)
		w.lags()
		asked := w.clock()
		w.fault("POST /v4/ip_rules", kind, 3)
		ch := w.does(ann, "deny 203.0.113.7")
		require.Equal(t, []string{"203.0.113.7"}, w.denied(), kind)
		require.Equal(t, w.listed("black")[0].ID, ch.Steps[0].ID, kind)
		require.Less(t, w.clock().Sub(asked), 15*time.Second, kind)
		for _, r := range w.service.Requests("") {
			if r.Method == http.MethodPost && r.Path == "/v4/ip_rules" {
				require.Contains(t, r.Body, `"force":false`)
			}
		}
		w.fault("DELETE /v4/ip_rules", kind, 3)
		w.does(ann, "undo "+ch.ID)
		require.Empty(t, w.entries("black"), kind)

		w.fault("POST /v1/objects/hint/create", kind, 1)
		patched := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
		require.Len(t, w.rules("vpatch"), 1, kind)
		w.fault("POST /v1/objects/hint/delete", kind, 3)
		w.does(ann, "undo "+patched.ID)
		require.Empty(t, w.rules("vpatch"), kind)
	}
}

// A refusal after an unknown outcome tells nothing of the first try: it may have been carried out.
func TestARefusalAfterAnUnknownOutcome(t *testing.T) {
	for kind, done := range map[string]bool{"500_applied": true, "status:500": false} {
		w := newWorld(t)
		w.fault("POST /v4/ip_rules", kind, 1)
		w.fault("POST /v4/ip_rules", "status:403", 0)
		_, err := w.try(ann, "deny 203.0.113.7")
		require.Equal(t, done, err == nil, kind)
		require.Equal(t, done, len(w.entries("black")) == 1)
		require.Equal(t, map[bool]record.State{true: record.StateDone, false: record.StateFailed}[done], w.ledger.all()[0].State)
	}
}

// What was to be overwritten is another by now: nothing more is sent, and the person is told.
func TestForceStopsAtWhatItDoesNotKnow(t *testing.T) {
	w := newWorld(t)
	w.does(bob, "deny 203.0.113.7 for=1h")
	w.pass(time.Minute)
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(n int) bool {
			if n == 1 {
				w.overwrite(w.listed("black")[0], "kept for the police", 24*time.Hour)
				w.fault("POST /v4/ip_rules", "status:500", 2)
			}
			return false
		}
	})
	_, err := w.try(ann, "deny 203.0.113.7 for=4h")
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "what it was to take the place of is another by now")
	require.Equal(t, []string{"203.0.113.7/32 [0] 24h0m0s"}, w.entries("black"))
}

// The answer to a deletion does not tell whether the entry went: that is looked at when the listings must show it, and
// told.
func TestADeletionThatIsNotCarriedOutIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		gone, kept := w.does(ann, "deny 203.0.113.7"), w.does(ann, "deny 203.0.113.8")
		w.does(ann, "undo "+gone.ID)
		e := *w.ledger.change(kept.ID).Steps[0].Entry
		undone := w.does(ann, "undo "+kept.ID)
		w.byHand(http.MethodPost, "/v4/ip_rules", `{"clientid":5,"force":false,"ip_rule":{"list":"black","rule_type":"ip_range","subnet":"203.0.113.8/32","pools":[0],"expired_at":`+
			itoa(e.Expires.Unix())+`,"reason":"`+e.Reason+`"}}`)
		w.ledger.set(func(l *ledger) { // as if it had never been deleted
			ch := undone
			ch.Steps[0].Entry.ID = w.listed("black")[0].ID
			l.put(ch)
		})
		runDue(t, w, 40*time.Second)
		told := w.ledger.takeDue(func(d record.DueDecision) bool { return d.Listed })
		require.Len(t, told, 1)
		require.Equal(t, "Failed: Undo of: Deny 203.0.113.8 everywhere for 4 h: the service accepted it and still lists the entry: look with lists",
			change.Failure(w.ledger.change(undone.ID)).String())
		events := w.ledger.events()
		require.Equal(t, record.ChangeSettled, events[len(events)-1].Kind)
		runDue(t, w, 5*time.Minute)
		require.Empty(t, w.ledger.takeDue(func(d record.DueDecision) bool { return d.Listed }), "once")
	})
}
